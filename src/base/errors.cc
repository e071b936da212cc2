#include "base/errors.h"

#include <algorithm>
#include <string_view>

namespace pando {
namespace {

// Bytes of the character that `text` begins with; 0 if that is none, or one that controls a
// terminal.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? text[i] & 0xFF : 0; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const int lead = byte(0), second = byte(1);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  if (lead < 0xC2 || lead > 0xF4 || !continues(1)) return 0;
  if (lead == 0xC2 && second < 0xA0) return 0;
  if (lead < 0xE0) return 2;
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || !continues(2)) return 0;
  if (lead < 0xF0) return 3;
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F) || !continues(3)) return 0;
  return 4;
}

// The text with a number in each replacement field, so that parts of it can be formatted alone.
std::string numbered(std::string_view text) {
  std::string out;
  size_t n = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    out += text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if ((text[at] == '{' || text[at] == '}') && next == text[at])
      out += text[++at];
    else if (text[at] == '{' && (next == '}' || next == ':'))
      out += std::to_string(n++);
  }
  return out;
}

}  // namespace

Error made_error(ErrorCode code, std::string_view text, fmt::format_args args) {
  constexpr std::string_view kExpected = ", expected ", kHint = " (hint: ";
  const std::string all = numbered(text);
  std::string_view found = all, expected, hint;
  if (const size_t at = found.rfind(kHint); at != found.npos && found.ends_with(')')) {
    hint = found.substr(at + kHint.size());
    hint.remove_suffix(1);
    found = found.substr(0, at);
  }
  if (const size_t at = found.find(kExpected); at != found.npos) {
    expected = found.substr(at + kExpected.size());
    found = found.substr(0, at);
  }
  const auto shown = [&](std::string_view part) { return one_line(fmt::vformat(part, args)); };
  return {.code = code, .found = shown(found), .expected = shown(expected), .hint = shown(hint)};
}

Error blame(std::string field, Error error) {
  error.place.field = std::move(field);
  return error;
}

Error of_field(std::string field, Error error) {
  error.subject = ErrorSubject::kField;
  return blame(std::move(field), std::move(error));
}

Error of_option(std::string_view option, Error error) {
  error.place.option = option;
  error.subject = ErrorSubject::kOption;
  return error;
}

Error of_tensor(std::string_view tensor, Error error) {
  error.place.tensor = one_line(tensor);
  error.subject = ErrorSubject::kTensor;
  return error;
}

Error in_tensor(const TensorPlace& place, Error error) {
  return in_file(place.file, of_tensor(place.name, std::move(error)));
}

Error in_file(std::string_view file, Error error) {
  std::string& name = error.place.file;
  name = name.empty() ? one_line(file) : fmt::format("{}: {}", one_line(file), name);
  return error;
}

Error in_part(std::string_view part, Error error) {
  std::string& field = error.place.field;
  field = fmt::format("{}{}{}", part, field.empty() ? "" : ".", field);
  return error;
}

std::string place_in(std::string_view list, size_t index) {
  return fmt::format("{}[{}]", list, index);
}

Error with_code(ErrorCode code, Error error) {
  error.code = code;
  return error;
}

Error with_hint(std::string hint, Error error) {
  if (!hint.empty()) error.hint = std::move(hint);
  return error;
}

std::string one_of_these(std::span<const std::string_view> names) {
  if (names.size() == 1) return std::string(names[0]);
  return fmt::format("{} or {}", fmt::join(names.first(names.size() - 1), ", "), names.back());
}

std::string one_line(std::string_view text) {
  constexpr size_t kBegin = 700, kEnd = 200;
  std::string line;
  bool cut = false;
  for (size_t at = 0; at < text.size();) {
    if (!cut && line.size() >= kBegin && text.size() - at > 2 * kEnd) {
      cut = true;
      line += "...";
      at = text.size() - kEnd;
      while (at < text.size() && (text[at] & 0xC0) == 0x80) ++at;  // not inside a character
    }
    const size_t n = character_length(text.substr(at));
    if (n > 0) {
      line += text.substr(at, n);
    } else if ((text[at] & 0x80) == 0) {
      line += text[at] == '\n' ? "\\n" : fmt::format("\\x{:02x}", text[at]);
    } else {
      line += "\uFFFD";
    }
    at += std::max<size_t>(n, 1);
  }
  return line;
}

}  // namespace pando
