// json.dumps() of Python, and values of JSON.
#include "text/chat/jinja_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "text/chat/jinja_call.h"
#include "text/chat/jinja_text.h"
#include "text/utf8.h"

namespace pando::jinja {
namespace {

constexpr size_t kLongestJson = size_t{64} << 20;

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Budget* budget) : style_(style), budget_(budget) {}

  void write(const Value& v) {
    if (budget_ != nullptr) budget_->step();
    switch (v.kind()) {
      case Kind::kNone:
        out_ += "null";
        break;
      case Kind::kBool:
        out_ += v.integer() != 0 ? "true" : "false";
        break;
      case Kind::kInt:
      case Kind::kLarge:
        out_ += to_text(v);
        break;
      case Kind::kFloat:
        out_ += number_text(v.as_double());
        break;
      case Kind::kString:
        write_string(text_of(v));
        break;
      case Kind::kList:
      case Kind::kTuple:
        write_list(v.as<List>().items);
        break;
      case Kind::kDict:
        write_dict(v.as<Dict>().items);
        break;
      default:
        fail(fmt::format("Object of type {} is not JSON serializable", type_name(v)));
    }
    check_length();
  }
  std::string take() { return std::move(out_); }

 private:
  void check_length() const {
    if (out_.size() > kLongestJson)
      throw JinjaError{fmt::format("a string is longer than the limit of {} bytes", kLongestJson),
                       0, true};
  }

  static std::string number_text(double f) {
    if (std::isnan(f)) return "NaN";
    return std::isinf(f) ? (f < 0 ? "-Infinity" : "Infinity") : float_text(f);
  }

  void line() {
    if (!style_.has_indent) return;
    out_ += '\n';
    for (int i = 0; i < level_; ++i) out_ += style_.indent;
  }

  void write_list(const std::vector<Value>& items) {
    out_ += '[';
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      line();
      write(items[i]);
    }
    --level_;
    if (!items.empty()) line();
    out_ += ']';
  }

  static std::string key_text(const Value& key) {
    switch (key.kind()) {
      case Kind::kString:
        return text_of(key);
      case Kind::kNone:
        return "null";
      case Kind::kBool:
        return key.integer() != 0 ? "true" : "false";
      case Kind::kInt:
      case Kind::kLarge:
        return to_text(key);
      case Kind::kFloat:
        return number_text(key.as_double());
      default:
        fail(fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    }
  }

  void write_dict(std::vector<Dict::Item> items) {
    if (style_.sort_keys)
      std::stable_sort(items.begin(), items.end(), [&](const Dict::Item& a, const Dict::Item& b) {
        return less(a.first, b.first, budget_);
      });
    out_ += '{';
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      line();
      write_string(key_text(items[i].first));
      out_ += style_.key_separator;
      write(items[i].second);
    }
    --level_;
    if (!items.empty()) line();
    out_ += '}';
  }

  void write_string(std::string_view text) {
    constexpr std::string_view kFrom = "\"\\\n\r\t\f\b", kTo = "\"\\nrtfb";
    out_ += '"';
    for (size_t at = 0; at < text.size();) {
      check_length();
      const char c = text[at];
      if (const size_t i = kFrom.find(c); i != kFrom.npos) {
        out_ += '\\';
        out_ += kTo[i];
      } else if (static_cast<unsigned char>(c) < 0x20 || (c == 0x7f && style_.ascii)) {
        out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      } else if ((c & 0x80) != 0 && style_.ascii) {
        write_escaped(next_utf8(text.substr(at)).point);
        at += utf8_length(c);
        continue;
      } else {
        out_ += c;
      }
      ++at;
    }
    out_ += '"';
  }

  void write_escaped(char32_t point) {
    const auto p = static_cast<uint32_t>(point);
    out_ += p < 0x10000 ? fmt::format("\\u{:04x}", p)
                        : fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((p - 0x10000) >> 10),
                                      0xdc00 + ((p - 0x10000) & 0x3ff));
  }

  const JsonStyle& style_;
  Budget* const budget_;
  std::string out_;
  int level_ = 0;
};

}  // namespace

std::string to_json(const Value& v, const JsonStyle& style, Budget* budget) {
  JsonWriter writer(style, budget);
  writer.write(v);
  return writer.take();
}

Value value_of(const nlohmann::ordered_json& json) {
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::boolean:
      return Value::boolean(json.get<bool>());
    case Type::number_integer:
      return Value::integer(json.get<int64_t>());
    case Type::number_unsigned:
      if (const uint64_t n = json.get<uint64_t>(); n <= static_cast<uint64_t>(INT64_MAX))
        return Value::integer(static_cast<int64_t>(n));
      return make_large(std::to_string(json.get<uint64_t>()));
    case Type::number_float:
      return Value::real(json.get<double>());
    case Type::string:
      return make_string(json.get<std::string>());
    case Type::array: {
      std::vector<Value> items;
      for (const auto& item : json) items.push_back(value_of(item));
      return make_list(std::move(items));
    }
    case Type::object: {
      const Ref<Dict> dict = make_ref<Dict>();
      for (const auto& [key, item] : json.items()) dict->set(make_string(key), value_of(item));
      return make_dict(dict);
    }
    case Type::binary:
      return make_large(kept_digits(json));
    default:
      return Value::none();
  }
}

}  // namespace pando::jinja
