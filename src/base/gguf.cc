#include "base/gguf.h"

#include <algorithm>
#include <cstring>

#include "base/errors.h"
#include "base/gguf_parser.h"

namespace pando {
namespace {

bool is_real(GgufType type) { return type == GgufType::kFloat32 || type == GgufType::kFloat64; }

bool is_integer(GgufType type) {
  return !is_real(type) && type != GgufType::kBool && type != GgufType::kString &&
         type != GgufType::kArray;
}

constexpr size_t kShownBytes = 60;  // of a string, in a message

}  // namespace

Result<GgufFile> GgufFile::open_one(const std::filesystem::path& path) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped.ok()) return mapped.error();
  GgufFile gguf(std::move(*mapped));
  if (Status parsed = GgufParser(&gguf).parse(); !parsed.ok()) return parsed.error();
  return gguf;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

const GgufFile::Value* GgufFile::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);  // nothing in the file is aligned
  return value;
}

}  // namespace

// A uint64 above INT64_MAX becomes negative, which no reader of a count accepts.
int64_t GgufFile::integer_at(GgufType type, uint64_t offset) const {
  const std::byte* at = file_.data() + offset;
  switch (type) {
    case GgufType::kUint8:
      return load<uint8_t>(at);
    case GgufType::kInt8:
      return load<int8_t>(at);
    case GgufType::kUint16:
      return load<uint16_t>(at);
    case GgufType::kInt16:
      return load<int16_t>(at);
    case GgufType::kUint32:
      return load<uint32_t>(at);
    case GgufType::kInt32:
      return load<int32_t>(at);
    default:
      return load<int64_t>(at);
  }
}

double GgufFile::real_at(GgufType type, uint64_t offset) const {
  const std::byte* at = file_.data() + offset;
  return type == GgufType::kFloat32 ? load<float>(at) : load<double>(at);
}

std::string_view GgufFile::string_at(uint64_t offset) const {
  const std::byte* at = file_.data() + offset;
  return {reinterpret_cast<const char*>(at) + sizeof(uint64_t), load<uint64_t>(at)};
}

Result<std::optional<int64_t>> GgufFile::integer(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<int64_t>();
  if (!is_integer(value->type)) return wrong(key, "a whole number");
  return std::optional(integer_at(value->type, value->offset));
}

Result<std::optional<int64_t>> GgufFile::token_id(std::string_view key) const {
  Result<std::optional<int64_t>> id = integer(key);
  if (id.ok() && *id && **id == UINT32_MAX) id->reset();
  return id;
}

std::vector<std::string_view> GgufFile::keys(std::string_view prefix) const {
  std::vector<std::string_view> found;
  for (const auto& [key, value] : values_)
    if (key.starts_with(prefix)) found.push_back(key);
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::optional<double>> GgufFile::real(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<double>();
  if (!is_real(value->type)) return wrong(key, "a float");
  return std::optional(real_at(value->type, value->offset));
}

Result<std::optional<bool>> GgufFile::boolean(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->type != GgufType::kBool) return wrong(key, "true or false");
  return std::optional(integer_at(GgufType::kUint8, value->offset) != 0);
}

Result<std::optional<std::string_view>> GgufFile::string(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<std::string_view>();
  if (value->type != GgufType::kString) return wrong(key, "a string");
  return std::optional(string_at(value->offset));
}

Result<std::optional<std::vector<int64_t>>> GgufFile::integers(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<std::vector<int64_t>>();
  const bool is_bool = value->element == GgufType::kBool;
  const bool fits = value->type == GgufType::kArray && (is_bool || is_integer(value->element));
  if (!fits) return wrong(key, "an array of whole numbers");
  std::vector<int64_t> list(value->n);
  const GgufType element = is_bool ? GgufType::kUint8 : value->element;
  const uint64_t size = gguf_size(element);
  for (uint64_t i = 0; i < value->n; ++i) {
    list[i] = integer_at(element, value->offset + i * size);
  }
  return std::optional(std::move(list));
}

Result<std::optional<std::vector<float>>> GgufFile::reals(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<std::vector<float>>();
  const bool fits = value->type == GgufType::kArray && is_real(value->element);
  if (!fits) return wrong(key, "an array of floats");
  std::vector<float> list(value->n);
  const uint64_t size = gguf_size(value->element);
  for (uint64_t i = 0; i < value->n; ++i) {
    list[i] = static_cast<float>(real_at(value->element, value->offset + i * size));
  }
  return std::optional(std::move(list));
}

Result<std::optional<std::vector<std::string_view>>> GgufFile::strings(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<std::vector<std::string_view>>();
  const bool fits = value->type == GgufType::kArray && value->element == GgufType::kString;
  if (!fits) return wrong(key, "an array of strings");
  std::vector<std::string_view> list;
  list.reserve(value->n);
  uint64_t at = value->offset;
  for (uint64_t i = 0; i < value->n; ++i) {
    list.push_back(string_at(at));
    at += sizeof(uint64_t) + list.back().size();
  }
  return std::optional(std::move(list));
}

Error GgufFile::wrong(std::string_view key, std::string_view expected) const {
  const Value* value = find(key);
  std::string found = "missing";
  if (value != nullptr && value->type == GgufType::kString) {
    const std::string_view text = string_at(value->offset);
    found =
        fmt::format("'{}'{}", text.substr(0, kShownBytes), text.size() > kShownBytes ? "..." : "");
  } else if (value != nullptr && value->type == GgufType::kArray) {
    found = fmt::format("an array of {} of type {}", value->n, gguf_type_name(value->element));
  } else if (value != nullptr && value->type == GgufType::kBool) {
    found = integer_at(GgufType::kUint8, value->offset) != 0 ? "true" : "false";
  } else if (value != nullptr && is_real(value->type)) {
    found = fmt::format("{}", real_at(value->type, value->offset));
  } else if (value != nullptr) {
    found = fmt::format("{}", integer_at(value->type, value->offset));
  }
  return in_file(file_.path().string(), bad_file("'{}' is {}, expected {}", key, found, expected));
}

}  // namespace pando
