#include "batch/line_fields.h"

#include <charconv>

#include "base/errors.h"

namespace pando {
namespace {

bool may_hold_more(std::string_view text) { return text.starts_with('{') || text.starts_with('['); }

// A text of JSON becomes its value.
Json opened(const Json& value) {
  if (!value.is_string() || !may_hold_more(value.get_ref<const std::string&>())) return value;
  Result<Json> parsed = parse_json(value.get_ref<const std::string&>());
  return parsed ? std::move(*parsed) : value;
}

Json stepped(const Json& value, std::string_view path) {
  if (path.empty()) return value;
  const Json inside = opened(value);
  if (inside.is_object()) {
    if (const auto whole = inside.find(path); whole != inside.end()) return *whole;
    for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1))
      if (const auto found = inside.find(path.substr(0, dot)); found != inside.end())
        return stepped(*found, path.substr(dot + 1));
    return {};
  }
  if (!inside.is_array()) return {};
  size_t index = 0;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), index);
  const std::string_view rest = path.substr(static_cast<size_t>(end - path.data()));
  const bool is_index = error == std::errc() && (rest.empty() || rest[0] == '.');
  if (!is_index || index >= inside.size()) return {};
  return stepped(inside[index], rest.empty() ? rest : rest.substr(1));
}

}  // namespace

Json field_of(const Json& line, std::string_view path) {
  Json found = stepped(line, path);
  if (!found.is_null()) return found;
  const auto metadata = line.find("metadata");
  return metadata == line.end() ? Json() : stepped(*metadata, path);
}

std::string written_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

Result<std::optional<std::vector<std::string>>> texts_of(const Json& value, InputFormat format) {
  if (value.is_null()) return std::optional<std::vector<std::string>>();
  const bool is_cell = format != InputFormat::kJsonLines && value.is_string();
  if (is_cell && value.get_ref<const std::string&>().empty())
    return std::optional<std::vector<std::string>>();
  const Json opened_value = is_cell ? opened(value) : value;
  if (opened_value.is_object())
    return invalid_argument("is {}, expected a text or a list of texts", found_text(value));
  if (!opened_value.is_array()) return std::optional(std::vector{written_text(opened_value)});
  std::vector<std::string> texts;
  for (const Json& text : opened_value) {
    if (text.is_structured() || text.is_null())
      return invalid_argument("has {} in it, expected texts", found_text(text));
    texts.push_back(written_text(text));
  }
  return std::optional(std::move(texts));
}

}  // namespace pando
