// Filters over lists and mappings.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "text/chat/jinja_iterators.h"
#include "text/chat/jinja_text.h"

namespace pando::jinja {
namespace {

Value ignoring_case(Evaluator& in, const Value& v) {
  if (!v.is(Kind::kString)) return v;
  in.walk(text_of(v).size());
  return in.text(lower(text_of(v)));
}

std::vector<Value> sorted(Evaluator& in, const std::vector<Value>& items,
                          const std::vector<Value>& keys, bool reverse) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    in.step();
    return reverse ? less(keys[b], keys[a], in.budget()) : less(keys[a], keys[b], in.budget());
  });
  std::vector<Value> out;
  for (const size_t i : order) out.push_back(items[i]);
  return out;
}

// The values of the attributes as a list, several for "a,b"; equal lists need no order.
Value sort_key(Evaluator& in, const Value& item, const Value& attribute, bool keeps_case) {
  const auto one = [&](const Value& path) {
    const Value v = attribute_path(in, item, path);
    return keeps_case ? v : ignoring_case(in, v);
  };
  if (attribute.missing() || !attribute.is(Kind::kString) ||
      text_of(attribute).find(',') == std::string::npos)
    return in.list({one(attribute)});
  std::vector<Value> keys;
  split_by(text_of(attribute), ",", -1, [&](std::string_view path) {
    in.step();
    keys.push_back(one(make_string(std::string(path))));
  });
  return in.list(std::move(keys));
}

Value filter_sort(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'sort'", args, {"reverse", "case_sensitive", "attribute"});
  const std::vector<Value> items = in.elements(of);
  std::vector<Value> keys;
  for (const Value& item : items)
    keys.push_back(sort_key(in, item, bound[2], bound.flag(1, false)));
  return in.list(sorted(in, items, keys, bound.flag(0, false)));
}

Value filter_dictsort(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'dictsort'", args, {"case_sensitive", "by", "reverse"});
  const std::string by = bound.has(1) ? to_text(bound[1]) : "key";
  if (by != "key" && by != "value")
    fail(fmt::format("'dictsort' sorts by '{}', expected 'key' or 'value'", by));
  demand_defined(of);
  if (!of.is(Kind::kDict))
    fail(
        fmt::format("'dictsort' is given a value of type '{}', expected a mapping", type_name(of)));
  std::vector<Value> items, keys;
  for (const auto& [key, value] : of.as<Dict>().items) {
    const Value& sorts = by == "key" ? key : value;
    items.push_back(in.list({key, value}, Kind::kTuple));
    keys.push_back(bound.flag(0, false) ? sorts : ignoring_case(in, sorts));
  }
  return in.list(sorted(in, items, keys, bound.flag(2, false)));
}

Value filter_unique(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'unique'", args, {"case_sensitive", "attribute"});
  const bool keeps_case = bound.flag(0, false);
  std::vector<Value> out;
  const Ref<Dict> seen = make_ref<Dict>();
  for (const Value& item : in.elements(of)) {
    in.step();
    Value key = attribute_path(in, item, bound[1]);
    if (!keeps_case) key = ignoring_case(in, key);
    if (seen->find(key, in.budget()) != nullptr) continue;
    seen->set(key, Value::none(), in.budget());
    out.push_back(item);
  }
  return make_list_iterator(std::move(out), "generator");
}

Value extreme(Evaluator& in, const Value& of, const CallArgs& args, bool largest) {
  const Bound bound(largest ? "'max'" : "'min'", args, {"case_sensitive", "attribute"});
  Value best, best_key;
  for (const Value& item : in.elements(of)) {
    in.step();
    Value key = attribute_path(in, item, bound[1]);
    if (!bound.flag(0, false)) key = ignoring_case(in, key);
    if (!best.missing() &&
        !(largest ? less(best_key, key, in.budget(), ">") : less(key, best_key, in.budget())))
      continue;
    best = item;
    best_key = std::move(key);
  }
  return best.missing() ? make_undefined("No aggregated item, sequence was empty.") : best;
}
Value filter_min(Evaluator& in, const Value& of, const CallArgs& args) {
  return extreme(in, of, args, false);
}
Value filter_max(Evaluator& in, const Value& of, const CallArgs& args) {
  return extreme(in, of, args, true);
}

Value filter_default(Evaluator&, const Value& of, const CallArgs& args) {
  const Bound bound("'default'", args, {"default_value", "boolean"});
  if (!of.undefined() && !(bound.flag(1, false) && !truth(of))) return of;
  return bound.has(0) ? bound[0] : make_string("");
}

Value filter_length(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("'length'", args, {});
  if (of.is(Kind::kLoop)) return Value::integer(of.as<Loop>().length(in));
  const int64_t n = length_of(of);
  if (n < 0) fail(fmt::format("object of type '{}' has no len()", type_name(of)));
  return Value::integer(n);
}

Value filter_first(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("'first'", args, {});
  Value out;
  return in.iterate(of)->next(in, out) ? out : make_undefined("No first item, sequence was empty.");
}

Value filter_last(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("'last'", args, {});
  if (length_of(of) < 0) fail(fmt::format("'{}' object is not reversible", type_name(of)));
  if (!truth(of)) return make_undefined("No last item, sequence was empty.");
  if (of.is_list_like() || of.is(Kind::kString)) return in.item(of, Value::integer(-1));
  return in.elements(of).back();
}

Value filter_list(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("'list'", args, {});
  return in.list(in.elements(of));
}

Value filter_reverse(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound none("'reverse'", args, {});
  if (of.is(Kind::kString)) {
    in.walk(text_of(of).size());
    const int64_t n = length_of(of);
    return in.text_like(of, every_nth(text_of(of), n - 1, -1, n));
  }
  std::vector<Value> items = in.elements(of);
  std::reverse(items.begin(), items.end());
  if (length_of(of) < 0) return in.list(std::move(items));
  return make_list_iterator(std::move(items), "list_reverseiterator");
}

Value filter_items(Evaluator&, const Value& of, const CallArgs& args) {
  const Bound none("'items'", args, {});
  Ref<Iterator> source;
  return make_generator(of.depth(), [of, source](Evaluator& in, Value& out) mutable {
    if (of.undefined()) return false;
    if (!of.is(Kind::kDict)) fail("Can only get item pairs from a mapping.");
    if (!source) {
      const Ref<View> view = make_ref<View>();
      view->dict = of;
      view->of = ViewOf::kItems;
      source = in.iterate(Value::of(Kind::kView, view));
    }
    return source->next(in, out);
  });
}

Value filter_attr(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'attr'", args, {"name"}, 1);
  const Value name = make_string(std::string(bound.text(0, "")));
  demand_defined(of);
  if (find_method(in, of, text_of(name)).missing())
    return make_undefined(
        fmt::format("'{} object' has no attribute '{}'", type_name(of), text_of(name)));
  return in.attribute(of, name);
}

Value filter_sum(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'sum'", args, {"attribute", "start"});
  Value total = bound.has(1) ? bound[1] : Value::integer(0);
  if (total.is(Kind::kString)) fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : in.elements(of)) {
    in.step();
    const Value one = bound.none_or_missing(0) ? item : attribute_path(in, item, bound[0]);
    total = in.binary(ExprKind::kAdd, total, one);
  }
  return total;
}

Value filter_batch(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'batch'", args, {"linecount", "fill_with"}, 1);
  const int64_t n = bound.integer(0, 1);
  std::vector<Value> out, row;
  for (const Value& item : in.elements(of)) {
    if (static_cast<int64_t>(row.size()) == n) out.push_back(in.list(std::exchange(row, {})));
    row.push_back(item);
  }
  if (!row.empty()) {
    if (n > 1000000) fail("'batch' is given rows of more than 1000000 items");
    if (!bound.none_or_missing(1))
      while (static_cast<int64_t>(row.size()) < n) row.push_back(bound[1]);
    out.push_back(in.list(std::move(row)));
  }
  return make_list_iterator(std::move(out), "generator");
}

Value filter_slice(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'slice'", args, {"slices", "fill_with"}, 1);
  const int64_t n_slices = bound.integer(0, 1);
  if (n_slices == 0) fail("integer division or modulo by zero");
  if (n_slices > 1000000) fail("'slice' is given more than 1000000 slices");
  const std::vector<Value> items = in.elements(of);
  const int64_t n = static_cast<int64_t>(items.size());
  std::vector<Value> out;
  int64_t begin = 0;
  for (int64_t i = 0; i < n_slices; ++i) {
    const bool longer = i < n % n_slices;
    const int64_t end = begin + n / n_slices + (longer ? 1 : 0);
    std::vector<Value> row(items.begin() + begin, items.begin() + end);
    if (!bound.none_or_missing(1) && !longer) row.push_back(bound[1]);
    out.push_back(in.list(std::move(row)));
    begin = end;
  }
  return make_list_iterator(std::move(out), "generator");
}

Value filter_groupby(Evaluator& in, const Value& of, const CallArgs& args) {
  const Bound bound("'groupby'", args, {"attribute", "default", "case_sensitive"}, 1);
  const bool keeps_case = bound.flag(2, false);
  const Value otherwise = bound.none_or_missing(1) ? Value() : bound[1];
  const std::vector<Value> items = in.elements(of);
  std::vector<Value> keys;
  for (const Value& item : items) {
    const Value key = attribute_path(in, item, bound[0], otherwise);
    keys.push_back(keeps_case ? key : ignoring_case(in, key));
  }
  const std::vector<Value> sorted_items = sorted(in, items, keys, false);
  const std::vector<Value> sorted_keys = sorted(in, keys, keys, false);
  std::vector<Value> groups;
  for (size_t i = 0; i < sorted_items.size();) {
    const size_t begin = i;
    while (i < sorted_items.size() && equal(sorted_keys[i], sorted_keys[begin], in.budget())) ++i;
    const Value group = in.list({attribute_path(in, sorted_items[begin], bound[0], otherwise),
                                 in.list({sorted_items.begin() + begin, sorted_items.begin() + i})},
                                Kind::kTuple);
    group.as<List>().is_group = true;
    groups.push_back(group);
  }
  return in.list(std::move(groups));
}

CallArgs without_first(const CallArgs& args, size_t n) {
  CallArgs out;
  out.positional.assign(args.positional.begin() + n, args.positional.end());
  out.named = args.named;
  return out;
}

// Wrong arguments of a filter that gives a generator: an error where it is walked and `of` is true.
Value make_failing(const Value& of, std::string message) {
  return make_generator(of.depth(), [of, message = std::move(message)](Evaluator&, Value&) {
    if (truth(of)) fail(message);
    return false;
  });
}

Value filter_map(Evaluator&, const Value& of, const CallArgs& args) {
  if (args.positional.empty()) {
    Value path, otherwise;
    for (const auto& [name, value] : args.named) {
      if (name == "attribute") path = value;
      if (name == "default" && !value.is(Kind::kNone)) otherwise = value;
    }
    if (path.missing()) return make_failing(of, "'map' requires the name of a filter");
    for (const auto& [name, value] : args.named)
      if (name != "attribute" && name != "default")
        return make_failing(of, fmt::format("'map' takes no argument named '{}'", name));
    return make_mapped(of, [=](Evaluator& by, const Value& item, Value& out) {
      out = attribute_path(by, item, path, otherwise);
      return true;
    });
  }
  const Value name = args.positional[0];
  return make_mapped(
      of, [name, rest = without_first(args, 1)](Evaluator& by, const Value& item, Value& out) {
        const FilterEntry* filter = find_filter(to_text(name));
        if (filter == nullptr) fail(fmt::format("no filter named '{}'", to_text(name)));
        out = filter->run(by, item, rest);
        return true;
      });
}

Value select(const Value& of, const CallArgs& args, bool wanted, bool by_attribute) {
  const size_t n_before = by_attribute ? 1 : 0;
  if (args.positional.size() < n_before)
    return make_failing(of, "Missing parameter for attribute name");
  const Value path = by_attribute ? args.positional[0] : Value();
  const bool has_test = args.positional.size() > n_before;
  const std::string name = has_test ? to_text(args.positional[n_before]) : "";
  CallArgs rest = has_test ? without_first(args, n_before + 1) : CallArgs();
  return make_mapped(of, [=, rest = std::move(rest)](Evaluator& by, const Value& item, Value& out) {
    const Value tested = by_attribute ? attribute_path(by, item, path) : item;
    bool passes = false;
    if (has_test) {
      const TestEntry* test = find_test(name);
      if (test == nullptr) fail(fmt::format("no test named '{}'", name));
      passes = test->run(by, tested, rest);
    } else {
      passes = truth(tested);
    }
    if (passes != wanted) return false;
    out = item;
    return true;
  });
}
template <bool wanted, bool by_attribute>
Value filter_select(Evaluator&, const Value& of, const CallArgs& args) {
  return select(of, args, wanted, by_attribute);
}

}  // namespace

Value attribute_path(Evaluator& in, const Value& of, const Value& path, const Value& otherwise) {
  if (path.missing() || path.is(Kind::kNone)) return of;
  const auto step = [&](const Value& at, const Value& key) {
    const Value found = in.item(at, key);
    return found.undefined() && !otherwise.missing() ? otherwise : found;
  };
  if (!path.is(Kind::kString)) return step(of, path);
  Value at = of;
  split_by(text_of(path), ".", -1, [&](std::string_view part) {
    in.step();
    const bool digits = !part.empty() && part.size() < 18 &&
                        part.find_first_not_of("0123456789") == std::string_view::npos;
    at = step(at, digits ? Value::integer(std::stoll(std::string(part)))
                         : make_string(std::string(part)));
  });
  return at;
}

std::vector<FilterEntry> list_filters() {
  return {{"attr", filter_attr},
          {"batch", filter_batch},
          {"count", filter_length},
          {"d", filter_default},
          {"default", filter_default},
          {"dictsort", filter_dictsort},
          {"first", filter_first},
          {"groupby", filter_groupby},
          {"items", filter_items},
          {"last", filter_last},
          {"length", filter_length},
          {"list", filter_list},
          {"map", filter_map, true},
          {"max", filter_max},
          {"min", filter_min},
          {"reject", filter_select<false, false>, true},
          {"rejectattr", filter_select<false, true>, true},
          {"reverse", filter_reverse},
          {"select", filter_select<true, false>, true},
          {"selectattr", filter_select<true, true>, true},
          {"slice", filter_slice},
          {"sort", filter_sort},
          {"sum", filter_sum},
          {"unique", filter_unique}};
}

}  // namespace pando::jinja
