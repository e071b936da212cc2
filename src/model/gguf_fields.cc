#include "model/gguf_fields.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/json.h"

namespace pando::model {

std::optional<int64_t> GgufFields::integer(std::string_view name) {
  const auto list = gguf_.integers(key(name));
  if (!list || !*list) return keep(gguf_.integer(key(name)));
  const std::vector<int64_t>& numbers = **list;
  const auto other = std::ranges::find_if(numbers, [&](int64_t n) { return n != numbers[0]; });
  if (!numbers.empty() && other == numbers.end()) return numbers[0];
  if (numbers.empty())
    refuse(name, "a whole number");
  else
    fail(
        in_file(source(),
                unsupported("'{}' is {}, expected {}, as for the layers before: only one value for "
                            "all layers is supported",
                            place_in(key(name), static_cast<size_t>(other - numbers.begin())),
                            *other, numbers[0])));
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

bool GgufFields::copy_integer(std::string_view name, const char* field, Json& object) {
  const std::optional<int64_t> value = integer(name);
  comes_from_key(field, name);
  if (value) object[field] = *value;
  return value.has_value();
}

bool GgufFields::copy_real(std::string_view name, const char* field, Json& object) {
  const std::optional<double> value = finite(name);
  comes_from_key(field, name);
  if (value) object[field] = *value;
  return value.has_value();
}

void GgufFields::comes_from_key(std::string_view field, std::string_view name) {
  comes_from(field, fmt::format("'{}'", key(name)));
}

void GgufFields::comes_from_quotient(std::string_view field, std::string_view name,
                                     std::string_view divisor) {
  comes_from(field, fmt::format("'{}' / '{}'", key(name), key(divisor)));
}

void GgufFields::comes_from(std::string_view field, std::string source) {
  sources_[std::string(field)] = std::move(source);
}

void GgufFields::comes_from_same(std::string_view field, std::string_view other) {
  if (const auto found = sources_.find(other); found != sources_.end())
    comes_from(field, found->second);
}

namespace {

// Puts the source of a field in place of its name in quotes, 'FIELD' or 'FIELD[2]'.
void name_anew(std::string& text, const std::string& quoted, const std::string& source) {
  for (size_t at = text.find(quoted); at != text.npos; at = text.find(quoted, at + 1)) {
    const size_t end = at + quoted.size();
    if (end == text.size() || (text[end] != '\'' && text[end] != '[')) continue;
    const bool is_entry = text[end] == '[';
    text.replace(at, quoted.size() + !is_entry, source, 0, source.size() - is_entry);
  }
}

}  // namespace

Error GgufFields::in_file_names(Error error) const {
  std::string& named = error.place.field;
  size_t end = named.size();
  auto source = sources_.find(named);
  if (source == sources_.end()) {  // of a list
    end = std::min(named.find('['), end);
    source = sources_.find(named.substr(0, end));
  }
  if (source != sources_.end()) {
    const std::string& text = source->second;
    const bool is_key = text.front() == '\'' && text.find('\'', 1) == text.size() - 1;
    if (is_key) {
      named.replace(0, end, text, 1, text.size() - 2);
    } else {
      error.found = fmt::format("{}{} {}", text, named.substr(end), error.found);
      error.subject = ErrorSubject::kNone;
      named.clear();
    }
  }
  // A field in another one: "FILE: 'rope_scaling'".
  std::string& file = error.place.file;
  std::string inside = file.starts_with(this->source()) ? file.substr(this->source().size()) : "";
  file.resize(file.size() - inside.size());
  for (std::string* text : {&error.found, &error.expected, &inside})
    for (const auto& [of, text_of] : sources_) name_anew(*text, "'" + of, text_of);
  file += inside;
  return error;
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
    fail(in_file(
        source(),
        of_tensor(name, bad_file("is {}, expected of type 0 (F32) and shape [{}]", found, n))));
    return {};
  }
  std::vector<float> values(static_cast<size_t>(n));
  std::memcpy(values.data(), gguf_.file_of(*tensor).data() + tensor->offset,
              values.size() * sizeof(float));
  return values;
}

}  // namespace pando::model
