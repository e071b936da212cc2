// Tests behind `is`.
#include <fmt/format.h>

#include <algorithm>

#include "text/chat/jinja_eval.h"
#include "text/chat/jinja_text.h"

namespace pando::jinja {
namespace {

using TestArgs = const CallArgs&;

template <bool (*holds)(const Value&)>
bool test_alone(Evaluator&, const Value& of, TestArgs args) {
  const Bound none("the test", args, {});
  return holds(of);
}

template <bool (*holds)(const Value&, const Value&, Budget*)>
bool test_with(Evaluator& in, const Value& of, TestArgs args) {
  const Bound bound("the test", args, {"other"}, 1);
  return holds(of, bound[0], in.budget());
}

bool test_remainder(Evaluator& in, const Value& of, TestArgs args, int64_t by, int64_t remainder) {
  const Bound none("the test", args, {});
  return equal(in.binary(ExprKind::kModulo, of, Value::integer(by)), Value::integer(remainder),
               in.budget());
}
bool test_odd(Evaluator& in, const Value& of, TestArgs args) {
  return test_remainder(in, of, args, 2, 1);
}
bool test_even(Evaluator& in, const Value& of, TestArgs args) {
  return test_remainder(in, of, args, 2, 0);
}
bool test_divisibleby(Evaluator& in, const Value& of, TestArgs args) {
  const Bound bound("'divisibleby'", args, {"num"}, 1);
  return equal(in.binary(ExprKind::kModulo, of, bound[0]), Value::integer(0), in.budget());
}
bool test_in(Evaluator& in, const Value& of, TestArgs args) {
  const Bound bound("'in'", args, {"seq"}, 1);
  return in.contains(bound[0], of);
}
bool test_filter(Evaluator&, const Value& of, TestArgs args) {
  const Bound none("'filter'", args, {});
  return of.is(Kind::kString) && find_filter(text_of(of)) != nullptr;
}
bool test_test(Evaluator&, const Value& of, TestArgs args) {
  const Bound none("'test'", args, {});
  return of.is(Kind::kString) && find_test(text_of(of)) != nullptr;
}

bool is_defined(const Value& v) { return !v.undefined(); }
bool is_undefined(const Value& v) { return v.undefined(); }
bool is_none(const Value& v) { return v.is(Kind::kNone); }
bool is_boolean(const Value& v) { return v.is(Kind::kBool); }
bool is_true(const Value& v) { return v.is(Kind::kBool) && v.integer() != 0; }
bool is_false(const Value& v) { return v.is(Kind::kBool) && v.integer() == 0; }
bool is_integer(const Value& v) { return v.is(Kind::kInt) || v.is(Kind::kLarge); }
bool is_float(const Value& v) { return v.is(Kind::kFloat); }
bool is_number(const Value& v) { return v.is_number() || v.is(Kind::kLarge); }
bool is_string(const Value& v) { return v.is(Kind::kString); }
bool is_mapping(const Value& v) { return v.is(Kind::kDict); }
bool is_escaped(const Value& v) { return v.is_markup(); }
bool is_sequence(const Value& v) {
  return v.undefined() || v.is(Kind::kString) || v.is_list_like() || v.is(Kind::kDict) ||
         v.is(Kind::kRange);
}
bool is_iterable(const Value& v) {
  return is_sequence(v) || v.is(Kind::kView) || v.is(Kind::kIterator) || v.is(Kind::kLoop);
}
bool is_callable(const Value& v) {
  return v.undefined() || v.is(Kind::kCallable) || v.is(Kind::kLoop);
}

// str.islower() and isupper(): a letter of that case and none of another.
template <bool (*wanted)(char32_t), bool (*other)(char32_t)>
bool test_case(Evaluator& in, const Value& of, TestArgs args) {
  const Bound none("the test", args, {});
  bool found = false;
  const std::string text = in.printed(of);
  in.walk(text.size());
  for (const std::string_view c : characters_of(text)) {
    const char32_t point = decode(c);
    if (other(point) || is_title(point)) return false;
    found = found || wanted(point);
  }
  return found;
}

bool same(const Value& a, const Value& b, Budget* budget) {
  if (a.kind() != b.kind()) return false;
  // Python keeps one of each of these.
  if (a.is(Kind::kNone) || a.is(Kind::kBool) || a.is(Kind::kInt) || a.is(Kind::kString))
    return equal(a, b, budget) && a.is_markup() == b.is_markup();
  return a.same_object(b);
}
bool not_equal(const Value& a, const Value& b, Budget* budget) { return !equal(a, b, budget); }
bool is_less(const Value& a, const Value& b, Budget* budget) { return less(a, b, budget, "<"); }
bool is_less_or_equal(const Value& a, const Value& b, Budget* budget) {
  return less_or_equal(a, b, budget, "<=");
}
bool is_greater(const Value& a, const Value& b, Budget* budget) { return less(b, a, budget, ">"); }
bool is_greater_or_equal(const Value& a, const Value& b, Budget* budget) {
  return less_or_equal(b, a, budget, ">=");
}

constexpr TestEntry kTests[] = {
    {"!=", test_with<not_equal>},
    {"<", test_with<is_less>},
    {"<=", test_with<is_less_or_equal>},
    {"==", test_with<equal>},
    {">", test_with<is_greater>},
    {">=", test_with<is_greater_or_equal>},
    {"boolean", test_alone<is_boolean>},
    {"callable", test_alone<is_callable>},
    {"defined", test_alone<is_defined>},
    {"divisibleby", test_divisibleby},
    {"eq", test_with<equal>},
    {"equalto", test_with<equal>},
    {"escaped", test_alone<is_escaped>},
    {"even", test_even},
    {"false", test_alone<is_false>},
    {"filter", test_filter},
    {"float", test_alone<is_float>},
    {"ge", test_with<is_greater_or_equal>},
    {"greaterthan", test_with<is_greater>},
    {"gt", test_with<is_greater>},
    {"in", test_in},
    {"integer", test_alone<is_integer>},
    {"iterable", test_alone<is_iterable>},
    {"le", test_with<is_less_or_equal>},
    {"lessthan", test_with<is_less>},
    {"lower", test_case<is_lower, is_upper>},
    {"lt", test_with<is_less>},
    {"mapping", test_alone<is_mapping>},
    {"ne", test_with<not_equal>},
    {"none", test_alone<is_none>},
    {"number", test_alone<is_number>},
    {"odd", test_odd},
    {"sameas", test_with<same>},
    {"sequence", test_alone<is_sequence>},
    {"string", test_alone<is_string>},
    {"test", test_test},
    {"true", test_alone<is_true>},
    {"undefined", test_alone<is_undefined>},
    {"upper", test_case<is_upper, is_lower>},
};

}  // namespace

const TestEntry* find_test(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [&](const TestEntry& test) { return test.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

std::vector<std::string_view> test_names() {
  std::vector<std::string_view> names;
  for (const TestEntry& test : kTests) names.push_back(test.name);
  return names;
}

}  // namespace pando::jinja
