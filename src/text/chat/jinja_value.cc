#include "text/chat/jinja_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "text/chat/jinja_text.h"

namespace pando::jinja {
namespace {

// Bytes of items of a list that nobody counted: generators, methods, undefined values.
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

void count_step(Budget* budget) {
  if (budget != nullptr) budget->step();
}

bool equal_texts(const std::string& a, const std::string& b, Budget* budget) {
  if (a.size() != b.size()) return false;
  count_bytes(budget, a.size());
  return a == b;
}

bool equal_lists(const List& a, const List& b, Budget* budget) {
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [&](const Value& x, const Value& y) {
                      count_step(budget);
                      return equal(x, y, budget);
                    });
}

bool equal_dicts(const Dict& a, const Dict& b, Budget* budget) {
  if (a.items.size() != b.items.size()) return false;
  return std::all_of(a.items.begin(), a.items.end(), [&](const Dict::Item& item) {
    count_step(budget);
    const Value* other = b.find(item.first, budget);
    return other != nullptr && equal(item.second, *other, budget);
  });
}

// Numbers at equal distances do not meet in one bucket.
size_t hash_whole(int64_t n) {
  const uint64_t mixed = static_cast<uint64_t>(n) * 0x9e3779b97f4a7c15;
  return mixed ^ (mixed >> 32);
}

bool is_any_number(const Value& v) { return v.is_number() || v.is(Kind::kLarge); }

int compare_digits(std::string_view a, std::string_view b) {
  const bool negative = a.starts_with('-');
  if (negative != b.starts_with('-')) return negative ? -1 : 1;
  const int of_sizes = a.size() == b.size() ? a.compare(b) : a.size() < b.size() ? -1 : 1;
  return negative ? -of_sizes : of_sizes;
}

// Compares a number of more than 64 bits with any other number.
int compare_large(const Value& large, const Value& other, bool& unordered) {
  const int sign = text_of(large).starts_with('-') ? -1 : 1;
  if (other.is(Kind::kLarge)) return compare_digits(text_of(large), text_of(other));
  if (other.is_integral()) return sign;
  const double f = other.as_double();
  unordered = std::isnan(f);
  if (std::isinf(f)) return f < 0 ? 1 : -1;
  return std::abs(f) < 0x1p63 ? sign : compare_digits(text_of(large), fmt::format("{:.0f}", f));
}

// An int and a float as numbers, also where a double cannot hold the int.
int compare_numbers(const Value& a, const Value& b, bool& unordered) {
  if (a.is(Kind::kLarge)) return compare_large(a, b, unordered);
  if (b.is(Kind::kLarge)) return -compare_large(b, a, unordered);
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
int order(const Value& a, const Value& b, std::string_view sign, bool& unordered, Budget* budget) {
  if (is_any_number(a) && is_any_number(b)) return compare_numbers(a, b, unordered);
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    count_bytes(budget, std::min(text_of(a).size(), text_of(b).size()));
    return text_of(a).compare(text_of(b));
  }
  if (!a.is_list_like() || a.kind() != b.kind()) fail_to_order(a, b, sign);
  const std::vector<Value>& x = a.as<List>().items;
  const std::vector<Value>& y = b.as<List>().items;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    count_step(budget);
    if (!equal(x[i], y[i], budget)) return order(x[i], y[i], sign, unordered, budget);
  }
  return x.size() < y.size() ? -1 : x.size() > y.size();
}

}  // namespace

void fail(std::string message) { throw JinjaError{std::move(message)}; }
void fail_at(int line, std::string message) { throw JinjaError{std::move(message), line}; }

void Budget::step(size_t n) {
  n_steps += n;
  if (n_steps > most_steps)
    throw JinjaError{fmt::format("the template takes more than the limit of {} steps", most_steps),
                     0, true};
}

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
  list->is_hashable = kind == Kind::kTuple;
  for (const Value& item : items) {
    depth = std::max(depth, item.depth());
    n_bytes += uncounted_bytes(item);
    list->is_hashable = list->is_hashable && hashable(item);
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

Value make_large(std::string digits) {
  const size_t n = digits.size();
  return Value::of(Kind::kLarge, make_ref<Str>(std::move(digits), n));
}

size_t Dict::index_of(const Value& key, Budget* budget) const {
  if (!hashable(key)) fail(fmt::format("unhashable type: '{}'", type_name(key)));
  if (items.size() <= kLinear) {
    for (size_t i = 0; i < items.size(); ++i)
      if (equal(items[i].first, key, budget)) return i;
    return items.size();
  }
  const auto [begin, end] = index_.equal_range(hash_of(key, budget));
  for (auto at = begin; at != end; ++at)
    if (equal(items[at->second].first, key, budget)) return at->second;
  return items.size();
}

const Value* Dict::find(const Value& key, Budget* budget) const {
  const size_t i = index_of(key, budget);
  return i < items.size() ? &items[i].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (items.size() > kLinear) return find(make_string(std::string(key)), nullptr);
  for (const Item& item : items)
    if (item.first.is(Kind::kString) && text_of(item.first) == key) return &item.second;
  return nullptr;
}

void Dict::set(Value key, Value value, Budget* budget) {
  if (const size_t i = index_of(key, budget); i < items.size()) {
    items[i].second = std::move(value);
    return;
  }
  items.emplace_back(std::move(key), std::move(value));
  if (items.size() <= kLinear) return;
  const size_t first = items.size() == kLinear + 1 ? 0 : items.size() - 1;
  for (size_t i = first; i < items.size(); ++i) index_.emplace(hash_of(items[i].first, budget), i);
}

int64_t Range::length() const {
  const __int128 from = step > 0 ? start : stop, to = step > 0 ? stop : start, by = step;
  if (from >= to) return 0;
  const __int128 n = (to - from - 1) / (by < 0 ? -by : by) + 1;
  return n < INT64_MAX ? static_cast<int64_t>(n) : INT64_MAX;
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
    case Kind::kLarge:
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
  return !v.is(Kind::kTuple) || v.as<List>().is_hashable;
}

size_t hash_of(const Value& v, Budget* budget) {
  if (v.is_integral()) return hash_whole(v.integer());
  if (v.is(Kind::kFloat)) {
    const double f = v.as_double();
    const bool whole = std::abs(f) < 0x1p63 && f == std::floor(f);
    return whole ? hash_whole(static_cast<int64_t>(f)) : std::hash<double>{}(f);
  }
  // Hashes like a float of that value.
  if (v.is(Kind::kLarge)) return std::hash<double>{}(std::strtod(text_of(v).c_str(), nullptr));
  if (v.is(Kind::kString)) {
    count_bytes(budget, text_of(v).size());
    return std::hash<std::string>{}(text_of(v));
  }
  if (v.is(Kind::kTuple)) {
    size_t hash = 0x9e3779b97f4a7c15;
    for (const Value& item : v.as<List>().items) {
      count_step(budget);
      hash = std::rotl(hash, 5) ^ hash_of(item, budget);
    }
    return hash;
  }
  if (v.is(Kind::kNone) || v.undefined()) return static_cast<size_t>(v.kind());
  return std::hash<const void*>{}(v.object());
}

bool equal(const Value& a, const Value& b, Budget* budget) {
  if (is_any_number(a) && is_any_number(b)) {
    bool unordered = false;
    return compare_numbers(a, b, unordered) == 0 && !unordered;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      return equal_texts(text_of(a), text_of(b), budget);
    case Kind::kList:
    case Kind::kTuple:
      return a.same_object(b) || equal_lists(a.as<List>(), b.as<List>(), budget);
    case Kind::kDict:
      return a.same_object(b) || equal_dicts(a.as<Dict>(), b.as<Dict>(), budget);
    case Kind::kRange: {
      const Range &x = a.as<Range>(), &y = b.as<Range>();
      const int64_t n = x.length();
      return n == y.length() && (n == 0 || (x.start == y.start && (n == 1 || x.step == y.step)));
    }
    case Kind::kView:
      return a.same_object(b) ||
             (a.as<View>().of == b.as<View>().of && a.as<View>().of != ViewOf::kValues &&
              equal(a.as<View>().dict, b.as<View>().dict, budget));
    default:
      return a.same_object(b);
  }
}

bool less(const Value& a, const Value& b, Budget* budget, std::string_view sign) {
  bool unordered = false;
  const int found = order(a, b, sign, unordered, budget);
  return !unordered && found < 0;
}

bool less_or_equal(const Value& a, const Value& b, Budget* budget, std::string_view sign) {
  bool unordered = false;
  const int found = order(a, b, sign, unordered, budget);
  return !unordered && found <= 0;
}

}  // namespace pando::jinja
