#include "text/calls/literal.h"

#include <algorithm>
#include <utility>

#include "text/utf8.h"

namespace pando::calls {
namespace {

bool is_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

constexpr std::pair<char, char> kEscapes[] = {{'n', '\n'}, {'t', '\t'},  {'r', '\r'},
                                              {'b', '\b'}, {'f', '\f'},  {'\\', '\\'},
                                              {'"', '"'},  {'\'', '\''}, {'/', '/'}};

// The value of `digits` hexadecimal digits at `at`; -1 if they are none.
int64_t hex_at(std::string_view text, size_t at, size_t digits) {
  if (at + digits > text.size()) return -1;
  int64_t value = 0;
  for (const char c : text.substr(at, digits)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// A backslash that begins no escape stays as it is.
std::string without_escapes(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char kind = text[i + 1];
    const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    int64_t point = digits == 0 ? -1 : hex_at(text, i + 2, digits);
    if (point >= 0) {
      i += 1 + digits;
      if (point >= 0xd800 && point < 0xdc00 && text.substr(i + 1, 2) == "\\u") {
        if (const int64_t low = hex_at(text, i + 3, 4); low >= 0xdc00 && low < 0xe000) {
          point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
          i += 6;
        }
      }
      const bool is_character = point < 0x110000 && (point < 0xd800 || point >= 0xe000);
      append_utf8(is_character ? static_cast<char32_t>(point) : U'\ufffd', &out);
      continue;
    }
    const auto* escape = std::find_if(std::begin(kEscapes), std::end(kEscapes),
                                      [&](const auto& one) { return one.first == kind; });
    if (escape == std::end(kEscapes)) {
      out += '\\';
      continue;
    }
    out += escape->second;
    ++i;
  }
  return out;
}

// Done where an argument of a call ends: before a ')' or the name of the next argument.
Read read_end_of_argument(Scan scan) {
  scan.skip_space();
  if (scan.at_end()) return scan.ended();
  if (scan.next() == ')') return Read::kDone;
  if (scan.next() != ',') return Read::kBroken;
  ++scan.at;
  scan.skip_space();
  const size_t name = scan.at;
  while (!scan.at_end() && is_identifier(scan.next())) ++scan.at;
  const bool is_named = scan.at > name;
  scan.skip_space();
  if (scan.at_end()) return scan.ended();
  return is_named && scan.next() == '=' ? Read::kDone : Read::kBroken;
}

Read read_quoted(Scan& scan, bool in_call, std::string& out) {
  const char quote = scan.next();
  const size_t begin = scan.at + 1;
  for (size_t i = begin; i < scan.text.size(); ++i) {
    if (scan.text[i] == '\\') {
      ++i;
      continue;
    }
    if (scan.text[i] != quote) continue;
    Scan behind = scan;
    behind.at = i + 1;
    const Read read = in_call ? read_end_of_argument(behind) : Read::kDone;
    if (read == Read::kMore) return read;
    if (read == Read::kBroken) continue;
    out = without_escapes(scan.text.substr(begin, i - begin));
    scan.at = i + 1;
    return Read::kDone;
  }
  return scan.ended();
}

Read read_string(Scan& scan, const LiteralStyle& style, std::string& out) {
  if (!style.quote.empty()) {
    const std::string_view rest = scan.rest();
    if (rest.starts_with(style.quote)) {
      scan.at += style.quote.size();
      std::string_view found;
      const Read read = scan.take_until(style.quote, found);
      out = found;
      return read;
    }
    if (begun_at_end(rest, style.quote) == rest.size()) return scan.ended();
  }
  if (scan.next() == '"' || scan.next() == '\'') return read_quoted(scan, style.in_call, out);
  return Read::kBroken;
}

Read read_literal_key(Scan& scan, const LiteralStyle& style, std::string& key) {
  const Read read = read_string(scan, style, key);
  if (read != Read::kBroken || !style.bare_keys) return read;
  const size_t begin = scan.at;
  while (!scan.at_end() && std::string_view(":,{}[]\n").find(scan.next()) == std::string_view::npos)
    ++scan.at;
  if (scan.at_end()) return scan.ended();
  key = trimmed(scan.text.substr(begin, scan.at - begin));
  return key.empty() ? Read::kBroken : Read::kDone;
}

// Elements of a list, a tuple or an object. A comma may stand behind the last.
template <class Element>
Read read_elements(Scan& scan, char close, const Element& element) {
  ++scan.at;
  while (true) {
    scan.skip_space();
    if (scan.at_end()) return scan.ended();
    if (scan.next() == close) {
      ++scan.at;
      return Read::kDone;
    }
    if (const Read read = element(); read != Read::kDone) return read;
    scan.skip_space();
    if (scan.at_end()) return scan.ended();
    if (scan.next() == ',')
      ++scan.at;
    else if (scan.next() != close)
      return Read::kBroken;
  }
}

Read read_word(Scan& scan, CallJson& out) {
  const size_t begin = scan.at;
  while (!scan.at_end() && (is_identifier(scan.next()) || scan.next() == '.' ||
                            scan.next() == '-' || scan.next() == '+'))
    ++scan.at;
  if (scan.at_end() && !scan.is_final) return Read::kMore;
  const std::string_view word = scan.text.substr(begin, scan.at - begin);
  if (word == "True" || word == "true") {
    out = true;
  } else if (word == "False" || word == "false") {
    out = false;
  } else if (word == "None" || word == "null") {
    out = nullptr;
  } else {
    std::optional<CallJson> number = parse_value(word);
    if (!number) return Read::kBroken;
    out = *std::move(number);
  }
  return Read::kDone;
}

}  // namespace

Read read_literal(Scan& scan, const LiteralStyle& style, CallJson& out, int depth) {
  scan.skip_space();
  if (scan.at_end()) return scan.ended();
  if (depth > kDeepestArguments) return Read::kBroken;
  LiteralStyle inner = style;
  inner.in_call = false;
  const auto element = [&] {
    CallJson one;
    const Read read = read_literal(scan, inner, one, depth + 1);
    if (read == Read::kDone) out.push_back(std::move(one));
    return read;
  };
  switch (scan.next()) {
    case '[':
    case '(':
      out = CallJson::array();
      return read_elements(scan, scan.next() == '[' ? ']' : ')', element);
    case '{':
      out = CallJson::object();
      return read_elements(scan, '}', [&] {
        std::string key;
        if (const Read read = read_literal_key(scan, inner, key); read != Read::kDone) return read;
        if (const Read read = scan.take(':'); read != Read::kDone) return read;
        CallJson value;
        const Read read = read_literal(scan, inner, value, depth + 1);
        if (read == Read::kDone) out[key] = std::move(value);
        return read;
      });
    default:
      break;
  }
  std::string text;
  const Read read = read_string(scan, style, text);
  if (read == Read::kDone) out = std::move(text);
  return read == Read::kBroken ? read_word(scan, out) : read;
}

}  // namespace pando::calls
