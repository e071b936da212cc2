#include "batch/unpack.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <stdexcept>

#include "base/check.h"

namespace pando {
namespace {

constexpr std::string_view kGzip("\x1f\x8b", 2), kZstd("\x28\xb5\x2f\xfd", 4);
constexpr std::string_view kSkippable("\x50\x2a\x4d\x18", 4);  // zstd frame, first byte 50 to 5F
// As zstd's own --long=31. The memory grows with the text.
constexpr int kLargestWindow = 31;  // log2 of bytes

// True if the bytes, which may be incomplete, begin a zstd frame.
bool begins_zstd(std::string_view bytes) {
  std::string first(bytes.substr(0, kZstd.size()));
  if (kZstd.starts_with(first)) return true;
  first[0] = static_cast<char>(first[0] & 0xF0);
  return kSkippable.starts_with(first);
}

[[noreturn]] void broken(const char* kind, const char* why) {
  throw std::runtime_error(fmt::format("the {} data is corrupt: {}", kind, why));
}

[[noreturn]] void cut_off(const char* kind, uint64_t n_bytes, const char* part) {
  throw std::runtime_error(
      fmt::format("the {} data is cut off: it ends after {} bytes, inside a {} (hint: is the file "
                  "complete?)",
                  kind, n_bytes, part));
}

class Gzip final : public Unpacker {
 public:
  Gzip() { PANDO_CHECK(inflateInit2(&stream_, 15 + 16) == Z_OK); }
  ~Gzip() override { inflateEnd(&stream_); }

  size_t unpack(std::string_view& packed, std::span<char> out) override {
    if (is_between_) {
      // Tapes and some tools fill the last block with zeros.
      packed.remove_prefix(std::min(packed.find_first_not_of('\0'), packed.size()));
      if (packed.empty()) return 0;
      inflateReset(&stream_);  // a file may have several members
      is_between_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int status = packed.empty() ? Z_BUF_ERROR : inflate(&stream_, Z_NO_FLUSH);
    packed.remove_prefix(packed.size() - stream_.avail_in);
    if (status == Z_STREAM_END) {
      is_between_ = true;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      broken("gzip", stream_.msg != nullptr ? stream_.msg : "not a gzip member");
    }
    return out.size() - stream_.avail_out;
  }
  void end(uint64_t n_bytes) const override {
    if (!is_between_) cut_off("gzip", n_bytes, "member");
  }

 private:
  z_stream stream_{};
  bool is_between_ = false;  // members
};

class Zstd final : public Unpacker {
 public:
  Zstd() : stream_(ZSTD_createDStream()) {
    PANDO_CHECK(stream_ != nullptr);
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kLargestWindow);
  }
  ~Zstd() override { ZSTD_freeDStream(stream_); }

  size_t unpack(std::string_view& packed, std::span<char> out) override {
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const size_t left = ZSTD_decompressStream(stream_, &to, &in);
    if (ZSTD_isError(left)) refuse(left);
    if (in.pos > 0 || to.pos > 0) is_between_ = left == 0;
    packed.remove_prefix(in.pos);
    return to.pos;
  }
  void end(uint64_t n_bytes) const override {
    if (!is_between_) cut_off("zstd", n_bytes, "frame");
  }

 private:
  [[noreturn]] static void refuse(size_t result) {
    switch (ZSTD_getErrorCode(result)) {
      case ZSTD_error_frameParameter_windowTooLarge:
        throw std::runtime_error(
            fmt::format("the zstd data has a window of more than {} GiB, the largest that is read "
                        "(hint: compress it again with --long={} or less)",
                        (uint64_t{1} << kLargestWindow) >> 30, kLargestWindow));
      case ZSTD_error_memory_allocation:
        throw std::runtime_error(
            "there is not enough memory for the window of the zstd data (hint: compress it again "
            "without --long)");
      case ZSTD_error_dictionary_wrong:
        throw std::runtime_error(
            "the zstd data was compressed with a dictionary, expected data without one");
      default:
        broken("zstd", ZSTD_getErrorName(result));
    }
  }

  ZSTD_DStream* stream_;
  bool is_between_ = true;  // frames
};

}  // namespace

std::unique_ptr<Unpacker> Unpacker::for_beginning(std::string_view first_bytes) {
  if (first_bytes.starts_with(kGzip)) return std::make_unique<Gzip>();
  if (first_bytes.size() >= kMagicBytes && begins_zstd(first_bytes))
    return std::make_unique<Zstd>();
  return nullptr;
}

bool Unpacker::may_begin(std::string_view first_bytes) {
  return first_bytes.size() < kMagicBytes &&
         (kGzip.starts_with(first_bytes) || begins_zstd(first_bytes));
}

}  // namespace pando
