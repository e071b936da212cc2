// Callables of a template: filters, tests, functions and methods; and the binding of arguments.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/chat/jinja_value.h"

namespace pando::jinja {

class Evaluator;

struct CallArgs {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// The arguments of a call under the names of its parameters. Fails for one that is unknown, given
// twice, too many, or missing among the first `n_required`.
class Bound {
 public:
  Bound(std::string_view what, const CallArgs& args, std::initializer_list<std::string_view> names,
        size_t n_required = 0);
  bool has(size_t i) const { return !values_[i].missing(); }
  const Value& operator[](size_t i) const { return values_[i]; }

  // Arguments as Python would take them; `otherwise` if missing.
  int64_t integer(size_t i, int64_t otherwise) const;
  bool flag(size_t i, bool otherwise) const { return has(i) ? truth(values_[i]) : otherwise; }
  std::string_view text(size_t i, std::string_view otherwise) const;  // fails for another type
  bool none_or_missing(size_t i) const { return !has(i) || values_[i].is(Kind::kNone); }

 private:
  std::string_view what_;
  std::vector<Value> values_;
};

// Fails for an undefined value with its message; any other value passes.
void demand_defined(const Value& v);
// Fails for a number of more than 64 bits; any other value passes.
void demand_small(const Value& v);
// The value as an integer, as Python's __index__.
int64_t index_of_value(const Value& v);

struct Callable : Object {
  std::string name;
  virtual Value call(Evaluator& in, const CallArgs& args) = 0;
};
std::string describe_callable(const Value& v);  // a loop or something that can be called

using Function = Value (*)(Evaluator& in, const CallArgs& args);
Value make_function(std::string_view name, Function function);

struct FilterEntry {
  std::string_view name;
  Value (*run)(Evaluator& in, const Value& of, const CallArgs& args);
  bool is_of_context = false;  // Jinja2 never computes it when it compiles
};
const FilterEntry* find_filter(std::string_view name);
std::vector<std::string_view> filter_names();

struct TestEntry {
  std::string_view name;
  bool (*run)(Evaluator& in, const Value& of, const CallArgs& args);
};
const TestEntry* find_test(std::string_view name);
std::vector<std::string_view> test_names();

// A function that every template knows; missing where there is none of that name.
Value find_global(std::string_view name);
bool is_global(std::string_view name);

// An attribute of a value, as Python's getattr(): a method, a field. Missing where there is none.
Value find_method(Evaluator& in, const Value& of, const std::string& name);

// Functions of the groups below, in files of their own.
std::vector<FilterEntry> text_filters();
std::vector<FilterEntry> list_filters();
std::vector<FilterEntry> number_filters();

using Method = Value (*)(Evaluator& in, const Value& self, const CallArgs& args);
Method find_string_method(std::string_view name);
Value make_method(const Value& self, std::string_view name, Method method);

// "..." % arguments; str.format(); one value by a format specification.
Value percent_format(Evaluator& in, const Value& format, const Value& arguments);
Value brace_format(Evaluator& in, const Value& format, const CallArgs& args);

// json.dumps().
struct JsonStyle {
  bool ascii = false;
  bool has_indent = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};
std::string to_json(const Value& v, const JsonStyle& style, Budget* budget);

}  // namespace pando::jinja
