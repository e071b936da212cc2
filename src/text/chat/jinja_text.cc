#include "text/chat/jinja_text.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/utf8.h"

namespace pando::jinja {
namespace {

char32_t point_at(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]) < 0x80 ? static_cast<unsigned char>(text[at])
                                                     : next_utf8(text.substr(at)).point;
}

int category(char32_t point) { return utf8proc_category(static_cast<utf8proc_int32_t>(point)); }

// Where the character before byte `end` begins.
size_t before(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && (text[end] & 0xc0) == 0x80);
  return end;
}

template <class Drop>
std::string_view strip_if(std::string_view text, Side side, const Drop& drop) {
  size_t begin = 0, end = text.size();
  if (side != Side::kRight)
    while (begin < end && drop(point_at(text, begin))) begin += utf8_length(text[begin]);
  if (side != Side::kLeft)
    while (end > begin) {
      const size_t at = before(text, end);
      if (!drop(point_at(text, at))) break;
      end = at;
    }
  return text.substr(begin, end - begin);
}

bool is_line_end(char32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

// Those whose capital is more than one character, and what it is.
struct Expansion {
  char32_t point;
  const char* upper;
  const char* title;
};
constexpr Expansion kExpansions[] = {
    {0x00df, "SS", "Ss"},
    {0x0149, "\u02bcN", "\u02bcN"},
    {0x01f0, "J\u030c", "J\u030c"},
    {0x0390, "\u0399\u0308\u0301", "\u0399\u0308\u0301"},
    {0x03b0, "\u03a5\u0308\u0301", "\u03a5\u0308\u0301"},
    {0x0587, "\u0535\u0552", "\u0535\u0582"},
    {0x1e96, "H\u0331", "H\u0331"},
    {0x1e97, "T\u0308", "T\u0308"},
    {0x1e98, "W\u030a", "W\u030a"},
    {0x1e99, "Y\u030a", "Y\u030a"},
    {0x1e9a, "A\u02be", "A\u02be"},
    {0xfb00, "FF", "Ff"},
    {0xfb01, "FI", "Fi"},
    {0xfb02, "FL", "Fl"},
    {0xfb03, "FFI", "Ffi"},
    {0xfb04, "FFL", "Ffl"},
    {0xfb05, "ST", "St"},
    {0xfb06, "ST", "St"},
};
const Expansion* expansion_of(char32_t point) {
  const auto found = std::find_if(std::begin(kExpansions), std::end(kExpansions),
                                  [&](const Expansion& e) { return e.point == point; });
  return found == std::end(kExpansions) ? nullptr : found;
}

void append_upper(char32_t point, std::string& out) {
  if (const Expansion* e = point >= 0xdf ? expansion_of(point) : nullptr) {
    out += e->upper;
  } else {
    append_utf8(static_cast<char32_t>(utf8proc_toupper(static_cast<int>(point))), &out);
  }
}

void append_title(char32_t point, std::string& out) {
  if (const Expansion* e = point >= 0xdf ? expansion_of(point) : nullptr) {
    out += e->title;
  } else {
    append_utf8(static_cast<char32_t>(utf8proc_totitle(static_cast<int>(point))), &out);
  }
}

bool is_cased(char32_t point) { return is_upper(point) || is_lower(point) || is_title(point); }

// Characters that do not part a word for the final sigma.
bool is_case_ignorable(char32_t c) {
  const int of = category(c);
  return of == UTF8PROC_CATEGORY_MN || of == UTF8PROC_CATEGORY_ME || of == UTF8PROC_CATEGORY_CF ||
         of == UTF8PROC_CATEGORY_LM || of == UTF8PROC_CATEGORY_SK || c == '\'' || c == '.' ||
         c == ':' || c == 0xb7 || c == 0x2019;
}

bool is_final_sigma(std::string_view text, size_t at) {
  size_t i = at;
  bool after_letter = false;
  while (i > 0) {
    i = before(text, i);
    const char32_t c = point_at(text, i);
    if (is_case_ignorable(c)) continue;
    after_letter = is_cased(c);
    break;
  }
  if (!after_letter) return false;
  for (i = at + utf8_length(text[at]); i < text.size(); i += utf8_length(text[i])) {
    const char32_t c = point_at(text, i);
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return true;
}

void append_lower(std::string_view text, size_t at, std::string& out) {
  const char32_t c = point_at(text, at);
  if (c < 0x80) {
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
  } else if (c == 0x130) {
    out += "i\u0307";
  } else if (c == 0x3a3) {
    out += is_final_sigma(text, at) ? "\u03c2" : "\u03c3";
  } else {
    append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<int>(c))), &out);
  }
}

}  // namespace

size_t count_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

size_t byte_of(std::string_view text, size_t index) {
  size_t at = 0;
  while (index > 0 && at < text.size()) {
    at += utf8_length(text[at]);
    --index;
  }
  return std::min(at, text.size());
}

std::string_view points_between(std::string_view text, size_t begin, size_t end) {
  if (begin >= end) return {};
  const std::string_view rest = text.substr(byte_of(text, begin));
  return rest.substr(0, byte_of(rest, end - begin));
}

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < text.size(); at += out.back().size())
    out.push_back(text.substr(at, utf8_length(text[at])));
  return out;
}

std::string encode(char32_t point) {
  std::string out;
  append_utf8(point, &out);
  return out;
}

char32_t decode(std::string_view character) { return point_at(character, 0); }

bool is_python_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

bool is_printable(char32_t c) {
  if (c < 0x7f) return c >= 0x20;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_alpha(char32_t c) {
  const int of = category(c);
  return of >= UTF8PROC_CATEGORY_LU && of <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }
bool is_digit(char32_t c) {
  return is_decimal(c) || c == 0xb2 || c == 0xb3 || c == 0xb9 || c == 0x2070 ||
         (c >= 0x2074 && c <= 0x2079) || (c >= 0x2080 && c <= 0x2089) ||
         (c >= 0x2460 && c <= 0x2468) || (c >= 0x2474 && c <= 0x247c) ||
         (c >= 0x2488 && c <= 0x2490);
}
bool is_numeric(char32_t c) {
  const int of = category(c);
  return of == UTF8PROC_CATEGORY_ND || of == UTF8PROC_CATEGORY_NL || of == UTF8PROC_CATEGORY_NO;
}
bool is_upper(char32_t c) {
  return c < 0x80 ? c >= 'A' && c <= 'Z' : utf8proc_isupper(static_cast<int>(c)) != 0;
}
bool is_lower(char32_t c) {
  return c < 0x80 ? c >= 'a' && c <= 'z' : utf8proc_islower(static_cast<int>(c)) != 0;
}
bool is_title(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LT; }

std::string lower(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); at += utf8_length(text[at])) append_lower(text, at, out);
  return out;
}

std::string upper(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); at += utf8_length(text[at]))
    append_upper(point_at(text, at), out);
  return out;
}

std::string casefold(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); at += utf8_length(text[at])) {
    const char32_t c = point_at(text, at);
    if (c == 0x3c2) {
      out += "\u03c3";
    } else if (const Expansion* e = expansion_of(c)) {
      out += lower(e->upper);
    } else {
      append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<int>(c))), &out);
    }
  }
  return out;
}

std::string upper_first(std::string_view character) {
  std::string out;
  append_title(point_at(character, 0), out);
  return out;
}

std::string capitalize(std::string_view text) {
  if (text.empty()) return {};
  const size_t first = utf8_length(text[0]);
  std::string out = upper_first(text);
  for (size_t at = first; at < text.size(); at += utf8_length(text[at]))
    append_lower(text, at, out);
  return out;
}

std::string title(std::string_view text) {
  std::string out;
  bool inside = false;
  for (size_t at = 0; at < text.size(); at += utf8_length(text[at])) {
    const char32_t c = point_at(text, at);
    if (inside) {
      append_lower(text, at, out);
    } else {
      append_title(c, out);
    }
    inside = is_cased(c);
  }
  return out;
}

std::string swapcase(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); at += utf8_length(text[at])) {
    const char32_t c = point_at(text, at);
    if (is_upper(c)) {
      append_lower(text, at, out);
    } else if (is_lower(c)) {
      append_upper(c, out);
    } else {
      append_utf8(c, &out);
    }
  }
  return out;
}

std::string_view strip_space(std::string_view text, Side side) {
  return strip_if(text, side, is_python_space);
}

std::string_view strip_chars(std::string_view text, std::string_view chars, Side side) {
  std::vector<char32_t> points;
  for (const std::string_view c : characters_of(chars)) points.push_back(point_at(c, 0));
  return strip_if(text, side, [&](char32_t c) {
    return std::find(points.begin(), points.end(), c) != points.end();
  });
}

std::vector<std::string_view> split_space(std::string_view text, int64_t most, bool from_right) {
  std::vector<std::string_view> out;
  const Side near = from_right ? Side::kRight : Side::kLeft;
  text = strip_space(text, near);
  while (!text.empty()) {
    if (most >= 0 && static_cast<int64_t>(out.size()) == most) {
      out.push_back(text);  // with its spaces at the far end
      break;
    }
    size_t at = from_right ? text.size() : 0;
    if (from_right) {
      while (at > 0 && !is_python_space(point_at(text, before(text, at)))) at = before(text, at);
      out.push_back(text.substr(at));
      text = strip_space(text.substr(0, at), near);
    } else {
      while (at < text.size() && !is_python_space(point_at(text, at))) at += utf8_length(text[at]);
      out.push_back(text.substr(0, at));
      text = strip_space(text.substr(at), near);
    }
  }
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string_view> split_by(std::string_view text, std::string_view separator,
                                       int64_t most, bool from_right) {
  std::vector<std::string_view> out;
  while (most < 0 || static_cast<int64_t>(out.size()) < most) {
    const size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == text.npos) break;
    if (from_right) {
      out.push_back(text.substr(at + separator.size()));
      text = text.substr(0, at);
    } else {
      out.push_back(text.substr(0, at));
      text = text.substr(at + separator.size());
    }
  }
  out.push_back(text);
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> out;
  for (size_t begin = 0; begin < text.size();) {
    size_t at = begin;
    while (at < text.size() && !is_line_end(point_at(text, at))) at += utf8_length(text[at]);
    const size_t end = at;
    if (at < text.size()) at += text.substr(at).starts_with("\r\n") ? 2 : utf8_length(text[at]);
    out.push_back(text.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  return out;
}

size_t count_of(std::string_view text, std::string_view piece) {
  if (piece.empty()) return count_points(text) + 1;
  size_t n = 0;
  for (size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + piece.size())) ++n;
  return n;
}

std::string replace(std::string_view text, std::string_view old, std::string_view by, int64_t most,
                    size_t most_bytes) {
  size_t n = count_of(text, old);
  if (most >= 0) n = std::min(n, static_cast<size_t>(most));
  // A text that grows beyond all limits is cut where its maker checks it.
  if (by.size() > 0 && n > most_bytes / by.size()) return std::string(most_bytes + 1, ' ');
  std::string out;
  out.reserve(text.size() + n * by.size());
  size_t at = 0;
  for (; n > 0; --n) {
    if (old.empty()) {
      out += by;
      if (at >= text.size()) break;
      const size_t length = utf8_length(text[at]);
      out += text.substr(at, length);
      at += length;
      continue;
    }
    const size_t found = text.find(old, at);
    out += text.substr(at, found - at);
    out += by;
    at = found + old.size();
  }
  return out += text.substr(std::min(at, text.size()));
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace pando::jinja
