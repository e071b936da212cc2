// The classes and cases of characters, as Python's str has them.
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <utility>

#include "text/chat/jinja_text.h"
#include "text/utf8.h"

namespace pando::jinja {
namespace {

using Points = std::pair<char32_t, char32_t>;  // the first and the last

// Properties from UnicodeData.txt that do not follow from the general category.
constexpr Points kDigits[] = {
    {0xb2, 0xb3},       {0xb9, 0xb9},       {0x1369, 0x1371},   {0x19da, 0x19da},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247c},   {0x2488, 0x2490},   {0x24ea, 0x24ea},   {0x24f5, 0x24fd},
    {0x24ff, 0x24ff},   {0x2776, 0x277e},   {0x2780, 0x2788},   {0x278a, 0x2792},
    {0x10a40, 0x10a43}, {0x10e60, 0x10e68}, {0x11052, 0x1105a}, {0x1f100, 0x1f10a}};
// Ideographs that are numbers.
constexpr char32_t kNumerals[] = {
    0x3405,  0x3483,  0x382a,  0x3b4d,  0x4e00,  0x4e03,  0x4e07,  0x4e09,  0x4e5d,
    0x4e8c,  0x4e94,  0x4e96,  0x4ebf,  0x4ec0,  0x4edf,  0x4ee8,  0x4f0d,  0x4f70,
    0x5104,  0x5146,  0x5169,  0x516b,  0x516d,  0x5341,  0x5343,  0x5344,  0x5345,
    0x534c,  0x53c1,  0x53c2,  0x53c3,  0x53c4,  0x56db,  0x58f1,  0x58f9,  0x5e7a,
    0x5efe,  0x5eff,  0x5f0c,  0x5f0d,  0x5f0e,  0x5f10,  0x62fe,  0x634c,  0x67d2,
    0x6f06,  0x7396,  0x767e,  0x8086,  0x842c,  0x8cae,  0x8cb3,  0x8d30,  0x9621,
    0x9646,  0x964c,  0x9678,  0x96f6,  0xf96b,  0xf973,  0xf978,  0xf9b2,  0xf9d1,
    0xf9d3,  0xf9fd,  0x20001, 0x20064, 0x200e2, 0x20121, 0x2092a, 0x20983, 0x2098c,
    0x2099c, 0x20aea, 0x20afd, 0x20b19, 0x22390, 0x22998, 0x23b1b, 0x2626d, 0x2f890};
// Exceptions to the general category: characters that begin or continue a name, or that do not.
constexpr Points kBegin[] = {{0x1885, 0x1886}, {0x2118, 0x2118}, {0x212e, 0x212e}};
constexpr Points kNeverBegin[] = {{0xe33, 0xe33}, {0xeb3, 0xeb3}, {0xff9e, 0xff9f}};
constexpr Points kContinue[] = {{0xb7, 0xb7}, {0x387, 0x387}, {0x1369, 0x1371}, {0x19da, 0x19da}};
constexpr Points kNeither[] = {{0x37a, 0x37a},   {0x2e2f, 0x2e2f}, {0xfc5e, 0xfc63},
                               {0xfdfa, 0xfdfb}, {0xfe70, 0xfe70}, {0xfe72, 0xfe72},
                               {0xfe74, 0xfe74}, {0xfe76, 0xfe76}, {0xfe78, 0xfe78},
                               {0xfe7a, 0xfe7a}, {0xfe7c, 0xfe7c}, {0xfe7e, 0xfe7e}};

template <size_t n>
bool is_in(const Points (&ranges)[n], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Points& range) { return c >= range.first && c <= range.second; });
}

int category(char32_t point) { return utf8proc_category(static_cast<utf8proc_int32_t>(point)); }

// Characters whose capital is more than one character, with the capital.
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
    {0x1f50, "\u03a5\u0313", "\u03a5\u0313"},
    {0x1f52, "\u03a5\u0313\u0300", "\u03a5\u0313\u0300"},
    {0x1f54, "\u03a5\u0313\u0301", "\u03a5\u0313\u0301"},
    {0x1f56, "\u03a5\u0313\u0342", "\u03a5\u0313\u0342"},
    {0x1fb2, "\u1fba\u0399", "\u1fba\u0345"},
    {0x1fb3, "\u0391\u0399", "\u1fbc"},
    {0x1fb4, "\u0386\u0399", "\u0386\u0345"},
    {0x1fb6, "\u0391\u0342", "\u0391\u0342"},
    {0x1fb7, "\u0391\u0342\u0399", "\u0391\u0342\u0345"},
    {0x1fbc, "\u0391\u0399", "\u1fbc"},
    {0x1fc2, "\u1fca\u0399", "\u1fca\u0345"},
    {0x1fc3, "\u0397\u0399", "\u1fcc"},
    {0x1fc4, "\u0389\u0399", "\u0389\u0345"},
    {0x1fc6, "\u0397\u0342", "\u0397\u0342"},
    {0x1fc7, "\u0397\u0342\u0399", "\u0397\u0342\u0345"},
    {0x1fcc, "\u0397\u0399", "\u1fcc"},
    {0x1fd2, "\u0399\u0308\u0300", "\u0399\u0308\u0300"},
    {0x1fd3, "\u0399\u0308\u0301", "\u0399\u0308\u0301"},
    {0x1fd6, "\u0399\u0342", "\u0399\u0342"},
    {0x1fd7, "\u0399\u0308\u0342", "\u0399\u0308\u0342"},
    {0x1fe2, "\u03a5\u0308\u0300", "\u03a5\u0308\u0300"},
    {0x1fe3, "\u03a5\u0308\u0301", "\u03a5\u0308\u0301"},
    {0x1fe4, "\u03a1\u0313", "\u03a1\u0313"},
    {0x1fe6, "\u03a5\u0342", "\u03a5\u0342"},
    {0x1fe7, "\u03a5\u0308\u0342", "\u03a5\u0308\u0342"},
    {0x1ff2, "\u1ffa\u0399", "\u1ffa\u0345"},
    {0x1ff3, "\u03a9\u0399", "\u1ffc"},
    {0x1ff4, "\u038f\u0399", "\u038f\u0345"},
    {0x1ff6, "\u03a9\u0342", "\u03a9\u0342"},
    {0x1ff7, "\u03a9\u0342\u0399", "\u03a9\u0342\u0345"},
    {0x1ffc, "\u03a9\u0399", "\u1ffc"},
    {0xfb00, "FF", "Ff"},
    {0xfb01, "FI", "Fi"},
    {0xfb02, "FL", "Fl"},
    {0xfb03, "FFI", "Ffi"},
    {0xfb04, "FFL", "Ffl"},
    {0xfb05, "ST", "St"},
    {0xfb06, "ST", "St"},
    {0xfb13, "\u0544\u0546", "\u0544\u0576"},
    {0xfb14, "\u0544\u0535", "\u0544\u0565"},
    {0xfb15, "\u0544\u053b", "\u0544\u056b"},
    {0xfb16, "\u054e\u0546", "\u054e\u0576"},
    {0xfb17, "\u0544\u053d", "\u0544\u056d"},
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
    if (point >= 0x1f80 && point < 0x1fb0) {  // Greek with an iota below, which goes beside it
      const char32_t block = (point & 0xf0) == 0x80   ? 0x1f08
                             : (point & 0xf0) == 0x90 ? 0x1f28
                                                      : 0x1f68;
      append_utf8(block + (point & 7), &out);
      out += "\u0399";
      return;
    }
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
    const std::string_view last = last_character(text.substr(0, i));
    i -= last.size();
    const char32_t c = decode(last);
    if (is_case_ignorable(c)) continue;
    after_letter = is_cased(c);
    break;
  }
  if (!after_letter) return false;
  for (i = at + utf8_length(text[at]); i < text.size(); i += utf8_length(text[i])) {
    const char32_t c = decode(text.substr(i));
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return true;
}

void append_lower(std::string_view text, size_t at, std::string& out) {
  const char32_t c = decode(text.substr(at));
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
bool is_digit(char32_t c) { return is_decimal(c) || is_in(kDigits, c); }
bool is_numeric(char32_t c) {
  const int of = category(c);
  return of == UTF8PROC_CATEGORY_ND || of == UTF8PROC_CATEGORY_NL || of == UTF8PROC_CATEGORY_NO ||
         std::binary_search(std::begin(kNumerals), std::end(kNumerals), c);
}
bool begins_name(char32_t c) {
  if (is_in(kNeverBegin, c) || is_in(kNeither, c)) return false;
  return c == '_' || is_alpha(c) || category(c) == UTF8PROC_CATEGORY_NL || is_in(kBegin, c);
}
bool continues_name(char32_t c) {
  const int of = category(c);
  return begins_name(c) || is_in(kContinue, c) ||
         (!is_in(kNeither, c) &&
          (of == UTF8PROC_CATEGORY_MN || of == UTF8PROC_CATEGORY_MC || of == UTF8PROC_CATEGORY_ND ||
           of == UTF8PROC_CATEGORY_PC || is_in(kNeverBegin, c)));
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
    append_upper(decode(text.substr(at)), out);
  return out;
}

std::string casefold(std::string_view text) {
  std::string out;
  for (const std::string_view character : characters_of(text)) {
    std::array<utf8proc_int32_t, 4> points = {};
    int ignored = 0;
    const auto n =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(decode(character)), points.data(),
                                points.size(), UTF8PROC_CASEFOLD, &ignored);
    for (int i = 0; i < static_cast<int>(n); ++i)
      append_utf8(static_cast<char32_t>(points[i]), &out);
  }
  return out;
}

std::string upper_first(std::string_view character) {
  std::string out;
  append_title(decode(character), out);
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
    const char32_t c = decode(text.substr(at));
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
    const char32_t c = decode(text.substr(at));
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

}  // namespace pando::jinja
