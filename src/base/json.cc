#include "base/json.h"

#include <cmath>
#include <unordered_set>
#include <vector>

#include "base/errors.h"

namespace pando {

using nlohmann::json;

Result<json> parse_json(std::string_view text) {
  std::vector<std::unordered_set<std::string>> open_objects;
  std::optional<std::string> repeated;
  bool too_deep = false;
  const json::parser_callback_t watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > kDeepestJson) too_deep = true;
    if (too_deep) return false;
    if (event == json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == json::parse_event_t::object_end) open_objects.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!open_objects.back().insert(key).second && !repeated) repeated = key;
    }
    return true;
  };
  json value;
  try {
    value = json::parse(text.begin(), text.end(), watch);
  } catch (const json::exception& failure) {
    std::string_view what = failure.what();
    if (const size_t end = what.find("] "); end != what.npos) what.remove_prefix(end + 2);
    what = what.substr(
        0, what.find("; last read"));  // the text itself, which may be long and no UTF-8
    return bad_file("not JSON: {}", what.substr(0, 200));
  }
  if (too_deep) return bad_file("nested deeper than {} levels", kDeepestJson);
  if (repeated) return bad_file("'{}' is there twice, expected once", *repeated);
  return value;
}

Result<json> parse_json_object(std::string_view text, std::string_view source) {
  Result<json> value = parse_json(text);
  if (!value) return bad_file("{}: {}", source, value.error().message);
  if (!value->is_object())
    return bad_file("{}: is a JSON {}, expected an object", source, value->type_name());
  return value;
}

std::string found_text(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

const json* FieldReader::find(std::string_view name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void FieldReader::refuse(std::string_view name, std::string_view expected, ErrorCode code) {
  if (error_) return;
  const auto found = object_.find(name);
  error_ = found == object_.end()
               ? make_error(code, "{}: '{}' is absent, expected {}", source_, name, expected)
               : make_error(code, "{}: '{}' is {}, expected {}", source_, name, found_text(*found),
                            expected);
}

int64_t FieldReader::integer(std::string_view name, int64_t min, int64_t max,
                             std::optional<int64_t> fallback) {
  const json* value = find(name);
  if (value == nullptr && fallback) return *fallback;
  if (value != nullptr && value->is_number_integer()) {
    const bool fits =
        !value->is_number_unsigned() || value->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
    if (fits && value->get<int64_t>() >= min && value->get<int64_t>() <= max)
      return value->get<int64_t>();
  }
  refuse(name, fmt::format("an integer in [{}, {}]", min, max));
  return fallback.value_or(min);
}

double FieldReader::positive(std::string_view name, std::optional<double> fallback) {
  const json* value = find(name);
  if (value == nullptr && fallback) return *fallback;
  if (value != nullptr && value->is_number() && std::isfinite(value->get<double>()) &&
      value->get<double>() > 0.0)
    return value->get<double>();
  refuse(name, "a number above 0");
  return fallback.value_or(1.0);
}

bool FieldReader::boolean(std::string_view name, bool fallback) {
  const json* value = find(name);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    refuse(name, "true or false");
    return fallback;
  }
  return value->get<bool>();
}

std::string FieldReader::string(std::string_view name, std::string_view fallback) {
  const json* value = find(name);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) {
    refuse(name, "a string");
    return std::string(fallback);
  }
  return value->get<std::string>();
}

}  // namespace pando
