#include "base/python_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/errors.h"
#include "base/json.h"

namespace pando {
namespace {

constexpr std::string_view kFloatNames[] = {"NaN", "Infinity", "-Infinity"};

// The text, with an object in place of each of these names that stands outside strings.
std::string with_named_floats(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    const auto is_next = [rest = text.substr(i)](std::string_view name) {
      return rest.starts_with(name);
    };
    const auto* name = std::find_if(std::begin(kFloatNames), std::end(kFloatNames), is_next);
    if (!in_string && name != std::end(kFloatNames)) {
      out += fmt::format(R"({{"__float__":"{}"}})", *name);
      i += name->size();
      continue;
    }
    if (in_string && text[i] == '\\' && i + 1 < text.size())
      out += text[i++];
    else if (text[i] == '"')
      in_string = !in_string;
    out += text[i++];
  }
  return out;
}

// Errors give places in the original text.
template <class Parse>
Result<Json> parse_with_named_floats(std::string_view text, const Parse& parse) {
  Result<Json> value = parse(text);
  const auto is_in_text = [&](std::string_view name) { return text.find(name) != text.npos; };
  if (value || std::none_of(std::begin(kFloatNames), std::end(kFloatNames), is_in_text))
    return value;
  Result<Json> named = parse(with_named_floats(text));
  return named ? std::move(named) : std::move(value);
}

}  // namespace

Result<Json> parse_python_json(std::string_view text) {
  return parse_with_named_floats(text, [](std::string_view one) { return parse_json(one); });
}

Result<Json> parse_python_object(std::string_view text, std::string_view source) {
  Result<Json> object = parse_with_named_floats(
      text, [&](std::string_view one) { return parse_json_object(one, source); });
  // A lone number is read as an object, but its text has none.
  if (object && text.find('{') == text.npos)
    return in_file(source, bad_file("is a number, expected an object"));
  return object;
}

}  // namespace pando
