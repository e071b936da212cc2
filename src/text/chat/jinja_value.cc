#include "text/chat/jinja_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "text/chat/jinja_text.h"

namespace pando::jinja {
namespace {

// Of what a list holds and nobody counted: generators, methods, undefined values.
size_t uncounted_bytes(const Value& v) {
  constexpr size_t kAbout = 160;
  const bool is_small = v.undefined() || v.kind() >= Kind::kRange;
  return is_small ? kAbout : 0;
}

Value finished(Kind kind, Object* object, size_t n_bytes, Budget* budget, uint32_t depth) {
  const Value value = Value::of(kind, object);
  object->depth = depth;
  if (depth > kDeepestValue) fail(fmt::format("a value is nested deeper than {}", kDeepestValue));
  object->charge(budget, n_bytes);
  return value;
}

bool equal_lists(const List& a, const List& b) {
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), equal);
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  return std::all_of(a.items.begin(), a.items.end(), [&](const Dict::Item& item) {
    const Value* other = b.find(item.first);
    return other != nullptr && equal(item.second, *other);
  });
}

// An int and a float as numbers, also where a double cannot hold the int.
int compare_numbers(const Value& a, const Value& b, bool& unordered) {
  if (a.is_integral() && b.is_integral())
    return a.integer() < b.integer() ? -1 : a.integer() > b.integer();
  const long double x = a.is_integral() ? static_cast<long double>(a.integer()) : a.as_double();
  const long double y = b.is_integral() ? static_cast<long double>(b.integer()) : b.as_double();
  unordered = std::isnan(x) || std::isnan(y);
  return x < y ? -1 : x > y;
}

[[noreturn]] void fail_to_order(const Value& a, const Value& b, std::string_view sign) {
  if (a.undefined()) fail(a.as<UndefinedInfo>().message);
  if (b.undefined()) fail(b.as<UndefinedInfo>().message);
  fail(fmt::format("'{}' not supported between instances of '{}' and '{}'", sign, type_name(a),
                   type_name(b)));
}

// Below zero, zero or above, as of strings; `unordered` where a NaN is compared.
int order(const Value& a, const Value& b, std::string_view sign, bool& unordered) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b, unordered);
  if (a.is(Kind::kString) && b.is(Kind::kString)) return text_of(a).compare(text_of(b));
  if (!a.is_list_like() || a.kind() != b.kind()) fail_to_order(a, b, sign);
  const std::vector<Value>& x = a.as<List>().items;
  const std::vector<Value>& y = b.as<List>().items;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    if (!equal(x[i], y[i])) return order(x[i], y[i], sign, unordered);
  return x.size() < y.size() ? -1 : x.size() > y.size();
}

}  // namespace

void fail(std::string message) { throw JinjaError{std::move(message)}; }
void fail_at(int line, std::string message) { throw JinjaError{std::move(message), line}; }

Object::~Object() {
  if (budget != nullptr) budget->bytes -= charged;
}

void Object::charge(Budget* of, size_t n_bytes) {
  if (of == nullptr) return;
  if (n_bytes > of->most_value_bytes)
    throw JinjaError{fmt::format("a value has {} bytes, more than the limit of {}", n_bytes,
                                 of->most_value_bytes),
                     0, true};
  if (of->bytes + n_bytes > of->most_bytes)
    throw JinjaError{fmt::format("the values take more than the limit of {} bytes", of->most_bytes),
                     0, true};
  budget = of;
  charged = n_bytes;
  of->bytes += n_bytes;
}

Value make_string(std::string text, Budget* budget, bool markup) {
  const size_t n_points = count_points(text);
  const size_t n_bytes = text.size() + sizeof(Str);
  const Ref<Str> string = make_ref<Str>(std::move(text), n_points);
  string->charge(budget, n_bytes);
  return Value::of(Kind::kString, string.get(), markup);
}

Value make_list(std::vector<Value> items, Budget* budget, Kind kind) {
  const Ref<List> list = make_ref<List>();
  uint32_t depth = 0;
  size_t n_bytes = sizeof(List) + items.size() * sizeof(Value);
  for (const Value& item : items) {
    depth = std::max(depth, item.depth());
    n_bytes += uncounted_bytes(item);
  }
  list->items = std::move(items);
  return finished(kind, list.get(), n_bytes, budget, depth + 1);
}

Value make_dict(Ref<Dict> dict, Budget* budget) {
  uint32_t depth = 0;
  for (const auto& [key, value] : dict->items)
    depth = std::max({depth, key.depth(), value.depth()});
  const size_t n_bytes = sizeof(Dict) + dict->items.size() * (sizeof(Dict::Item) + 32);
  return finished(Kind::kDict, dict.get(), n_bytes, budget, depth + 1);
}

Value make_undefined(std::string message) {
  const Ref<UndefinedInfo> info = make_ref<UndefinedInfo>();
  info->message = std::move(message);
  return Value::of(Kind::kUndefined, info);
}

size_t Dict::index_of(const Value& key) const {
  if (!hashable(key)) fail(fmt::format("unhashable type: '{}'", type_name(key)));
  if (items.size() <= kLinear) {
    for (size_t i = 0; i < items.size(); ++i)
      if (equal(items[i].first, key)) return i;
    return items.size();
  }
  const auto [begin, end] = index_.equal_range(hash_of(key));
  for (auto at = begin; at != end; ++at)
    if (equal(items[at->second].first, key)) return at->second;
  return items.size();
}

const Value* Dict::find(const Value& key) const {
  const size_t i = index_of(key);
  return i < items.size() ? &items[i].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (items.size() > kLinear) return find(make_string(std::string(key)));
  for (const Item& item : items)
    if (item.first.is(Kind::kString) && text_of(item.first) == key) return &item.second;
  return nullptr;
}

void Dict::set(Value key, Value value) {
  if (const size_t i = index_of(key); i < items.size()) {
    items[i].second = std::move(value);
    return;
  }
  items.emplace_back(std::move(key), std::move(value));
  if (items.size() <= kLinear) return;
  const size_t first = items.size() == kLinear + 1 ? 0 : items.size() - 1;
  for (size_t i = first; i < items.size(); ++i) index_.emplace(hash_of(items[i].first), i);
}

int64_t Range::length() const {
  const __int128 from = step > 0 ? start : stop, to = step > 0 ? stop : start, by = step;
  return from < to ? static_cast<int64_t>((to - from - 1) / (by < 0 ? -by : by) + 1) : 0;
}

Value* Namespace::find(std::string_view name) {
  for (auto& [field, value] : fields)
    if (field == name) return &value;
  return nullptr;
}

std::string_view type_name(const Value& v) {
  switch (v.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return v.is_markup() ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kView:
      return v.as<View>().of == ViewOf::kKeys     ? "dict_keys"
             : v.as<View>().of == ViewOf::kValues ? "dict_values"
                                                  : "dict_items";
    case Kind::kIterator:
      return v.as<Iterator>().name;
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kCallable:
      return "function";
    case Kind::kObject:
      return "object";
  }
  return "";
}

int64_t length_of(const Value& v) {
  switch (v.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return static_cast<int64_t>(v.as<Str>().length);
    case Kind::kList:
    case Kind::kTuple:
      return static_cast<int64_t>(v.as<List>().items.size());
    case Kind::kDict:
      return static_cast<int64_t>(v.as<Dict>().items.size());
    case Kind::kRange:
      return v.as<Range>().length();
    case Kind::kView:
      return static_cast<int64_t>(v.as<View>().dict.as<Dict>().items.size());
    default:
      return -1;
  }
}

bool truth(const Value& v) {
  switch (v.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return v.integer() != 0;
    case Kind::kFloat:
      return v.as_double() != 0;
    default:
      return length_of(v) != 0;  // true also where it has no length
  }
}

bool hashable(const Value& v) {
  if (v.is(Kind::kList) || v.is(Kind::kDict)) return false;
  if (v.is(Kind::kView)) return v.as<View>().of == ViewOf::kValues;
  if (!v.is(Kind::kTuple)) return true;
  const std::vector<Value>& items = v.as<List>().items;
  return std::all_of(items.begin(), items.end(), hashable);
}

size_t hash_of(const Value& v) {
  if (v.is_integral()) return std::hash<int64_t>{}(v.integer());
  if (v.is(Kind::kFloat)) {
    const double f = v.as_double();
    const bool whole = std::abs(f) < 0x1p63 && f == std::floor(f);
    return whole ? std::hash<int64_t>{}(static_cast<int64_t>(f)) : std::hash<double>{}(f);
  }
  if (v.is(Kind::kString)) return std::hash<std::string>{}(text_of(v));
  if (v.is(Kind::kTuple)) {
    size_t hash = 0x9e3779b97f4a7c15;
    for (const Value& item : v.as<List>().items) hash = std::rotl(hash, 5) ^ hash_of(item);
    return hash;
  }
  if (v.is(Kind::kNone) || v.undefined()) return static_cast<size_t>(v.kind());
  return std::hash<const void*>{}(v.object());
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    bool unordered = false;
    return compare_numbers(a, b, unordered) == 0 && !unordered;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      return text_of(a) == text_of(b);
    case Kind::kList:
    case Kind::kTuple:
      return a.same_object(b) || equal_lists(a.as<List>(), b.as<List>());
    case Kind::kDict:
      return a.same_object(b) || equal_dicts(a.as<Dict>(), b.as<Dict>());
    case Kind::kRange: {
      const Range &x = a.as<Range>(), &y = b.as<Range>();
      const int64_t n = x.length();
      return n == y.length() && (n == 0 || (x.start == y.start && (n == 1 || x.step == y.step)));
    }
    case Kind::kView:
      return a.same_object(b) ||
             (a.as<View>().of == b.as<View>().of && a.as<View>().of != ViewOf::kValues &&
              equal(a.as<View>().dict, b.as<View>().dict));
    default:
      return a.same_object(b);
  }
}

bool less(const Value& a, const Value& b, std::string_view sign) {
  bool unordered = false;
  const int found = order(a, b, sign, unordered);
  return !unordered && found < 0;
}

bool less_or_equal(const Value& a, const Value& b, std::string_view sign) {
  bool unordered = false;
  const int found = order(a, b, sign, unordered);
  return !unordered && found <= 0;
}

}  // namespace pando::jinja
