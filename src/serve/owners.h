// Owners of what is kept beyond the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pando::serve {

// Names for isolation keys, which stay the same when the server is restarted. Any thread may use
// it.
class Owners {
 public:
  // of_keys: [isolation keys] identifies each API key (ApiKeys::owners). The keys of a router's
  // clients stand for themselves.
  explicit Owners(std::vector<std::string> of_keys) : of_keys_(std::move(of_keys)) {}

  std::string of(uint64_t isolation_key) const;
  // Absent: the server no longer has the key.
  std::optional<uint64_t> key_of(std::string_view owner) const;

 private:
  const std::vector<std::string> of_keys_;
};

}  // namespace pando::serve
