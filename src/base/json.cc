#include "base/json.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/byte_order_mark.h"
#include "base/errors.h"

namespace pando {

namespace {

std::string cut_short(std::string text) {
  size_t n = 77;
  if (text.size() <= n + 3) return text;
  while ((text[n] & 0xc0) == 0x80) --n;  // not inside a character
  return text.substr(0, n) + "...";
}

// Subtypes of binary values that are numbers, and of those that are texts of JSON.
constexpr uint8_t kNumberSubtype = 10, kTextSubtype = 11;

std::atomic<uint64_t> n_parsed = 0;

void append_text(const Json& value, std::string& out) {
  if (value.is_binary()) {
    const auto& bytes = value.get_binary();
    out.append(bytes.begin(), bytes.end());
  } else if (!value.is_structured()) {
    out += value.dump(-1, ' ', false, Json::error_handler_t::replace);
  } else {
    out += value.is_array() ? '[' : '{';
    bool is_first = true;
    for (const auto& [name, one] : value.items()) {
      if (!std::exchange(is_first, false)) out += ',';
      if (value.is_object())
        out += Json(name).dump(-1, ' ', false, Json::error_handler_t::replace) + ":";
      append_text(one, out);
    }
    out += value.is_array() ? ']' : '}';
  }
}

// The keys of an object that is being filled. A few are compared one by one.
class KnownKeys {
 public:
  // True if no member of `object`, which has all keys so far, is called so.
  bool is_new(const Json::object_t& object, const std::string& key) {
    constexpr size_t kFew = 16;
    if (object.size() < kFew)
      return std::ranges::find(object, key, &Json::object_t::value_type::first) == object.end();
    if (keys_.empty())
      for (const auto& [name, value] : object) keys_.insert(name);
    return keys_.insert(key).second;
  }

 private:
  std::unordered_set<std::string> keys_;
};

// Adds a member. The library's own growth would copy the values.
Json::object_t::reference add_member(Json::object_t& object, std::string key) {
  if (object.size() == object.capacity()) {
    Json::object_t larger;
    larger.reserve(std::max<size_t>(4, 2 * object.size()));
    for (auto& [name, value] : object) larger.emplace_back(name, std::move(value));
    object.swap(larger);
  }
  return object.emplace_back(std::move(key), nullptr);
}

// Builds the value in one pass, as nlohmann's own builder does, and stops at the first key that is
// there twice and at the first level too deep. Its member functions are nlohmann's SAX interface.
class JsonBuilder {
 public:
  // Borrows the text that is parsed.
  JsonBuilder(std::string_view text, LargeNumbers large) : text_(text), large_(large) {}
  ~JsonBuilder() { take_apart(root_); }
  JsonBuilder(const JsonBuilder&) = delete;
  JsonBuilder& operator=(const JsonBuilder&) = delete;

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(int64_t value) { return put(value); }
  bool number_unsigned(uint64_t value) { return put(value); }
  bool number_float(double value, const std::string& text) {
    const bool is_large = text.find_first_not_of("-0123456789") == text.npos;
    if (!is_large || large_ == LargeNumbers::kAsDoubles) return put(value);
    return put(kept_number(text));
  }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // JSON has none
  bool start_object(size_t) { return open(Json::value_t::object); }
  bool end_object() { return close(); }
  bool start_array(size_t) { return open(Json::value_t::array); }
  bool end_array() { return close(); }

  bool key(std::string& key) {
    Open& in = open_.back();
    auto& object = in.container->get_ref<Json::object_t&>();
    if (!in.keys.is_new(object, key)) {
      error_ = bad_file("'{}' appears twice{}, expected once", cut_short(key), place());
      return false;
    }
    auto& [name, value] = add_member(object, std::move(key));
    in.key = &name;
    in.member = &value;
    return true;
  }

  bool parse_error(size_t, const std::string&, const Json::exception& failure) {
    std::string_view what = failure.what();
    if (const size_t end = what.find("] "); end != what.npos) what.remove_prefix(end + 2);
    // Leaves out the text itself, which may be long and no UTF-8.
    what = what.substr(0, what.find("; last read"));
    std::string text(what.substr(0, 200));
    // A line of a file has another number there.
    constexpr std::string_view kLine = "line 1, ";
    const bool is_one_line = text_.find('\n') == text_.npos;
    if (const size_t at = text.find(kLine); is_one_line && at != text.npos)
      text.erase(at, kLine.size());
    error_ = bad_file("not JSON: {}", text);
    return false;
  }

  Result<Json> result() && {
    if (error_) return std::move(*error_);
    return std::move(root_);
  }

 private:
  // A container that is being filled: it and its parents stay where they are until it is closed.
  struct Open {
    Json* container;
    const std::string* key = nullptr;  // of an object: the member that is read
    Json* member = nullptr;
    KnownKeys keys = {};
  };

  template <class T>
  Json& place_value(T&& value) {
    if (open_.empty()) return root_ = std::forward<T>(value);
    Open& in = open_.back();
    if (in.container->is_array()) return in.container->emplace_back(std::forward<T>(value));
    return *in.member = std::forward<T>(value);
  }

  template <class T>
  bool put(T&& value) {
    place_value(std::forward<T>(value));
    return true;
  }

  bool open(Json::value_t type) {
    open_.push_back({&place_value(Json(type))});
    if (open_.size() > kDeepestJson)
      error_ = bad_file("nested deeper than {} levels{}", kDeepestJson, place());
    return !error_;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  // " in 'a.b[3]'", the innermost container that is open; empty for the outermost.
  std::string place() const {
    std::string path;
    for (size_t i = 0; i + 1 < open_.size(); ++i) {
      if (open_[i].key == nullptr)
        path += fmt::format("[{}]", open_[i].container->size() - 1);
      else
        path += (path.empty() ? "" : ".") + *open_[i].key;
    }
    return path.empty() ? path : fmt::format(" in '{}'", cut_short(path));
  }

  std::string_view text_;
  LargeNumbers large_;
  Json root_;
  std::vector<Open> open_;
  std::optional<Error> error_;
};

}  // namespace

uint64_t n_parsed_json() { return n_parsed; }

std::string kept_digits(const Json& value) {
  if (!value.is_binary() || value.get_binary().subtype() != kNumberSubtype) return {};
  const auto& bytes = value.get_binary();
  return std::string(bytes.begin(), bytes.end());
}

Json kept_number(std::string_view digits) {
  return Json::binary({digits.begin(), digits.end()}, kNumberSubtype);
}

Json sorted_json(const Json& value) {
  if (value.is_array()) {
    Json sorted = Json::array();
    for (const Json& one : value) sorted.push_back(sorted_json(one));
    return sorted;
  }
  if (!value.is_object()) return value;
  std::vector<std::pair<std::string_view, const Json*>> members;
  for (const auto& [name, one] : value.items()) members.emplace_back(name, &one);
  std::ranges::sort(members, {}, &std::pair<std::string_view, const Json*>::first);
  Json sorted = Json::object();
  for (const auto& [name, one] : members)
    add_member(sorted.get_ref<Json::object_t&>(), std::string(name)).second = sorted_json(*one);
  return sorted;
}

Json written_json(std::string text) {
  Json written(Json::value_t::binary);
  written.get_binary() = Json::binary_t({text.begin(), text.end()}, kTextSubtype);
  return written;
}

void ListText::add(const Json& value) {
  text_ += text_.empty() ? '[' : ',';
  append_text(value, text_);
}

Json ListText::take() {
  text_ += text_.empty() ? "[]" : "]";
  return written_json(std::exchange(text_, {}));
}

// Empties children first: an empty value is destroyed without an allocation.
void take_apart(Json& value) noexcept {
  if (auto* array = value.get_ptr<Json::array_t*>()) {
    for (Json& one : *array) take_apart(one);
    array->clear();
  } else if (auto* object = value.get_ptr<Json::object_t*>()) {
    for (auto& [name, one] : *object) take_apart(one);
    object->clear();
  }
}

std::string json_text(const Json& value) {
  std::string text;
  append_text(value, text);
  return text;
}

bool is_text(const Json& value, std::string_view text) {
  return value.is_string() && value.get_ref<const std::string&>() == text;
}

bool is_whole(const Json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  return std::trunc(number) == number && std::abs(number) < 0x1p63;
}

Result<Json> parse_json(std::string_view text, LargeNumbers large) {
  ++n_parsed;
  if (const auto plain = without_mark(text); !plain)
    return bad_file("not JSON: {}", plain.error().message());
  // The library takes a NUL byte for the end of the text.
  if (const size_t at = text.find('\0'); at != std::string_view::npos)
    return bad_file("not JSON: byte {} is NUL", at + 1);
  JsonBuilder builder(text, large);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).result();
}

Result<Json> parse_json_object(std::string_view text, std::string_view source, LargeNumbers large) {
  Result<Json> value = parse_json(text, large);
  if (!value) return in_file(source, std::move(value).error());
  if (!value->is_object())
    return in_file(source, bad_file("is a JSON {}, expected an object", value->type_name()));
  return value;
}

std::string found_text(const Json& value) {
  const bool is_long =
      value.is_structured() &&
      (value.size() > 8 || std::any_of(value.begin(), value.end(),
                                       [](const Json& inside) { return inside.is_structured(); }));
  if (is_long) return value.is_array() ? "[...]" : "{...}";
  return cut_short(json_text(value));
}

}  // namespace pando
