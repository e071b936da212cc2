#include "model/gguf_fields.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pando::model {

std::optional<int64_t> GgufFields::integer(std::string_view name) {
  const auto list = gguf_.integers(key(name));
  if (!list || !*list) return keep(gguf_.integer(key(name)));
  const std::vector<int64_t>& numbers = **list;
  const bool equal = std::ranges::all_of(numbers, [&](int64_t n) { return n == numbers[0]; });
  if (!numbers.empty() && equal) return numbers[0];
  fail(unsupported("{}: '{}' differs between layers, expected one value for all layers", source(),
                   key(name)));
  return std::nullopt;
}

int64_t GgufFields::required_integer(std::string_view name) {
  const std::optional<int64_t> value = integer(name);
  if (!value) refuse(name, "a whole number");
  return value.value_or(1);
}

std::optional<double> GgufFields::finite(std::string_view name) {
  const std::optional<double> value = keep(gguf_.real(key(name)));
  if (!value || std::isfinite(*value)) return value;
  refuse(name, "a finite number");
  return std::nullopt;
}

bool GgufFields::copy_integer(std::string_view name, const char* field, nlohmann::json& object) {
  const std::optional<int64_t> value = integer(name);
  if (value) object[field] = *value;
  return value.has_value();
}

bool GgufFields::copy_real(std::string_view name, const char* field, nlohmann::json& object) {
  const std::optional<double> value = finite(name);
  if (value) object[field] = *value;
  return value.has_value();
}

void GgufFields::refuse(std::string_view name, std::string_view expected, ErrorCode code) {
  Error error = gguf_.wrong(key(name), expected);
  error.code = code;
  fail(std::move(error));
}

std::vector<float> GgufFields::floats(const char* name, int64_t n) {
  const GgufTensor* tensor = gguf_.find_tensor(name);
  const bool good = tensor != nullptr && tensor->type == 0 && tensor->shape.size() == 1 &&
                    tensor->shape[0] == n &&
                    n <= static_cast<int64_t>(tensor->available / sizeof(float));
  if (!good) {
    const std::string found =
        tensor == nullptr
            ? "missing"
            : fmt::format("of type {} and shape [{}] with {} bytes left in the file", tensor->type,
                          fmt::join(tensor->shape, ", "), tensor->available);
    fail(bad_file("{}: tensor '{}' is {}, expected of type 0 (F32) and shape [{}]", source(), name,
                  found, n));
    return {};
  }
  std::vector<float> values(static_cast<size_t>(n));
  std::memcpy(values.data(), gguf_.file_of(*tensor).data() + tensor->offset,
              values.size() * sizeof(float));
  return values;
}

}  // namespace pando::model
