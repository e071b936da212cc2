// Packed inputs, unpacked as they come.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace pando {

// One for each packed input. Not for more than one thread.
class Unpacker {
 public:
  static constexpr size_t kMagicBytes = 4;  // that tell the kind, at most

  // For an input that begins with these bytes; null where it is not packed by gzip or zstd.
  static std::unique_ptr<Unpacker> for_beginning(std::string_view first_bytes);
  // Says whether more bytes may make such a beginning of these.
  static bool may_begin(std::string_view first_bytes);

  virtual ~Unpacker() = default;
  // Takes what it needs off the front of `packed` and writes text to `out`; how many bytes that
  // were. 0 where it wants more of the input. Throws std::runtime_error for what is broken.
  virtual size_t unpack(std::string_view& packed, std::span<char> out) = 0;
  // The input ended here, after so many bytes. Throws as unpack where that cuts it off.
  virtual void end(uint64_t n_bytes) const = 0;
};

}  // namespace pando
