#include "base/gguf_parser.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/errors.h"

namespace pando {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF is read as it lies in the file");

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint32_t kMostDimensions = 4;
constexpr uint64_t kLongestName = 65535;  // bytes of a key; tensor names are shorter

struct TypeFacts {
  std::string_view name;
  uint64_t size;
};
constexpr std::array<TypeFacts, 13> kTypes = {{{"uint8", 1},
                                               {"int8", 1},
                                               {"uint16", 2},
                                               {"int16", 2},
                                               {"uint32", 4},
                                               {"int32", 4},
                                               {"float32", 4},
                                               {"bool", 1},
                                               {"string", 0},
                                               {"array", 0},
                                               {"uint64", 8},
                                               {"int64", 8},
                                               {"float64", 8}}};

}  // namespace

uint64_t gguf_size(GgufType type) { return kTypes[static_cast<uint32_t>(type)].size; }
std::string_view gguf_type_name(GgufType type) { return kTypes[static_cast<uint32_t>(type)].name; }

void GgufParser::fail(Error error) {
  if (ok()) error_ = in_file(gguf_.file_.path().string(), std::move(error));
}

void GgufParser::fail_cut_short(std::string_view what) {
  fail(bad_file("ends at byte {} inside {}: the file is cut short", gguf_.file_.size(), what));
}

void GgufParser::skip(uint64_t n_bytes, std::string_view what) {
  if (n_bytes > left()) return fail_cut_short(what);
  at_ += n_bytes;
}

template <class T>
T GgufParser::number(std::string_view what) {
  T value{};
  const uint64_t from = at_;
  skip(sizeof value, what);
  if (ok()) std::memcpy(&value, gguf_.file_.data() + from, sizeof value);
  return value;
}

std::string_view GgufParser::string(std::string_view what) {
  const auto length = number<uint64_t>(what);
  const uint64_t from = at_;
  skip(length, what);
  if (!ok()) return {};
  return {reinterpret_cast<const char*>(gguf_.file_.data()) + from, length};
}

Status GgufParser::parse() {
  header();
  for (uint64_t i = 0; ok() && i < n_values_; ++i) value();
  find_alignment();
  for (uint64_t i = 0; ok() && i < n_tensors_; ++i) tensor();
  if (ok()) place_tensors();
  return ok() ? Status() : Status(*error_);
}

void GgufParser::header() {
  if (number<uint32_t>("the header") != kMagic) {
    return fail(bad_file("does not begin with 'GGUF', expected a GGUF file"));
  }
  gguf_.version_ = number<uint32_t>("the header");
  const bool swapped = ok() && gguf_.version_ != 0 && (gguf_.version_ & 0xFFFF) == 0;
  if (swapped) return fail(unsupported("is big-endian, expected little-endian"));
  if (ok() && gguf_.version_ != 2 && gguf_.version_ != 3) {
    return fail(unsupported("is GGUF version {}, expected 2 or 3", gguf_.version_));
  }
  n_tensors_ = number<uint64_t>("the header");
  n_values_ = number<uint64_t>("the header");
}

void GgufParser::value() {
  const std::string_view key = string("a key");
  const auto code = number<uint32_t>("the type of a value");
  if (!ok()) return;
  if (key.empty() || key.size() > kLongestName) {
    return fail(bad_file("a key has {} bytes, expected 1 to {}", key.size(), kLongestName));
  }
  if (code >= kTypes.size()) {
    return fail(bad_file("'{}' has type {}, expected 0 to {}", key, code, kTypes.size() - 1));
  }
  const auto type = static_cast<GgufType>(code);
  GgufFile::Value value{type, type, 1, at_};
  if (type == GgufType::kArray) {
    array(key, &value);
  } else if (type == GgufType::kString) {
    string(key);
  } else if (type == GgufType::kBool) {
    booleans(key, 1);
  } else {
    skip(gguf_size(type), key);
  }
  if (ok() && !gguf_.values_.emplace(key, value).second) fail(bad_file("'{}' appears twice", key));
}

void GgufParser::array(std::string_view key, GgufFile::Value* value) {
  const auto code = number<uint32_t>(key);
  value->n = number<uint64_t>(key);
  value->offset = at_;
  if (!ok()) return;
  if (code >= kTypes.size()) {
    return fail(
        bad_file("'{}' is an array of type {}, expected 0 to {}", key, code, kTypes.size() - 1));
  }
  value->element = static_cast<GgufType>(code);
  if (value->element == GgufType::kArray) {
    return fail(unsupported("'{}' is an array of arrays, expected an array of single values", key));
  }
  // Each element takes at least its size, a string its length.
  const uint64_t least = std::max<uint64_t>(gguf_size(value->element), 1);
  if (value->n > left() / least) return fail_cut_short(key);
  if (value->element == GgufType::kBool) return booleans(key, value->n);
  if (value->element != GgufType::kString) return skip(value->n * least, key);
  for (uint64_t i = 0; ok() && i < value->n; ++i) string(key);
}

void GgufParser::booleans(std::string_view key, uint64_t n) {
  for (uint64_t i = 0; ok() && i < n; ++i) {
    const auto byte = number<uint8_t>(key);
    if (byte > 1) fail(bad_file("'{}' is a bool of {}, expected 0 or 1", key, byte));
  }
}

void GgufParser::find_alignment() {
  constexpr std::string_view kKey = "general.alignment";
  if (!ok()) return;
  const auto stated = gguf_.integer(kKey);
  if (!stated.ok()) {
    error_ = stated.error();
    return;
  }
  if (!*stated) return;
  const bool power_of_two = **stated > 0 && std::has_single_bit(static_cast<uint64_t>(**stated));
  if (!power_of_two) {
    error_ = gguf_.wrong(kKey, "a power of two");
    return;
  }
  gguf_.alignment_ = static_cast<uint64_t>(**stated);
}

void GgufParser::tensor() {
  GgufTensor tensor{};
  tensor.name = string("the name of a tensor");
  if (ok()) shape(&tensor);
  tensor.type = number<uint32_t>("the description of a tensor");
  tensor.place = number<uint64_t>("the description of a tensor");
  if (!ok()) return;
  if (!gguf_.tensor_index_.emplace(tensor.name, gguf_.tensors_.size()).second) {
    return fail(bad_file("tensor '{}' appears twice", tensor.name));
  }
  gguf_.tensors_.push_back(std::move(tensor));
}

void GgufParser::shape(GgufTensor* tensor) {
  const auto n_dimensions = number<uint32_t>("the description of a tensor");
  if (ok() && (n_dimensions == 0 || n_dimensions > kMostDimensions)) {
    return fail(bad_file("tensor '{}' has {} dimensions, expected 1 to {}", tensor->name,
                         n_dimensions, kMostDimensions));
  }
  int64_t n_elements = 1;
  for (uint32_t i = 0; ok() && i < n_dimensions; ++i) {
    const auto size = number<int64_t>("the description of a tensor");
    if (ok() && (size < 1 || size > INT64_MAX / n_elements)) {
      return fail(
          bad_file("tensor '{}' has a dimension of {}, expected at least 1 and a total that does "
                   "not overflow",
                   tensor->name, size));
    }
    n_elements *= size;
    tensor->shape.push_back(size);
  }
  std::reverse(tensor->shape.begin(), tensor->shape.end());
}

// Offsets in the file count from the first aligned byte after the descriptions.
void GgufParser::place_tensors() {
  const uint64_t alignment = gguf_.alignment_;
  const uint64_t size = gguf_.file_.size();
  const uint64_t padding = (alignment - at_ % alignment) % alignment;
  if (!gguf_.tensors_.empty() && padding >= left()) return fail_cut_short("the tensors");
  for (GgufTensor& tensor : gguf_.tensors_) {
    const uint64_t begin = at_ + padding;
    if (tensor.place % alignment != 0) {
      return fail(bad_file("tensor '{}' is at offset {}, expected a multiple of {}", tensor.name,
                           tensor.place, alignment));
    }
    if (tensor.place >= size - begin) {
      return fail(
          bad_file("tensor '{}' is at offset {}, expected an offset below {}, the bytes of data in "
                   "the file: the file is cut short",
                   tensor.name, tensor.place, size - begin));
    }
    tensor.alignment = alignment;
    tensor.offset = begin + tensor.place;
    tensor.available = size - tensor.offset;
  }
}

}  // namespace pando
