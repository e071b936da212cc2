#include "base/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/errors.h"
#include "base/nearest.h"

namespace pando {
namespace {

Error unknown_field(const std::string& name, std::span<const std::string_view> known,
                    std::string_view otherwise) {
  constexpr size_t kFew = 8;
  Error error = with_nearest(name, known, invalid_field(name, "is unknown"));
  if (!error.hint.empty()) return error;
  error.expected = known.size() <= kFew ? fmt::format("{}", fmt::join(known, ", ")) : otherwise;
  return error;
}

}  // namespace

const Json* Fields::find(std::string_view name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

Error Fields::wrong(std::string_view name, std::string_view found, std::string_view expected,
                    ErrorCode code) const {
  Error error =
      of_field(std::string(name), make_error(code, "is {}, expected {}", found, expected));
  return source_.empty() ? error : in_file(source_, std::move(error));
}

void Fields::refuse(std::string_view name, std::string_view expected,
                    std::optional<ErrorCode> code) {
  const auto found = object_.find(name);
  const std::string is = found == object_.end() ? "absent" : found_text(*found);
  fail(wrong(name, is, expected, source_.empty() ? code_ : code.value_or(code_)));
}

int64_t Fields::integer(std::string_view name, int64_t min, int64_t max,
                        std::optional<int64_t> fallback) {
  return integer(name, WholeRange{min, max}, fallback);
}

int64_t Fields::integer(std::string_view name, const WholeRange& range,
                        std::optional<int64_t> fallback) {
  const Json* value = find(name);
  if (value == nullptr && fallback) return *fallback;
  if (value != nullptr && is_whole(*value)) {
    const bool fits =
        !value->is_number_unsigned() || value->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
    if (fits && range.contains(value->get<int64_t>())) return value->get<int64_t>();
  }
  refuse(name, range.text());
  return fallback.value_or(std::max(range.min, range.multiple));
}

double Fields::real(std::string_view name, const RealRange& range, std::optional<double> fallback) {
  const Json* value = find(name);
  if (value == nullptr && fallback) return *fallback;
  if (value != nullptr && value->is_number() && range.contains(value->get<double>()))
    return value->get<double>();
  refuse(name, range.text);
  return fallback.value_or(range.contains(1.0) ? 1.0 : range.max);
}

double Fields::positive(std::string_view name, std::optional<double> fallback) {
  constexpr RealRange kPositive = {"a number above 0", 0, std::numeric_limits<double>::max()};
  return real(name, kPositive, fallback);
}

bool Fields::boolean(std::string_view name, bool fallback) {
  const Json* value = find(name);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    refuse(name, "true or false");
    return fallback;
  }
  return value->get<bool>();
}

std::string Fields::string(std::string_view name, std::string_view fallback) {
  const Json* value = find(name);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) {
    refuse(name, "a string");
    return std::string(fallback);
  }
  return value->get<std::string>();
}

void Fields::text(const char* name, std::string& out) {
  read(name, "a string", std::mem_fn(&Json::is_string),
       [&](const Json& value) { out = value.get<std::string>(); });
}

void Fields::flag(const char* name, bool& out) {
  read(name, "true or false", std::mem_fn(&Json::is_boolean),
       [&](const Json& value) { out = value.get<bool>(); });
}

void Fields::number(const char* name, double& out) {
  const auto is = [](const Json& value) {
    return value.is_number() || !kept_digits(value).empty();
  };
  read(name, "a number", is, [&](const Json& value) {
    out = value.is_number() ? value.get<double>() : std::stod(kept_digits(value));
  });
}

void Fields::integer(const char* name, int& out) {
  read(name, "an integer", is_whole, [&](const Json& value) {
    const double wide = value.get<double>();
    if (wide < -2147483648.0) return fail(name, value, "an integer of at least -2147483648");
    if (wide > 2147483647.0) return fail(name, value, "an integer of at most 2147483647");
    out = static_cast<int>(wide);
  });
}

void Fields::seed(const char* name, std::optional<uint64_t>& out) {
  read(name, "a 64-bit integer", is_whole, [&](const Json& value) {
    // -1 is 2^64 - 1
    out = value.is_number_float() ? static_cast<uint64_t>(static_cast<int64_t>(value.get<double>()))
                                  : value.get<uint64_t>();
  });
}

void Fields::texts(const char* name, std::vector<std::string>& out) {
  if (has(name) && object_[name].is_string())
    out = {object_[name].get<std::string>()};
  else if (has(name) && !object_[name].is_array())
    fail(name, object_[name], "a string or a list of strings");
  else
    text_list(name, out);
}

void Fields::text_list(const char* name, std::vector<std::string>& out) {
  if (has(name)) out.clear();
  list(name, "a list of strings", std::mem_fn(&Json::is_string), "a string",
       [&](size_t, const Json& value) { out.push_back(value.get<std::string>()); });
}

void Fields::tokens(const char* name, std::vector<Token>& out) {
  if (!has(name)) return;
  const Json& values = object_[name];
  if (!values.is_array()) return fail(name, values, "a list of token ids");
  tokens_of(name, values, out);
}

void Fields::tokens_of(const char* place, const Json& list, std::vector<Token>& out) {
  out.clear();
  out.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const Json& value = list[i];
    const double wide = is_whole(value) ? value.get<double>() : -1;
    if (wide < 0 || wide > 0x7fffffff)
      return fail(place_in(place, i), value, wide < 0 ? "a token id" : "a token id below 2^31");
    out.push_back(static_cast<Token>(wide));
  }
}

void Fields::biases(const char* name, std::map<Token, double>& out) {
  constexpr const char* kExpected = "an object that maps token ids to numbers";
  read(name, kExpected, std::mem_fn(&Json::is_object), [&](const Json& object) {
    out.clear();
    for (const auto& [key, bias] : object.items()) {
      Token token = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
      if (error != std::errc() || end != key.data() + key.size() || !bias.is_number())
        return fail(name, object, kExpected);
      out[token] = bias.get<double>();
    }
  });
}

void Fields::object(const char* name, Json& out) {
  read(name, "an object", std::mem_fn(&Json::is_object), [&](const Json& value) { out = value; });
}

void Fields::fail(std::string_view name, const Json& found, std::string_view expected) {
  fail(wrong(name, found_text(found), expected, code_));
}

void Fields::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void Fields::fail(const char* part, const Fields& of_part) {
  if (!of_part.status()) fail(in_part(part, of_part.status().error()));
}

void Fields::only(std::span<const std::string_view> known, std::string_view otherwise) {
  for (const auto& [name, value] : object_.items())
    if (!value.is_null() && std::find(known.begin(), known.end(), name) == known.end())
      return fail(unknown_field(name, known, otherwise));
}

void Fields::read(const char* name, const char* expected, const Is& is, const Take& take) {
  if (!has(name)) return;
  const Json& value = object_[name];
  if (is(value)) {
    take(value);
  } else {
    fail(name, value, expected);
  }
}

void Fields::list(const char* name, const char* expected, const Is& is, const char* of_one,
                  const TakeOne& take) {
  if (!has(name)) return;
  const Json& values = object_[name];
  if (!values.is_array()) return fail(name, values, expected);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!is(values[i])) return fail(place_in(name, i), values[i], of_one);
    take(i, values[i]);
  }
}

}  // namespace pando
