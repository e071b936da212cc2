// Methods and fields of all values but texts, and the functions that every template knows.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>

#include "text/chat/jinja_guard.h"
#include "text/chat/jinja_iterators.h"
#include "text/chat/jinja_text.h"

namespace pando::jinja {
namespace {

constexpr int64_t kLongestRange = 100000;  // Jinja's sandbox

// ---- of dicts and lists

template <ViewOf of>
Value dict_view(Evaluator&, const Value& self, const CallArgs& args) {
  const Bound none("the method", args, {});
  const Ref<View> view = make_ref<View>();
  view->dict = self;
  view->of = of;
  view->depth = self.depth();
  return Value::of(Kind::kView, view);
}

Value dict_get(Evaluator& in, const Value& self, const CallArgs& args) {
  if (!args.named.empty()) fail("get() takes no keyword arguments");
  const Bound bound("get()", args, {"key", "default"}, 1);
  const Value* found = self.as<Dict>().find(bound[0], in.budget());
  return found != nullptr ? *found : bound.has(1) ? bound[1] : Value::none();
}

Value copy(Evaluator&, const Value& self, const CallArgs& args) {
  const Bound none("copy()", args, {});
  return self;  // nothing can change it
}

Value list_index(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound("index()", args, {"value", "start", "stop"}, 1);
  const std::vector<Value>& items = self.as<List>().items;
  const int64_t n = static_cast<int64_t>(items.size());
  const auto clip = [&](size_t i, int64_t otherwise) {
    int64_t at = bound.integer(i, otherwise);
    if (at < 0) at = std::max<int64_t>(at + n, 0);
    return std::min(at, n);
  };
  for (int64_t i = clip(1, 0), end = clip(2, n); i < end; ++i) {
    in.step();
    if (equal(items[i], bound[0], in.budget())) return Value::integer(i);
  }
  fail(fmt::format("{} is not in list", short_repr(bound[0])));
}

Value list_count(Evaluator& in, const Value& self, const CallArgs& args) {
  const Bound bound("count()", args, {"value"}, 1);
  const std::vector<Value>& items = self.as<List>().items;
  in.step(items.size());
  return Value::integer(std::count_if(items.begin(), items.end(), [&](const Value& item) {
    return equal(item, bound[0], in.budget());
  }));
}

Value float_is_integer(Evaluator&, const Value& self, const CallArgs& args) {
  const Bound none("is_integer()", args, {});
  return Value::boolean(std::floor(self.as_double()) == self.as_double());
}

// ---- of loops

Value loop_cycle(Evaluator&, const Value& self, const CallArgs& args) {
  if (args.positional.empty()) fail("no items for cycling given");
  return args.positional[self.as<Loop>().index0 % args.positional.size()];
}

Value loop_changed(Evaluator& in, const Value& self, const CallArgs& args) {
  Loop& loop = self.as<Loop>();
  const Value now = in.list(args.positional, Kind::kTuple);
  if (!loop.last_changed.missing() && equal(loop.last_changed, now, in.budget()))
    return Value::boolean(false);
  const bool may_hold_itself = std::any_of(
      args.positional.begin(), args.positional.end(),
      [](const Value& v) { return !v.is_number() && !v.is(Kind::kString) && !v.is(Kind::kNone); });
  if (may_hold_itself && !std::exchange(loop.is_kept, true)) in.keep(Kind::kLoop, &loop);
  loop.last_changed = now;
  return Value::boolean(true);
}

Value loop_field(Evaluator& in, const Value& of, std::string_view name) {
  Loop& loop = of.as<Loop>();
  if (name == "index") return Value::integer(loop.index0 + 1);
  if (name == "index0") return Value::integer(loop.index0);
  if (name == "first") return Value::boolean(loop.index0 == 0);
  if (name == "last") return Value::boolean(loop.peek(in).missing());
  if (name == "length") return Value::integer(loop.length(in));
  if (name == "revindex") return Value::integer(loop.length(in) - loop.index0);
  if (name == "revindex0") return Value::integer(loop.length(in) - loop.index0 - 1);
  if (name == "depth") return Value::integer(loop.depth0 + 1);
  if (name == "depth0") return Value::integer(loop.depth0);
  if (name == "previtem")
    return loop.index0 > 0 ? loop.before : make_undefined("there is no previous item");
  if (name == "nextitem") {
    const Value& next = loop.peek(in);
    return next.missing() ? make_undefined("there is no next item") : next;
  }
  if (name == "cycle") return make_method(of, name, loop_cycle);
  if (name == "changed") return make_method(of, name, loop_changed);
  return Value();
}

// ---- cycler and joiner

struct Cycler : Object {
  std::vector<Value> items;
  size_t at = 0;
};

Value cycler_next(Evaluator&, const Value& self, const CallArgs&) {
  Cycler& cycler = self.as<Cycler>();
  const Value out = cycler.items[cycler.at];
  cycler.at = (cycler.at + 1) % cycler.items.size();
  return out;
}
Value cycler_reset(Evaluator&, const Value& self, const CallArgs&) {
  self.as<Cycler>().at = 0;
  return Value::none();
}
Value make_cycler(Evaluator&, const CallArgs& args) {
  if (args.positional.empty()) fail("at least one item has to be provided");
  const Ref<Cycler> cycler = make_ref<Cycler>();
  for (const Value& item : args.positional)
    cycler->depth = std::max(cycler->depth, item.depth() + 1);
  if (cycler->depth > kDeepestValue) fail("a value is nested too deeply");
  cycler->items = args.positional;
  return Value::of(Kind::kObject, cycler);
}

// The first call gives an empty text, all others the separator.
struct Joiner : Callable {
  Value separator;
  bool used = false;
  Value call(Evaluator&, const CallArgs& args) override {
    const Bound none("a joiner", args, {});
    return std::exchange(used, true) ? separator : make_string("");
  }
};
Value make_joiner(Evaluator& in, const CallArgs& args) {
  const Bound bound("joiner()", args, {"sep"});
  const Ref<Joiner> joiner = make_ref<Joiner>();
  joiner->name = "joiner";
  joiner->separator = bound.has(0) ? bound[0] : in.text(", ");
  joiner->depth = std::min(joiner->separator.depth() + 1, kDeepestValue);
  return Value::of(Kind::kCallable, joiner);
}

// ---- functions

Value make_range(Evaluator&, const CallArgs& args) {
  if (!args.named.empty()) fail("range() takes no keyword arguments");
  const Bound bound("range()", args, {"start", "stop", "step"}, 1);
  const Ref<Range> range = make_ref<Range>();
  range->start = bound.has(1) ? bound.integer(0, 0) : 0;
  range->stop = bound.integer(bound.has(1) ? 1 : 0, 0);
  range->step = bound.integer(2, 1);
  if (range->step == 0) fail("range() arg 3 must not be zero");
  if (range->length() > kLongestRange)
    fail(fmt::format("a range has {} items, expected at most {}", range->length(), kLongestRange));
  return Value::of(Kind::kRange, range);
}

Ref<Dict> dict_of(Evaluator& in, const CallArgs& args) {
  if (args.positional.size() > 1) fail("dict() takes at most one positional argument");
  const Ref<Dict> dict = make_ref<Dict>();
  if (!args.positional.empty()) {
    const Value& from = args.positional[0];
    if (from.is(Kind::kDict)) {
      for (const auto& [key, value] : from.as<Dict>().items) dict->set(key, value, in.budget());
    } else if (from.is(Kind::kNamespace)) {
      fail("'Namespace' object is not iterable");
    } else {
      for (const Value& pair : in.elements(from)) {
        const std::vector<Value> items = in.elements(pair);
        if (items.size() != 2)
          fail("dict() or namespace() is given an item that is not a pair, expected pairs");
        dict->set(items[0], items[1], in.budget());
      }
    }
  }
  for (const auto& [name, value] : args.named) dict->set(in.text(name), value, in.budget());
  in.step(dict->items.size());
  return dict;
}

Value dict_function(Evaluator& in, const CallArgs& args) {
  return make_dict(dict_of(in, args), in.budget());
}

Value make_namespace(Evaluator& in, const CallArgs& args) {
  const Ref<Namespace> space = make_ref<Namespace>();
  const Value value = in.keep(Kind::kNamespace, space.get());
  const Ref<Dict> fields = dict_of(in, args);
  for (const auto& [name, field] : fields->items) {
    if (!name.is(Kind::kString)) fail("a field of a namespace has a name that is not a string");
    set_field(*space, text_of(name), field);
  }
  return value;
}

Value raise_exception(Evaluator&, const CallArgs& args) {
  const Bound bound("raise_exception()", args, {"message"}, 1);
  fail(to_text(bound[0]));
}

Value strftime_now(Evaluator& in, const CallArgs& args) {
  const Bound bound("strftime_now()", args, {"format"}, 1);
  const LocalTime& now = in.now();
  struct tm time = {};
  time.tm_year = now.year - 1900;
  time.tm_mon = now.month - 1;
  time.tm_mday = now.day;
  time.tm_hour = now.hour;
  time.tm_min = now.minute;
  time.tm_sec = now.second;
  struct tm counted = time;
  timegm(&counted);  // gives the days of the week and of the year
  time.tm_wday = counted.tm_wday;
  time.tm_yday = counted.tm_yday;
  // Python's time has no zone and a fraction of a second.
  std::string format;
  const std::string_view asked = bound.text(0, "");
  if (asked.size() > 1000) fail("a date format has more than 1000 bytes");
  for (size_t i = 0; i < asked.size(); ++i) {
    if (asked[i] != '%' || i + 1 == asked.size()) {
      format += asked[i];
      continue;
    }
    const char next = asked[++i];
    if (next == 'f') {
      format += "000000";
    } else if (next != 'z' && next != 'Z') {
      format += '%';
      format += next;
    }
  }
  format += '.';  // so that an empty result is told from one that does not fit
  std::string out(16384, '\0');
  out.resize(strftime(out.data(), out.size(), format.c_str(), &time));
  if (out.empty()) fail("a formatted date is too long");
  out.pop_back();
  return in.text(std::move(out));
}

Value lipsum(Evaluator&, const CallArgs&) {
  fail("lipsum() is not supported, because it is random");
}

struct NamedFunction {
  const char* name;
  Function function;
};
constexpr NamedFunction kGlobals[] = {
    {"range", make_range},          {"dict", dict_function}, {"namespace", make_namespace},
    {"cycler", make_cycler},        {"joiner", make_joiner}, {"raise_exception", raise_exception},
    {"strftime_now", strftime_now}, {"lipsum", lipsum},
};

Value group_field(const Value& of, std::string_view name) {
  const List& group = of.as<List>();
  return name == "grouper" ? group.items[0] : name == "list" ? group.items[1] : Value();
}

Value dict_method(const Value& of, std::string_view name) {
  if (name == "get") return make_method(of, name, dict_get);
  if (name == "items") return make_method(of, name, dict_view<ViewOf::kItems>);
  if (name == "keys") return make_method(of, name, dict_view<ViewOf::kKeys>);
  if (name == "values") return make_method(of, name, dict_view<ViewOf::kValues>);
  return name == "copy" ? make_method(of, name, copy) : Value();
}

}  // namespace

bool is_global(std::string_view name) { return !find_global(name).missing(); }

Value find_global(std::string_view name) {
  for (const auto& [known, function] : kGlobals)
    if (name == known) return make_function(known, function);
  return Value();
}

Value find_method(Evaluator& in, const Value& of, const std::string& name) {
  switch (of.kind()) {
    case Kind::kString: {
      const Method method = find_string_method(name);
      return method != nullptr ? make_method(of, name, method) : Value();
    }
    case Kind::kDict:
      return dict_method(of, name);
    case Kind::kList:
    case Kind::kTuple:
      if (of.as<List>().is_group)
        if (Value field = group_field(of, name); !field.missing()) return field;
      if (name == "index") return make_method(of, name, list_index);
      if (name == "count") return make_method(of, name, list_count);
      return of.is(Kind::kList) && name == "copy" ? make_method(of, name, copy) : Value();
    case Kind::kFloat:
      return name == "is_integer" ? make_method(of, name, float_is_integer) : Value();
    case Kind::kRange:
      if (name == "start") return Value::integer(of.as<Range>().start);
      if (name == "stop") return Value::integer(of.as<Range>().stop);
      return name == "step" ? Value::integer(of.as<Range>().step) : Value();
    case Kind::kNamespace: {
      in.step(of.as<Namespace>().fields.size() / 8);
      const Value* field = of.as<Namespace>().find(name);
      return field != nullptr ? *field : Value();
    }
    case Kind::kLoop:
      return loop_field(in, of, name);
    case Kind::kCallable:
      if (const auto* macro = dynamic_cast<const Macro*>(&of.as<Callable>()))
        if (name == "name") return in.text(macro->name);
      return Value();
    case Kind::kObject: {
      const Cycler& cycler = of.as<Cycler>();
      if (name == "next") return make_method(of, name, cycler_next);
      if (name == "reset") return make_method(of, name, cycler_reset);
      return name == "current" ? cycler.items[cycler.at] : Value();
    }
    default:
      return Value();
  }
}

}  // namespace pando::jinja
