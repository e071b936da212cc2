// The metadata of a GGUF file, read key by key, and the config.json that is made of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/gguf.h"
#include "base/json.h"

namespace pando::model {

// Keys are below the architecture's name. The first error is kept; later reads give nothing, so
// that a caller checks once, at the end.
class GgufFields {
 public:
  GgufFields(const GgufFile& gguf, std::string_view architecture)
      : gguf_(gguf), architecture_(architecture) {}

  const GgufFile& file() const { return gguf_; }
  std::string source() const { return gguf_.file().path().string(); }
  std::string key(std::string_view name) const { return fmt::format("{}.{}", architecture_, name); }
  bool has(std::string_view name) const { return gguf_.has(key(name)); }

  // An array of one number for each layer counts where all are equal.
  std::optional<int64_t> integer(std::string_view name);
  // Refuses a file without the key, and returns 1 then.
  int64_t required_integer(std::string_view name);
  std::optional<std::string_view> string(std::string_view name) {
    return keep(gguf_.string(key(name)));
  }
  std::optional<bool> boolean(std::string_view name) { return keep(gguf_.boolean(key(name))); }
  std::optional<double> finite(std::string_view name);
  std::optional<int64_t> token_id(std::string_view whole_key) {
    return keep(gguf_.token_id(whole_key));
  }
  // The n elements of an f32 vector, or an error.
  std::vector<float> floats(const char* tensor, int64_t n);

  // Copies a value to a field of `object` and says whether it was there.
  bool copy_integer(std::string_view name, const char* field, Json& object);
  bool copy_real(std::string_view name, const char* field, Json& object);
  // Records the source of a field of the config.json, for errors: the value of a key, the quotient
  // of two, or another source that `source` describes.
  void comes_from_key(std::string_view field, std::string_view name);
  void comes_from_quotient(std::string_view field, std::string_view name, std::string_view divisor);
  void comes_from(std::string_view field, std::string source);
  // The field comes from the same source as another one.
  void comes_from_same(std::string_view field, std::string_view other);
  // An error about the config.json, with the file's names in the place of its fields.
  Error in_file_names(Error error) const;

  // Keeps an error: for a wrong value of the right type, or any other.
  void refuse(std::string_view name, std::string_view expected,
              ErrorCode code = ErrorCode::kBadFile);
  void fail(Error error) {
    if (status_) status_ = std::move(error);
  }
  const Status& status() const { return status_; }

 private:
  template <class T>
  std::optional<T> keep(Result<std::optional<T>> value) {
    if (value) return std::move(*value);
    fail(value.error());
    return std::nullopt;
  }

  const GgufFile& gguf_;
  std::string architecture_;
  std::map<std::string, std::string, std::less<>> sources_;  // by field of the config.json
  Status status_;
};

}  // namespace pando::model
