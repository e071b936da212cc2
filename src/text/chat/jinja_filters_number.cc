// Filters that make a number.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/chat/jinja_eval.h"
#include "text/chat/jinja_numbers.h"
#include "text/chat/jinja_text.h"

namespace pando::jinja {
namespace {

Value whole(double value) {
  if (!(std::abs(value) < 0x1p63)) fail("a number has more than 64 bits");
  return Value::integer(static_cast<int64_t>(value));
}

Value filter_int(Evaluator&, const Value& of, const CallArgs& args) {
  const Bound bound("'int'", args, {"default", "base"});
  const Value otherwise = bound.has(0) ? bound[0] : Value::integer(0);
  demand_defined(of);
  if (of.is(Kind::kLarge)) return of;
  if (of.is_integral()) return Value::integer(of.integer());
  std::optional<double> value;
  if (of.is(Kind::kString)) {
    const int64_t base = bound.integer(1, 10);
    if (base == 0 || (base >= 2 && base <= 36))
      if (const auto n = parse_integer(text_of(of), static_cast<int>(base)))
        return Value::integer(*n);
    value = parse_float(text_of(of));
  } else if (of.is(Kind::kFloat)) {
    value = of.as_double();
  }
  return value && std::isfinite(*value) ? whole(*value) : otherwise;
}

Value filter_float(Evaluator&, const Value& of, const CallArgs& args) {
  const Bound bound("'float'", args, {"default"});
  const Value otherwise = bound.has(0) ? bound[0] : Value::real(0);
  demand_defined(of);
  if (of.is_number()) return Value::real(of.as_double());
  const std::optional<double> value =
      of.is(Kind::kString) || of.is(Kind::kLarge) ? parse_float(text_of(of)) : std::nullopt;
  return value ? Value::real(*value) : otherwise;
}

Value filter_abs(Evaluator&, const Value& of, const CallArgs& args) {
  const Bound none("'abs'", args, {});
  demand_defined(of);
  demand_small(of);
  if (of.is(Kind::kFloat)) return Value::real(std::abs(of.as_double()));
  if (!of.is_integral()) fail(fmt::format("bad operand type for abs(): '{}'", type_name(of)));
  if (of.integer() == INT64_MIN) fail("a number has more than 64 bits");
  return Value::integer(std::abs(of.integer()));
}

Value filter_round(Evaluator&, const Value& of, const CallArgs& args) {
  const Bound bound("'round'", args, {"precision", "method"});
  const std::string method = bound.has(1) ? to_text(bound[1]) : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    fail(fmt::format("'round' has the method '{}', expected 'common', 'ceil' or 'floor'", method));
  demand_defined(of);
  demand_small(of);
  if (!of.is_number()) fail(fmt::format("type {} cannot be rounded", type_name(of)));
  const int64_t precision = bound.integer(0, 0);
  if (method == "common") {
    if (of.is_integral() && precision >= 0) return Value::integer(of.integer());
    const double out = rounded(of.as_double(), precision);
    return of.is_integral() ? whole(out) : Value::real(out);
  }
  if (std::abs(precision) > 300) fail("'round' is given a precision beyond 300");
  const double scale = std::pow(10.0, static_cast<double>(std::abs(precision)));
  const double scaled = precision >= 0 ? of.as_double() * scale : of.as_double() / scale;
  if (!std::isfinite(scaled)) fail("'round' is given a number that cannot be rounded");
  const double cut = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  return Value::real((precision >= 0 ? cut / scale : cut * scale) + 0.0);
}

Value filter_filesizeformat(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'filesizeformat'", args, {"binary"});
  const bool binary = bound.flag(0, false);
  demand_defined(of);
  demand_small(of);
  const std::optional<double> n = of.is_number()         ? std::optional(of.as_double())
                                  : of.is(Kind::kString) ? parse_float(text_of(of))
                                                         : std::nullopt;
  if (!n) fail("'filesizeformat' is given a value that is not a number");
  const double base = binary ? 1024 : 1000;
  if (*n == 1) return in.text("1 Byte");
  if (*n < base) return in.text(fmt::format("{:.0f} Bytes", std::trunc(*n)));
  constexpr const char* kPrefixes[] = {"k", "M", "G", "T", "P", "E", "Z", "Y"};
  double unit = base;
  size_t i = 0;
  for (; i < std::size(kPrefixes); ++i) {
    unit *= base;
    if (*n < unit) break;
  }
  i = std::min(i, std::size(kPrefixes) - 1);
  const std::string prefix =
      binary && i == 0 ? "Ki" : kPrefixes[i] + std::string(binary ? "i" : "");
  return in.text(fmt::format("{:.1f} {}B", base * *n / unit, prefix));
}

// Digits with single underscores between them, without these; nothing if they stand wrong.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() ||
               !std::isalnum(static_cast<unsigned char>(text[i - 1])) ||
               !std::isalnum(static_cast<unsigned char>(text[i + 1]))) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text, int base) {
  text = strip_space(text, Side::kBoth);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const char mark = text.size() > 2 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  const int marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  if (marked != 0 && (base == 0 || base == marked)) {
    text.remove_prefix(text[2] == '_' ? 3 : 2);
    base = marked;
  } else if (base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != text.npos)
      return std::nullopt;
  }
  const std::optional<std::string> digits = without_underscores(text);
  if (!digits || digits->empty() || !std::isalnum(static_cast<unsigned char>((*digits)[0])))
    return std::nullopt;
  uint64_t value = 0;
  const char* end = digits->data() + digits->size();
  const auto [at, error] = std::from_chars(digits->data(), end, value, base);
  if (at != end) return std::nullopt;
  if (error != std::errc() || value > (uint64_t{1} << 63) - (negative ? 0 : 1))
    fail("a number has more than 64 bits");
  return static_cast<int64_t>(negative ? uint64_t{0} - value : value);
}

std::optional<double> parse_float(std::string_view text) {
  text = strip_space(text, Side::kBoth);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::string lowered = lower(text);
  const double sign = negative ? -1 : 1;
  if (lowered == "inf" || lowered == "infinity") return sign * INFINITY;
  if (lowered == "nan") return NAN;
  const std::optional<std::string> digits = without_underscores(lowered);
  if (!digits || digits->empty() ||
      digits->find_first_not_of("0123456789.e+-") != std::string::npos)
    return std::nullopt;
  if (!std::isdigit(static_cast<unsigned char>((*digits)[0])) && (*digits)[0] != '.')
    return std::nullopt;
  double value = 0;
  const char* end = digits->data() + digits->size();
  const auto [at, error] = std::from_chars(digits->data(), end, value);
  if (at != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) value = std::strtod(digits->c_str(), nullptr);
  return sign * value;
}

double rounded(double value, int64_t precision) {
  if (!std::isfinite(value) || precision > 330) return value;
  if (precision < -310) return 0;
  if (precision >= 0)
    return std::strtod(fmt::format("{:.{}f}", value, static_cast<int>(precision)).c_str(), nullptr);
  const double scale = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(value / scale) * scale;
}

std::vector<FilterEntry> number_filters() {
  return {{"abs", filter_abs},
          {"filesizeformat", filter_filesizeformat},
          {"float", filter_float},
          {"int", filter_int},
          {"round", filter_round}};
}

}  // namespace pando::jinja
