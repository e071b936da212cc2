// Writes GGUF files for tests, byte by byte as the format says; wrong ones too.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/gguf.h"

namespace pando::testing {

class GgufWriter {
 public:
  explicit GgufWriter(uint32_t version = 3) : version_(version) {}

  // Values of metadata.
  template <class T>
  GgufWriter& number(std::string_view key, GgufType type, T value) {
    begin(key, type);
    append(&values_, value);
    return *this;
  }
  GgufWriter& uint32(std::string_view key, uint32_t value) {
    return number(key, GgufType::kUint32, value);
  }
  GgufWriter& float32(std::string_view key, float value) {
    return number(key, GgufType::kFloat32, value);
  }
  GgufWriter& boolean(std::string_view key, bool value) {
    return number(key, GgufType::kBool, static_cast<uint8_t>(value));
  }
  GgufWriter& string(std::string_view key, std::string_view value) {
    begin(key, GgufType::kString);
    append_string(&values_, value);
    return *this;
  }
  GgufWriter& strings(std::string_view key, const std::vector<std::string>& list) {
    begin_array(key, GgufType::kString, list.size());
    for (const std::string& text : list) append_string(&values_, text);
    return *this;
  }
  template <class T>
  GgufWriter& numbers(std::string_view key, GgufType element, const std::vector<T>& list) {
    begin_array(key, element, list.size());
    for (T value : list) append(&values_, value);
    return *this;
  }

  // `shape` outer to inner; `bytes` go to the next aligned offset.
  GgufWriter& tensor(std::string_view name, const std::vector<int64_t>& shape, uint32_t type,
                     std::string_view bytes, size_t alignment = 32) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    append_string(&tensors_, name);
    append(&tensors_, static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i > 0; --i) append(&tensors_, shape[i - 1]);
    append(&tensors_, type);
    append(&tensors_, static_cast<uint64_t>(data_.size()));
    data_ += bytes;
    ++n_tensors_;
    return *this;
  }

  std::string bytes(size_t alignment = 32) const {
    std::string out = "GGUF";
    append(&out, version_);
    append(&out, n_tensors_);
    append(&out, n_values_);
    out += values_ + tensors_;
    if (n_tensors_ > 0) out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data_;
  }

  template <class T>
  static void append(std::string* out, T value) {
    out->append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void append_string(std::string* out, std::string_view text) {
    append(out, static_cast<uint64_t>(text.size()));
    *out += text;
  }

 private:
  void begin(std::string_view key, GgufType type) {
    append_string(&values_, key);
    append(&values_, static_cast<uint32_t>(type));
    ++n_values_;
  }
  void begin_array(std::string_view key, GgufType element, size_t n) {
    begin(key, GgufType::kArray);
    append(&values_, static_cast<uint32_t>(element));
    append(&values_, static_cast<uint64_t>(n));
  }

  uint32_t version_;
  uint64_t n_values_ = 0;
  uint64_t n_tensors_ = 0;
  std::string values_, tensors_, data_;
};

}  // namespace pando::testing
