// Values as text: str() and repr() of Python.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "text/chat/jinja_call.h"
#include "text/chat/jinja_text.h"
#include "text/chat/jinja_value.h"
#include "text/utf8.h"

namespace pando::jinja {
namespace {

constexpr size_t kLongestText = size_t{64} << 20;

void check_length(const std::string& out) {
  if (out.size() > kLongestText)
    throw JinjaError{fmt::format("a string is longer than the limit of {} bytes", kLongestText), 0,
                     true};
}

void append_items(const std::vector<Value>& items, std::string& out) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(items[i], out);
    check_length(out);
  }
}

void append_dict_repr(const Dict& dict, std::string& out) {
  out += '{';
  for (size_t i = 0; i < dict.items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(dict.items[i].first, out);
    out += ": ";
    append_repr(dict.items[i].second, out);
    check_length(out);
  }
  out += '}';
}

void append_view_repr(const View& view, std::string& out) {
  out += view.of == ViewOf::kKeys     ? "dict_keys(["
         : view.of == ViewOf::kValues ? "dict_values(["
                                      : "dict_items([";
  const std::vector<Dict::Item>& items = view.dict.as<Dict>().items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    if (view.of == ViewOf::kItems) out += '(';
    if (view.of != ViewOf::kValues) append_repr(items[i].first, out);
    if (view.of == ViewOf::kItems) out += ", ";
    if (view.of != ViewOf::kKeys) append_repr(items[i].second, out);
    if (view.of == ViewOf::kItems) out += ')';
    check_length(out);
  }
  out += "])";
}

void append_namespace_repr(const Namespace& space, std::string& out) {
  static thread_local int depth = 0;  // a namespace may hold itself
  struct Deeper {
    Deeper() { ++depth; }
    ~Deeper() { --depth; }
  } deeper;
  if (depth > 20) fail("a namespace is nested too deeply to be printed");
  out += "<Namespace {";
  for (size_t i = 0; i < space.fields.size(); ++i) {
    if (i > 0) out += ", ";
    out += string_repr(space.fields[i].first) + ": ";
    append_repr(space.fields[i].second, out);
    check_length(out);
  }
  out += "}>";
}

}  // namespace

std::string float_text(double f) {
  if (std::isnan(f)) return "nan";
  if (std::isinf(f)) return f < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, f, std::chars_format::scientific);
  const std::string_view text(buffer, end);
  const size_t e = text.find('e');
  const int exponent = std::stoi(std::string(text.substr(e + 1)));
  std::string digits(text.substr(0, e));
  const std::string sign = digits.starts_with('-') ? "-" : "";
  if (!sign.empty()) digits.erase(0, 1);
  if (digits.size() > 1) digits.erase(1, 1);  // the point
  if (exponent < -4 || exponent >= 16) {
    const std::string fraction = digits.size() > 1 ? '.' + digits.substr(1) : "";
    return fmt::format("{}{}{}e{}{:02}", sign, digits[0], fraction, exponent < 0 ? '-' : '+',
                       std::abs(exponent));
  }
  if (exponent < 0) return sign + "0." + std::string(-exponent - 1, '0') + digits;
  const size_t whole = exponent + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string string_repr(std::string_view text) {
  const bool has_single = text.find('\'') != text.npos, has_double = text.find('"') != text.npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text.substr(at));
    const std::string_view character = text.substr(at, step.length);
    const uint32_t point = step.point;
    at += step.length;
    check_length(out);
    if (character[0] == quote || character[0] == '\\') {
      out += '\\';
      out += character;
    } else if (character[0] == '\n') {
      out += "\\n";
    } else if (character[0] == '\r') {
      out += "\\r";
    } else if (character[0] == '\t') {
      out += "\\t";
    } else if (is_printable(point)) {
      out += character;
    } else {
      out += point < 0x100     ? fmt::format("\\x{:02x}", point)
             : point < 0x10000 ? fmt::format("\\u{:04x}", point)
                               : fmt::format("\\U{:08x}", point);
    }
  }
  return out + quote;
}

void append_repr(const Value& v, std::string& out) {
  switch (v.kind()) {
    case Kind::kString:
      out += v.is_markup() ? "Markup(" + string_repr(text_of(v)) + ")" : string_repr(text_of(v));
      break;
    case Kind::kList:
      out += '[';
      append_items(v.as<List>().items, out);
      out += ']';
      break;
    case Kind::kTuple:
      out += '(';
      append_items(v.as<List>().items, out);
      out += v.as<List>().items.size() == 1 ? ",)" : ")";
      break;
    case Kind::kDict:
      append_dict_repr(v.as<Dict>(), out);
      break;
    case Kind::kView:
      append_view_repr(v.as<View>(), out);
      break;
    case Kind::kUndefined:
    case Kind::kMissing:
      out += "Undefined";
      break;
    default:
      out += to_text(v);
  }
  check_length(out);
}

std::string to_repr(const Value& v) {
  std::string out;
  append_repr(v, out);
  return out;
}

std::string short_repr(const Value& v) {
  constexpr size_t kMost = 100;
  if (v.is(Kind::kString) && text_of(v).size() > kMost)
    return string_repr(points_between(text_of(v), 0, kMost / 4)) + "...";
  const bool is_short = v.is(Kind::kString) || v.is_number() || v.is(Kind::kNone);
  return is_short ? to_repr(v) : fmt::format("of type '{}'", type_name(v));
}

std::string to_text(const Value& v) {
  switch (v.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "";
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return v.integer() != 0 ? "True" : "False";
    case Kind::kInt:
      return std::to_string(v.integer());
    case Kind::kFloat:
      return float_text(v.as_double());
    case Kind::kString:
    case Kind::kLarge:
      return text_of(v);
    case Kind::kRange: {
      const Range& range = v.as<Range>();
      return range.step == 1
                 ? fmt::format("range({}, {})", range.start, range.stop)
                 : fmt::format("range({}, {}, {})", range.start, range.stop, range.step);
    }
    case Kind::kNamespace: {
      std::string out;
      append_namespace_repr(v.as<Namespace>(), out);
      return out;
    }
    case Kind::kLoop:
    case Kind::kCallable:
      return describe_callable(v);
    case Kind::kIterator:
    case Kind::kObject:
      // Python prints an address.
      fail(fmt::format("a value of type '{}' is printed, which has no fixed text", type_name(v)));
    default:
      return to_repr(v);
  }
}

}  // namespace pando::jinja
