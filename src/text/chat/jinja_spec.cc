// Numbers and texts in fields of a format.
#include "text/chat/jinja_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/chat/jinja_text.h"
#include "text/chat/jinja_value.h"

namespace pando::jinja {
namespace {

std::string grouped(std::string_view digits, char separator, size_t each) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % each == 0) out += separator;
    out += digits[i];
  }
  return out;
}

// Zeros before the number up to the width, with separators among them.
std::string zero_padded(const FormatSpec& spec, std::string_view sign, std::string body) {
  if (spec.grouping == '\0') return padded(spec, sign, body, '>');
  const bool is_binary =
      spec.type != '\0' && std::string_view("xXob").find(spec.type) != std::string_view::npos;
  const size_t each = is_binary ? 4 : 3;
  const size_t end = std::min(
      body.find_first_not_of(is_binary ? "0123456789abcdefABCDEF" : "0123456789"), body.size());
  if (end == 0) return padded(spec, sign, body, '>');  // no number
  std::string whole = body.substr(0, end);
  const std::string rest = body.substr(end);
  if (spec.fill == "0" && spec.align == '=') {
    const int64_t room = spec.width - static_cast<int64_t>(sign.size() + rest.size());
    size_t n = std::max<size_t>(whole.size(), 1);
    while (static_cast<int64_t>(n + (n - 1) / each) < room) ++n;
    whole.insert(0, n - whole.size(), '0');
    return std::string(sign) + grouped(whole, spec.grouping, each) + rest;
  }
  return padded(spec, sign, grouped(whole, spec.grouping, each) + rest, '>');
}

// The digits of a float that is not negative.
std::string float_body(double value, const FormatSpec& spec) {
  const bool capital = spec.type == 'F' || spec.type == 'E' || spec.type == 'G';
  if (!std::isfinite(value))
    return std::isnan(value) ? (capital ? "NAN" : "nan") : (capital ? "INF" : "inf");
  const int precision = static_cast<int>(spec.precision.value_or(6));
  switch (spec.type) {
    case 'f':
    case 'F':
      return spec.alternate ? fmt::format("{:#.{}f}", value, precision)
                            : fmt::format("{:.{}f}", value, precision);
    case '%':
      return fmt::format("{:.{}f}%", value * 100, precision);
    case 'e':
    case 'E': {
      std::string out = fmt::format("{:.{}e}", value, precision);
      return capital ? upper(out) : out;
    }
    case 'g':
    case 'G':
    case 'n': {
      std::string out = spec.alternate ? fmt::format("{:#.{}g}", value, std::max(precision, 1))
                                       : fmt::format("{:.{}g}", value, std::max(precision, 1));
      return capital ? upper(out) : out;
    }
    default:
      break;
  }
  if (!spec.precision) return float_text(value);
  // Like 'g', but changes to an exponent one digit sooner, and has at least one digit behind the
  // point.
  const int digits = std::max(precision, 1);
  const std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  const size_t e = scientific.find('e');
  const int exponent = std::stoi(scientific.substr(e + 1));
  std::string out;
  if (value == 0 || (exponent >= -4 && exponent < digits - 1)) {
    out = fmt::format("{:.{}g}", value, digits);
    return out.find('.') == std::string::npos ? out + ".0" : out;
  }
  if (exponent < -4 || exponent >= digits) return fmt::format("{:.{}g}", value, digits);
  out = scientific.substr(0, e);
  if (out.find('.') != std::string::npos) {
    out.erase(out.find_last_not_of('0') + 1);
    if (out.ends_with('.')) out.pop_back();
  }
  return out + scientific.substr(e);
}

}  // namespace

std::string padded(const FormatSpec& spec, std::string_view sign, const std::string& body,
                   char default_align) {
  const int64_t n = static_cast<int64_t>(sign.size() + count_points(body));
  const int64_t lacks = std::max<int64_t>(spec.width - n, 0);
  const char align = spec.align != '\0' ? spec.align : default_align;
  const int64_t before = align == '<' ? 0 : align == '^' ? lacks / 2 : lacks;
  const auto filled = [&](int64_t times) {
    if (spec.fill.size() == 1) return std::string(times, spec.fill[0]);
    std::string out;
    for (int64_t i = 0; i < times; ++i) out += spec.fill;
    return out;
  };
  const std::string left = filled(before), right = filled(lacks - before);
  return align == '=' ? std::string(sign) + left + body : left + std::string(sign) + body + right;
}

std::string_view sign_text(bool negative, char wanted) {
  return negative ? "-" : wanted == '+' ? "+" : wanted == ' ' ? " " : "";
}

std::string digits_of(uint64_t value, char type) {
  switch (type) {
    case 'x':
      return fmt::format("{:x}", value);
    case 'X':
      return fmt::format("{:X}", value);
    case 'o':
      return fmt::format("{:o}", value);
    case 'b':
      return fmt::format("{:b}", value);
    default:
      return fmt::format("{}", value);
  }
}

std::string integer_text(int64_t value, const FormatSpec& spec) {
  const bool negative = value < 0;
  const uint64_t size = negative ? uint64_t{0} - static_cast<uint64_t>(value) : value;
  std::string sign(sign_text(negative, spec.sign));
  if (spec.alternate && std::string_view("xXob").find(spec.type) != std::string_view::npos &&
      spec.type != '\0')
    sign += std::string("0") + spec.type;
  return zero_padded(spec, sign, digits_of(size, spec.type));
}

std::string float_spec_text(double value, const FormatSpec& spec) {
  const bool negative = std::signbit(value) && !std::isnan(value);
  return zero_padded(spec, sign_text(negative, spec.sign), float_body(std::abs(value), spec));
}

int64_t read_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = value * 10 + (text[at++] - '0');
    if (value > kWidestField)
      fail(fmt::format("a format has a width or precision over {}", kWidestField));
  }
  return value;
}

}  // namespace pando::jinja
