// The values of a template, with Python's rules for truth, equality, order and printing.
//
// Values are immutable but for namespaces, loops and iterators, so they are shared, never copied.
// Values of a compiled template may be used by several threads. Values made while rendering belong
// to that rendering and end with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pando::jinja {

class Evaluator;
class Value;

// Refusal by a template or by its limits. Thrown inside this folder only; compile() and render()
// turn it into a Result.
struct JinjaError {
  std::string message;
  int line = 0;  // of the template; 0: not known yet
  bool is_limit = false;
};
[[noreturn]] void fail(std::string message);
[[noreturn]] void fail_at(int line, std::string message);

// Memory that the values of one rendering hold, and steps that it has taken.
struct Budget {
  size_t bytes = 0;
  size_t most_bytes = 0;
  size_t most_value_bytes = 0;
  size_t n_steps = 0;
  size_t most_steps = 0;

  void step(size_t n = 1);  // throws where there were too many
};
// Counts bytes that are copied, compared or searched. A null budget counts nothing.
inline void count_bytes(Budget* budget, size_t n_bytes) {
  if (budget != nullptr) budget->step(n_bytes / 64);
}

enum class Kind : uint8_t {
  kMissing,  // a variable that was never set; no value of the language
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kLarge,  // a whole number of more than 64 bits that the caller brings: its digits, which is all
  kList,
  kTuple,
  kDict,
  kRange,
  kView,      // keys(), values() or items() of a dict
  kIterator,  // result of filters such as `map`: may be walked once
  kNamespace,
  kLoop,
  kCallable,  // a macro, a function, a method
  kObject,    // cycler, joiner
};

// Counted by references. `depth` bounds the recursion of everything that walks a value.
struct Object {
  Object() = default;
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  void charge(Budget* of, size_t n_bytes);  // throws where the budget has no room

  std::atomic<uint32_t> references{0};
  uint32_t depth = 0;
  Budget* budget = nullptr;  // null: not counted
  size_t charged = 0;
};

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { retain(); }
  Ref(const Ref& other) : object_(other.object_) { retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr && object_->references.fetch_sub(1) == 1) delete object_;
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  void retain() {
    if (object_ != nullptr) object_->references.fetch_add(1);
  }
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

class Value {
 public:
  Value() : kind_(Kind::kMissing) { word_.i = 0; }
  Value(const Value& other) : kind_(other.kind_), markup_(other.markup_), word_(other.word_) {
    if (is_object()) word_.object->references.fetch_add(1);
  }
  Value(Value&& other) noexcept : kind_(other.kind_), markup_(other.markup_), word_(other.word_) {
    other.kind_ = Kind::kMissing;
  }
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(markup_, other.markup_);
    std::swap(word_, other.word_);
    return *this;
  }
  ~Value() {
    if (is_object() && word_.object->references.fetch_sub(1) == 1) delete word_.object;
  }

  static Value none() { return Value(Kind::kNone); }
  static Value boolean(bool b) {
    Value v(Kind::kBool);
    v.word_.i = b;
    return v;
  }
  static Value integer(int64_t i) {
    Value v(Kind::kInt);
    v.word_.i = i;
    return v;
  }
  static Value real(double f) {
    Value v(Kind::kFloat);
    v.word_.f = f;
    return v;
  }
  // Value that holds `object`, which must be of the class that the kind names.
  static Value of(Kind kind, Object* object, bool markup = false) {
    Value v(kind);
    v.word_.object = object;
    v.markup_ = markup;
    object->references.fetch_add(1);
    return v;
  }
  template <class T>
  static Value of(Kind kind, const Ref<T>& object) {
    return of(kind, object.get());
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_markup() const { return markup_; }  // a string that `safe` or `escape` made
  bool missing() const { return is(Kind::kMissing); }
  bool undefined() const { return is(Kind::kUndefined); }
  bool is_integral() const { return is(Kind::kInt) || is(Kind::kBool); }
  bool is_number() const { return is_integral() || is(Kind::kFloat); }
  bool is_list_like() const { return is(Kind::kList) || is(Kind::kTuple); }
  int64_t integer() const { return word_.i; }  // of kBool and kInt
  double as_double() const { return is(Kind::kFloat) ? word_.f : static_cast<double>(word_.i); }
  Object* object() const { return word_.object; }
  template <class T>
  T& as() const {
    return *static_cast<T*>(word_.object);
  }
  uint32_t depth() const { return is_object() ? word_.object->depth : 0; }
  bool same_object(const Value& other) const {
    return is_object() && kind_ == other.kind_ && word_.object == other.word_.object;
  }

 private:
  explicit Value(Kind kind) : kind_(kind) { word_.i = 0; }
  bool is_object() const {
    return kind_ >= Kind::kString || (kind_ == Kind::kUndefined && word_.object != nullptr);
  }

  Kind kind_;
  bool markup_ = false;
  union {
    int64_t i;
    double f;
    Object* object;
  } word_;
};

struct Str : Object {
  Str(std::string bytes, size_t n_points) : text(std::move(bytes)), length(n_points) {}
  bool ascii() const { return length == text.size(); }
  const std::string text;  // UTF-8
  const size_t length;     // characters
};

// Error message for uses of an undefined value. Reading or printing it is no error.
struct UndefinedInfo : Object {
  std::string message;
};

struct List : Object {  // also a tuple
  std::vector<Value> items;
  bool is_group = false;     // of `groupby`: the items are also .grouper and .list
  bool is_hashable = false;  // a tuple of what has a hash
};

struct Dict : Object {
  using Item = std::pair<Value, Value>;
  // Fails for a key that has no hash.
  const Value* find(const Value& key, Budget* budget) const;
  const Value* find(std::string_view key) const;
  void set(Value key, Value value, Budget* budget = nullptr);  // before it is shared only

  std::vector<Item> items;  // in the order in which they were set

 private:
  size_t index_of(const Value& key, Budget* budget) const;
  std::unordered_multimap<size_t, size_t> index_;  // of a dict of more than kLinear items
  static constexpr size_t kLinear = 12;
};

struct Range : Object {
  int64_t start = 0, stop = 0, step = 1;
  int64_t length() const;        // at most INT64_MAX
  int64_t at(int64_t i) const {  // one of its items
    return static_cast<int64_t>(start + static_cast<__int128>(i) * step);
  }
};

enum class ViewOf : uint8_t { kKeys, kValues, kItems };
struct View : Object {
  Value dict;
  ViewOf of = ViewOf::kKeys;
};

struct Iterator : Object {
  virtual bool next(Evaluator& in, Value& out) = 0;
  std::string_view name = "generator";
};

struct Namespace : Object {
  std::vector<std::pair<std::string, Value>> fields;
  Value* find(std::string_view name);
};

// ---- making values

// text: UTF-8. budget: null for values of the template itself or of the caller.
Value make_string(std::string text, Budget* budget = nullptr, bool markup = false);
Value make_list(std::vector<Value> items, Budget* budget = nullptr, Kind kind = Kind::kList);
Value make_dict(Ref<Dict> dict, Budget* budget = nullptr);
Value make_undefined(std::string message);
Value make_large(std::string digits);

// ---- what values are

inline const std::string& text_of(const Value& v) { return v.as<Str>().text; }
std::string_view type_name(const Value& v);  // as Python names it
bool truth(const Value& v);
// The number of its elements; -1 where Python's len() fails.
int64_t length_of(const Value& v);
bool hashable(const Value& v);
// These count the bytes they look at as steps.
size_t hash_of(const Value& v, Budget* budget);
bool equal(const Value& a, const Value& b, Budget* budget);
// a < b as Python orders them; fails where it does not.
bool less(const Value& a, const Value& b, Budget* budget, std::string_view sign = "<");
bool less_or_equal(const Value& a, const Value& b, Budget* budget, std::string_view sign = "<=");

// str() and repr().
std::string to_text(const Value& v);
std::string to_repr(const Value& v);
std::string short_repr(const Value& v);  // for messages
void append_repr(const Value& v, std::string& out);
std::string float_text(double f);
std::string string_repr(std::string_view text);

// The most that a value may be nested.
constexpr uint32_t kDeepestValue = 200;

}  // namespace pando::jinja
