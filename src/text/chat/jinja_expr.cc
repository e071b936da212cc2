// Expressions: names, calls, filters, tests, comparisons.
#include <fmt/format.h>

#include <algorithm>

#include "text/chat/jinja_guard.h"
#include "text/chat/jinja_text.h"

namespace pando::jinja {
namespace {

// True if Jinja2 can write the value as a constant of its compiled code.
bool is_literal(const Value& v) {
  if (v.is_list_like())
    return std::all_of(v.as<List>().items.begin(), v.as<List>().items.end(), is_literal);
  if (v.is(Kind::kDict))
    return std::all_of(v.as<Dict>().items.begin(), v.as<Dict>().items.end(), [](const auto& item) {
      return is_literal(item.first) && is_literal(item.second);
    });
  return v.is(Kind::kNone) || v.is_number() || v.is(Kind::kString) || v.is(Kind::kRange);
}

[[noreturn]] void fail_to_fold() { fail("the value depends on a rendering"); }

}  // namespace

Value Evaluator::fold(const Expr& expr) {
  if (is_folding_) return Value();
  is_folding_ = true;
  Value value;
  try {
    value = compute(expr, Ref<Frame>());
  } catch (const JinjaError& error) {
    is_folding_ = false;
    if (error.is_limit) throw;
  }
  is_folding_ = false;
  return value;
}

Value Evaluator::eval(const Expr& expr, const Ref<Frame>& frame) {
  if (expr.folds)
    if (Value value = fold(expr); !value.missing() && is_literal(value)) return value;
  return compute(expr, frame);
}

Value Evaluator::compute(const Expr& expr, const Ref<Frame>& frame) {
  const Deeper deeper(*this);
  step();
  line_ = expr.line;
  switch (expr.kind) {
    case ExprKind::kConst:
      return expr.value;
    case ExprKind::kName:
      return eval_name(expr, frame);
    case ExprKind::kList:
      return list(eval_all(expr.items, frame));
    case ExprKind::kTuple:
      return list(eval_all(expr.items, frame), Kind::kTuple);
    case ExprKind::kDict:
      return eval_dict(expr, frame);
    case ExprKind::kAttr:
      return attribute(eval(*expr.items[0], frame), expr.value);
    case ExprKind::kItem: {
      const Value of = eval(*expr.items[0], frame);
      const Value key = eval(*expr.items[1], frame);
      line_ = expr.line;
      return item(of, key);
    }
    case ExprKind::kSlice:
      return eval_slice(expr, frame);
    case ExprKind::kCall:
      return eval_call(expr, frame);
    case ExprKind::kFilter:
      return eval_filter(expr, frame, nullptr);
    case ExprKind::kTest:
      return eval_test(expr, frame);
    case ExprKind::kNot:
    case ExprKind::kNegative:
    case ExprKind::kPositive:
      return eval_unary(expr, frame);
    case ExprKind::kConcat:
      return eval_concat(expr, frame);
    case ExprKind::kAnd: {
      Value left = eval(*expr.items[0], frame);
      return truth(left) ? eval(*expr.items[1], frame) : left;
    }
    case ExprKind::kOr: {
      Value left = eval(*expr.items[0], frame);
      return truth(left) ? left : eval(*expr.items[1], frame);
    }
    case ExprKind::kCompare:
      return eval_compare(expr, frame);
    case ExprKind::kIf:
      return eval_if(expr, frame);
    case ExprKind::kField:
      return Value::none();  // a target only
    default: {
      const Value a = eval(*expr.items[0], frame);
      const Value b = eval(*expr.items[1], frame);
      line_ = expr.line;
      return binary(expr.kind, a, b);
    }
  }
}

Value Evaluator::eval_name(const Expr& expr, const Ref<Frame>& frame) {
  if (is_folding_) fail_to_fold();
  const Value& value = at(frame, expr.place);
  return value.missing() ? make_undefined(fmt::format("'{}' is undefined", expr.name)) : value;
}

std::vector<Value> Evaluator::eval_all(const std::vector<ExprPtr>& exprs, const Ref<Frame>& frame) {
  std::vector<Value> out;
  out.reserve(exprs.size());
  for (const ExprPtr& expr : exprs) out.push_back(eval(*expr, frame));
  return out;
}

Value Evaluator::eval_dict(const Expr& expr, const Ref<Frame>& frame) {
  const Ref<Dict> dict = make_ref<Dict>();
  for (size_t i = 0; i < expr.items.size(); i += 2) {
    Value key = eval(*expr.items[i], frame);
    dict->set(std::move(key), eval(*expr.items[i + 1], frame), &budget_);
  }
  return make_dict(dict, &budget_);
}

Value Evaluator::eval_if(const Expr& expr, const Ref<Frame>& frame) {
  if (truth(eval(*expr.items[1], frame))) return eval(*expr.items[0], frame);
  if (expr.items[2]) return eval(*expr.items[2], frame);
  if (is_folding_) fail_to_fold();
  return make_undefined(
      fmt::format("the inline if-expression on line {} evaluated to false and no else section was "
                  "defined.",
                  expr.line));
}

Value Evaluator::eval_unary(const Expr& expr, const Ref<Frame>& frame) {
  const Value v = eval(*expr.items[0], frame);
  line_ = expr.line;
  if (expr.kind == ExprKind::kNot) return Value::boolean(!truth(v));
  demand_defined(v);
  demand_small(v);
  const bool negative = expr.kind == ExprKind::kNegative;
  if (v.is_integral()) {
    int64_t out = 0;
    if (negative && __builtin_sub_overflow(int64_t{0}, v.integer(), &out))
      fail("a number has more than 64 bits");
    return Value::integer(negative ? out : v.integer());
  }
  if (v.is(Kind::kFloat)) return Value::real(negative ? -v.as_double() : v.as_double());
  fail(fmt::format("bad operand type for unary {}: '{}'", negative ? '-' : '+', type_name(v)));
}

Value Evaluator::eval_concat(const Expr& expr, const Ref<Frame>& frame) {
  std::string out;
  for (const ExprPtr& item : expr.items) {
    out += printed(eval(*item, frame));
    if (out.size() > budget_.most_value_bytes)
      throw JinjaError{
          fmt::format("a string is longer than the limit of {} bytes", budget_.most_value_bytes), 0,
          true};
  }
  return text(std::move(out));
}

Value Evaluator::eval_slice(const Expr& expr, const Ref<Frame>& frame) {
  const Value of = eval(*expr.items[0], frame);
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i)
    bounds[i] = expr.items[i + 1] ? eval(*expr.items[i + 1], frame) : Value::none();
  line_ = expr.line;
  // Jinja2 folds constant slices when it compiles; a wrong type gives an undefined value then.
  const bool has_items = of.is(Kind::kString) || of.is_list_like() || of.is(Kind::kRange);
  const bool has_indices = std::all_of(std::begin(bounds), std::end(bounds), [](const Value& v) {
    return v.is(Kind::kNone) || v.is_integral();
  });
  if (is_folding_ && !of.undefined() && (!has_items || !has_indices))
    return make_undefined("a slice of a value that has no items");
  return slice(of, bounds[0], bounds[1], bounds[2]);
}

CallArgs Evaluator::eval_args(const Arguments& args, const Ref<Frame>& frame) {
  CallArgs out;
  out.positional = eval_all(args.positional, frame);
  if (args.list) {
    std::vector<Value> more = elements(eval(*args.list, frame));
    std::move(more.begin(), more.end(), std::back_inserter(out.positional));
  }
  for (const auto& [name, expr] : args.named) out.named.emplace_back(name, eval(*expr, frame));
  if (!args.dict) return out;
  const Value more = eval(*args.dict, frame);
  demand_defined(more);
  if (!more.is(Kind::kDict))
    fail(fmt::format("the argument after ** must be a mapping, not {}", type_name(more)));
  const size_t n_written = out.named.size();
  for (const auto& [key, value] : more.as<Dict>().items) {
    if (!key.is(Kind::kString)) fail("the names of arguments must be strings");
    step(1 + n_written / 8);
    for (size_t i = 0; i < n_written; ++i)
      if (out.named[i].first == text_of(key))
        fail(fmt::format("the argument '{}' is given twice", out.named[i].first));
    out.named.emplace_back(text_of(key), value);
  }
  return out;
}

Value Evaluator::eval_call(const Expr& expr, const Ref<Frame>& frame) {
  if (is_folding_) fail_to_fold();
  const Value callee = eval(*expr.items[0], frame);
  const CallArgs args = eval_args(*expr.args, frame);
  line_ = expr.line;
  Value result = call(callee, args);
  line_ = expr.line;
  return result;
}

Value Evaluator::eval_filter(const Expr& expr, const Ref<Frame>& frame, const Value* input) {
  if (expr.filter == nullptr) fail_at(expr.line, fmt::format("no filter named '{}'", expr.name));
  const Expr* below = expr.items[0].get();
  const bool is_of_block = input != nullptr;
  if (is_folding_ && expr.filter->is_of_context) fail_to_fold();
  const Value of = below == nullptr ? *input
                   : below->kind == ExprKind::kFilter && (is_of_block || !below->folds)
                       ? eval_filter(*below, frame, input)
                       : eval(*below, frame);
  const CallArgs args = eval_args(*expr.args, frame);
  step();
  line_ = expr.line;
  return expr.filter->run(*this, of, args);
}

Value Evaluator::eval_test(const Expr& expr, const Ref<Frame>& frame) {
  if (expr.test == nullptr) fail_at(expr.line, fmt::format("no test named '{}'", expr.name));
  const Value of = eval(*expr.items[0], frame);
  const CallArgs args = eval_args(*expr.args, frame);
  line_ = expr.line;
  return Value::boolean(expr.test->run(*this, of, args));
}

bool Evaluator::compare(CompareOp op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOp::kEq:
      return equal(a, b, &budget_);
    case CompareOp::kNe:
      return !equal(a, b, &budget_);
    case CompareOp::kLt:
      return less(a, b, &budget_, "<");
    case CompareOp::kLe:
      return less_or_equal(a, b, &budget_, "<=");
    case CompareOp::kGt:
      return less(b, a, &budget_, ">");
    case CompareOp::kGe:
      return less_or_equal(b, a, &budget_, ">=");
    case CompareOp::kIn:
      return contains(b, a);
    case CompareOp::kNotIn:
      return !contains(b, a);
  }
  return false;
}

Value Evaluator::eval_compare(const Expr& expr, const Ref<Frame>& frame) {
  Value left = eval(*expr.items[0], frame);
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    Value right = eval(*expr.items[i + 1], frame);
    line_ = expr.line;
    if (!compare(expr.ops[i], left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Evaluator::call(const Value& callee, const CallArgs& args) {
  const Deeper deeper(*this);
  step();
  demand_defined(callee);
  if (callee.is(Kind::kCallable)) return callee.as<Callable>().call(*this, args);
  if (!callee.is(Kind::kLoop)) fail(fmt::format("'{}' object is not callable", type_name(callee)));
  const Bound bound("loop", args, {"iterable"}, 1);
  return text(recurse(callee.as<Loop>(), bound[0]));
}

bool Evaluator::contains(const Value& container, const Value& v) {
  switch (container.kind()) {
    case Kind::kString:
      demand_defined(v);
      if (!v.is(Kind::kString))
        fail(fmt::format("'in <string>' requires string as left operand, not {}", type_name(v)));
      scan(text_of(container).size() + text_of(v).size());
      return find_text(text_of(container), text_of(v)) != std::string::npos;
    case Kind::kDict:
      return container.as<Dict>().find(v, &budget_) != nullptr;
    case Kind::kNone:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kLarge:
    case Kind::kNamespace:
    case Kind::kCallable:
    case Kind::kObject:
      fail(fmt::format("argument of type '{}' is not iterable", type_name(container)));
    case Kind::kRange:
      if (v.is_integral()) {
        const Range& range = container.as<Range>();
        const __int128 n = v.integer(), first = range.start;
        if (range.length() == 0) return false;
        const __int128 last = range.at(range.length() - 1);
        return n >= std::min(first, last) && n <= std::max(first, last) &&
               (n - first) % range.step == 0;
      }
      break;
    case Kind::kView:
      if (container.as<View>().of == ViewOf::kKeys)
        return container.as<View>().dict.as<Dict>().find(v, &budget_) != nullptr;
      break;
    default:
      break;
  }
  const Ref<Iterator> iterator = iterate(container);
  for (Value item; iterator->next(*this, item);) {
    step();
    if (item.same_object(v) || equal(item, v, &budget_)) return true;
  }
  return false;
}

}  // namespace pando::jinja
