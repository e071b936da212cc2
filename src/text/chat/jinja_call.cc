#include "text/chat/jinja_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/chat/jinja_guard.h"

namespace pando::jinja {
namespace {

struct PlainFunction : Callable {
  Function function = nullptr;
  Value call(Evaluator& in, const CallArgs& args) override { return function(in, args); }
};

struct BoundMethod : Callable {
  Value self;
  Method method = nullptr;
  Value call(Evaluator& in, const CallArgs& args) override { return method(in, self, args); }
};

const std::vector<FilterEntry>& all_filters() {
  static const std::vector<FilterEntry> filters = [] {
    std::vector<FilterEntry> all = text_filters();
    for (const auto& more : {list_filters(), number_filters()})
      all.insert(all.end(), more.begin(), more.end());
    std::sort(all.begin(), all.end(),
              [](const FilterEntry& a, const FilterEntry& b) { return a.name < b.name; });
    return all;
  }();
  return filters;
}

}  // namespace

Bound::Bound(std::string_view what, const CallArgs& args,
             std::initializer_list<std::string_view> names, size_t n_required)
    : what_(what), values_(names.size()) {
  if (args.positional.size() > names.size())
    fail(fmt::format("{} takes at most {} arguments, {} are given", what, names.size(),
                     args.positional.size()));
  std::copy(args.positional.begin(), args.positional.end(), values_.begin());
  for (const auto& [name, value] : args.named) {
    const size_t i = std::find(names.begin(), names.end(), name) - names.begin();
    if (i == names.size()) fail(fmt::format("{} takes no argument named '{}'", what, name));
    if (has(i)) fail(fmt::format("{} is given the argument '{}' twice", what, name));
    values_[i] = value;
  }
  for (size_t i = 0; i < n_required; ++i)
    if (!has(i)) fail(fmt::format("{} is missing the argument '{}'", what, *(names.begin() + i)));
}

int64_t Bound::integer(size_t i, int64_t otherwise) const {
  return has(i) ? index_of_value(values_[i]) : otherwise;
}

std::string_view Bound::text(size_t i, std::string_view otherwise) const {
  if (!has(i)) return otherwise;
  demand_defined(values_[i]);
  if (!values_[i].is(Kind::kString))
    fail(fmt::format("{} is given a value of type '{}', expected a string", what_,
                     type_name(values_[i])));
  return text_of(values_[i]);
}

std::string describe_callable(const Value& v) {
  if (v.is(Kind::kLoop)) {
    const Loop& loop = v.as<Loop>();
    if (loop.known_length < 0) fail("a loop is printed before its length is known");
    return fmt::format("<LoopContext {}/{}>", loop.index0 + 1, loop.known_length);
  }
  const Callable& callable = v.as<Callable>();
  if (dynamic_cast<const Macro*>(&callable) != nullptr)
    return callable.name.empty() ? "<Macro 'caller'>" : fmt::format("<Macro '{}'>", callable.name);
  fail(fmt::format("the function '{}' is printed, expected a call", callable.name));
}

Value make_function(std::string_view name, Function function) {
  const Ref<PlainFunction> callable = make_ref<PlainFunction>();
  callable->name = name;
  callable->function = function;
  return Value::of(Kind::kCallable, callable);
}

Value make_method(const Value& self, std::string_view name, Method method) {
  const Ref<BoundMethod> callable = make_ref<BoundMethod>();
  callable->name = name;
  callable->self = self;
  callable->method = method;
  callable->depth = std::min(self.depth() + 1, kDeepestValue);
  return Value::of(Kind::kCallable, callable);
}

const FilterEntry* find_filter(std::string_view name) {
  const std::vector<FilterEntry>& filters = all_filters();
  const auto at = std::lower_bound(
      filters.begin(), filters.end(), name,
      [](const FilterEntry& entry, std::string_view of) { return entry.name < of; });
  return at != filters.end() && at->name == name ? &*at : nullptr;
}

std::vector<std::string_view> filter_names() {
  std::vector<std::string_view> names;
  for (const FilterEntry& entry : all_filters()) names.push_back(entry.name);
  return names;
}

}  // namespace pando::jinja
