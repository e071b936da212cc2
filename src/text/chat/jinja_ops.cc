// Operators, attributes, items and slices, as Python and Jinja's sandbox have them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/chat/jinja_guard.h"
#include "text/chat/jinja_text.h"

namespace pando::jinja {
namespace {

[[noreturn]] void too_large() { fail("a number has more than 64 bits"); }

const char* sign_of(ExprKind op) {
  switch (op) {
    case ExprKind::kAdd:
      return "+";
    case ExprKind::kSubtract:
      return "-";
    case ExprKind::kMultiply:
      return "*";
    case ExprKind::kDivide:
      return "/";
    case ExprKind::kFloorDivide:
      return "//";
    case ExprKind::kModulo:
      return "%";
    default:
      return "** or pow()";
  }
}

[[noreturn]] void wrong_types(ExprKind op, const Value& a, const Value& b) {
  fail(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", sign_of(op), type_name(a),
                   type_name(b)));
}

int64_t integer_power(int64_t base, int64_t exponent) {
  int64_t out = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(out, base, &out)) too_large();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) too_large();
  }
  return out;
}

Value integer_operation(ExprKind op, int64_t a, int64_t b) {
  int64_t out = 0;
  bool over = false;
  switch (op) {
    case ExprKind::kAdd:
      over = __builtin_add_overflow(a, b, &out);
      break;
    case ExprKind::kSubtract:
      over = __builtin_sub_overflow(a, b, &out);
      break;
    case ExprKind::kMultiply:
      over = __builtin_mul_overflow(a, b, &out);
      break;
    case ExprKind::kDivide:
      if (b == 0) fail("division by zero");
      return Value::real(static_cast<double>(static_cast<long double>(a) / b));
    case ExprKind::kFloorDivide:
      if (b == 0) fail("integer division or modulo by zero");
      if (b == -1) return integer_operation(ExprKind::kSubtract, 0, a);
      out = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
      break;
    case ExprKind::kModulo:
      if (b == 0) fail("integer modulo by zero");
      if (b == -1) return Value::integer(0);
      out = a % b;
      if (out != 0 && (out < 0) != (b < 0)) out += b;
      break;
    default:
      if (b >= 0) return Value::integer(integer_power(a, b));
      if (a == 0) fail("0.0 cannot be raised to a negative power");
      return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
  if (over) too_large();
  return Value::integer(out);
}

double float_modulo(double a, double b) {
  if (b == 0) fail("float modulo");
  double out = std::fmod(a, b);
  if (out != 0 && (out < 0) != (b < 0)) out += b;
  return out == 0 ? std::copysign(0.0, b) : out;
}

double float_floor_divide(double a, double b) {
  if (b == 0) fail("float floor division by zero");
  const double mod = float_modulo(a, b);
  const double div = (a - mod) / b;
  if (div == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(div);
  return div - floored > 0.5 ? floored + 1 : floored;
}

double float_power(double a, double b) {
  if (a == 0 && b < 0) fail("0.0 cannot be raised to a negative power");
  if (a < 0 && b != std::floor(b)) fail("complex numbers are not supported");
  const double out = std::pow(a, b);
  if (std::isinf(out) && std::isfinite(a) && std::isfinite(b)) fail("a number is too large");
  return out;
}

Value float_operation(ExprKind op, double a, double b) {
  switch (op) {
    case ExprKind::kAdd:
      return Value::real(a + b);
    case ExprKind::kSubtract:
      return Value::real(a - b);
    case ExprKind::kMultiply:
      return Value::real(a * b);
    case ExprKind::kDivide:
      if (b == 0) fail("float division by zero");
      return Value::real(a / b);
    case ExprKind::kFloorDivide:
      return Value::real(float_floor_divide(a, b));
    case ExprKind::kModulo:
      return Value::real(float_modulo(a, b));
    default:
      return Value::real(float_power(a, b));
  }
}

Value repeat(Evaluator& in, const Value& what, int64_t times) {
  const size_t n = static_cast<size_t>(std::max<int64_t>(times, 0));
  const size_t size =
      what.is(Kind::kString) ? text_of(what).size() : what.as<List>().items.size() * sizeof(Value);
  if (size > 0 && n > in.most_bytes() / size)
    throw JinjaError{fmt::format("a value is longer than the limit of {} bytes", in.most_bytes()),
                     0, true};
  in.step(n * size / 256);
  if (what.is(Kind::kString)) {
    std::string out;
    out.reserve(n * size);
    for (size_t i = 0; i < n && size > 0; ++i) out += text_of(what);
    return in.text_like(what, std::move(out));
  }
  std::vector<Value> out;
  for (size_t i = 0; i < n && size > 0; ++i)
    out.insert(out.end(), what.as<List>().items.begin(), what.as<List>().items.end());
  return in.list(std::move(out), what.kind());
}

bool can_repeat(const Value& v) { return v.is(Kind::kString) || v.is_list_like(); }

std::string undefined_attribute(const Value& of, const Value& name) {
  if (name.is(Kind::kString))
    return fmt::format("'{} object' has no attribute {}", type_name(of), short_repr(name));
  return fmt::format("{} object has no element {}", type_name(of), short_repr(name));
}

// Names that the sandbox hides, or that would change a value.
bool is_unsafe(const Value& of, std::string_view name) {
  static constexpr std::string_view kOfLists[] = {"append", "clear", "pop",    "reverse",
                                                  "insert", "sort",  "extend", "remove"};
  static constexpr std::string_view kOfDicts[] = {"clear", "pop", "popitem", "setdefault",
                                                  "update"};
  const auto is_one = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return (of.is(Kind::kList) && is_one(kOfLists)) || (of.is(Kind::kDict) && is_one(kOfDicts));
}

Value unsafe_attribute(const Value& of, std::string_view name) {
  return make_undefined(
      fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(of)));
}

// obj[key] of Python; missing where it raises a TypeError or a LookupError.
Value subscript(Evaluator& in, const Value& of, const Value& key) {
  demand_defined(of);
  if (of.is(Kind::kDict)) {
    if (!hashable(key)) return Value();
    const Value* found = of.as<Dict>().find(key, in.budget());
    return found != nullptr ? *found : Value();
  }
  if (!key.is_integral()) return Value();
  int64_t i = key.integer();
  const bool indexed = of.is(Kind::kString) || of.is_list_like() || of.is(Kind::kRange);
  const int64_t n = indexed ? length_of(of) : 0;
  if (i < 0) i += n;
  if (!indexed || i < 0 || i >= n) return Value();
  if (of.is_list_like()) return of.as<List>().items[i];
  if (of.is(Kind::kRange)) return Value::integer(of.as<Range>().at(i));
  const Str& string = of.as<Str>();
  if (string.ascii()) return in.text_like(of, string.text.substr(i, 1));
  in.scan(string.text.size());
  return in.text_like(of, std::string(points_between(string.text, i, i + 1)));
}

struct Bounds {
  int64_t start, stop, step, count;
};

// Python's slice.indices().
Bounds bounds_of(int64_t n, const Value& begin, const Value& end, const Value& by) {
  const int64_t step = by.is(Kind::kNone) ? 1 : index_of_value(by);
  if (step == 0) fail("slice step cannot be zero");
  const auto clip = [&](const Value& v, int64_t otherwise) {
    if (v.is(Kind::kNone)) return otherwise;
    int64_t i = index_of_value(v);
    if (i < 0) i = std::max(i + n, step < 0 ? int64_t{-1} : int64_t{0});
    return std::min(i, step < 0 ? n - 1 : n);
  };
  const int64_t start = clip(begin, step < 0 ? n - 1 : 0);
  const int64_t stop = clip(end, step < 0 ? -1 : n);
  const uint64_t stride = step < 0 ? uint64_t{0} - static_cast<uint64_t>(step) : step;
  const int64_t span = step < 0 ? start - stop : stop - start;
  return {start, stop, step, span > 0 ? static_cast<int64_t>((span - 1) / stride + 1) : 0};
}

}  // namespace

void demand_defined(const Value& v) {
  if (v.undefined()) fail(v.as<UndefinedInfo>().message);
}

void demand_small(const Value& v) {
  if (v.is(Kind::kLarge)) too_large();
}

int64_t index_of_value(const Value& v) {
  demand_defined(v);
  demand_small(v);
  if (!v.is_integral())
    fail(fmt::format("'{}' object cannot be interpreted as an integer", type_name(v)));
  return v.integer();
}

void set_field(Namespace& space, const std::string& name, Value value) {
  if (name.starts_with('_'))
    fail(fmt::format("a field of a namespace is named '{}', expected no leading underscore", name));
  if (Value* found = space.find(name)) {
    *found = std::move(value);
  } else {
    if (space.fields.size() >= 10000) fail("a namespace has more than 10000 fields");
    space.fields.emplace_back(name, std::move(value));
  }
}

Value Evaluator::add(const Value& a, const Value& b) {
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    const bool markup = a.is_markup() || b.is_markup();
    const auto part = [&](const Value& v) {
      return markup && !v.is_markup() ? escape_html(text_of(v)) : text_of(v);
    };
    return text(part(a) + part(b), markup);
  }
  if (!a.is_list_like() || a.kind() != b.kind()) wrong_types(ExprKind::kAdd, a, b);
  std::vector<Value> items = a.as<List>().items;
  items.insert(items.end(), b.as<List>().items.begin(), b.as<List>().items.end());
  return list(std::move(items), a.kind());
}

Value Evaluator::binary(ExprKind op, const Value& a, const Value& b) {
  if (op == ExprKind::kModulo && a.is(Kind::kString)) return percent_format(*this, a, b);
  for (const Value* one : {&a, &b}) {
    demand_defined(*one);
    demand_small(*one);
  }
  if (a.is_integral() && b.is_integral()) return integer_operation(op, a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return float_operation(op, a.as_double(), b.as_double());
  if (op == ExprKind::kAdd) return add(a, b);
  if (op == ExprKind::kMultiply && can_repeat(a) && b.is_integral())
    return repeat(*this, a, b.integer());
  if (op == ExprKind::kMultiply && can_repeat(b) && a.is_integral())
    return repeat(*this, b, a.integer());
  wrong_types(op, a, b);
}

Value Evaluator::attribute(const Value& of, const Value& name) {
  const std::string& text = text_of(name);
  demand_defined(of);
  if (is_unsafe(of, text)) return unsafe_attribute(of, text);
  Value found = find_method(*this, of, text);
  if (found.missing()) found = subscript(*this, of, name);
  return found.missing() ? make_undefined(undefined_attribute(of, name)) : found;
}

Value Evaluator::item(const Value& of, const Value& key) {
  Value found = subscript(*this, of, key);
  if (!found.missing()) return found;
  if (key.is(Kind::kString)) {
    if (is_unsafe(of, text_of(key))) return unsafe_attribute(of, text_of(key));
    found = find_method(*this, of, text_of(key));
  }
  return found.missing() ? make_undefined(undefined_attribute(of, key)) : found;
}

Value Evaluator::slice(const Value& of, const Value& begin, const Value& end, const Value& by) {
  demand_defined(of);
  if (!of.is(Kind::kString) && !of.is_list_like() && !of.is(Kind::kRange))
    fail(of.is(Kind::kDict) ? "unhashable type: 'slice'"
                            : fmt::format("'{}' object is not subscriptable", type_name(of)));
  const Bounds bounds = bounds_of(length_of(of), begin, end, by);
  step(bounds.count / 16);
  if (of.is(Kind::kRange)) {
    const Range& range = of.as<Range>();
    const Ref<Range> part = make_ref<Range>();
    const auto item = [&](int64_t i, int64_t& out) {
      const __int128 at = range.start + static_cast<__int128>(i) * range.step;
      if (at < INT64_MIN || at > INT64_MAX) too_large();
      out = static_cast<int64_t>(at);
    };
    item(bounds.start, part->start);
    item(bounds.stop, part->stop);
    if (__builtin_mul_overflow(range.step, bounds.step, &part->step)) too_large();
    return Value::of(Kind::kRange, part);
  }
  if (of.is_list_like()) {
    std::vector<Value> items;
    for (int64_t i = 0; i < bounds.count; ++i)
      items.push_back(of.as<List>().items[bounds.start + i * bounds.step]);
    return list(std::move(items), of.kind());
  }
  const Str& string = of.as<Str>();
  if (!string.ascii()) scan(string.text.size());
  if (bounds.step == 1)
    return text_like(
        of,
        std::string(string.ascii()
                        ? std::string_view(string.text)
                              .substr(std::min<size_t>(bounds.start, string.length), bounds.count)
                        : points_between(string.text, bounds.start, bounds.start + bounds.count)));
  walk(string.text.size());
  return text_like(of, every_nth(string.text, bounds.start, bounds.step, bounds.count));
}

}  // namespace pando::jinja
