// Values of JSON: tools, documents, schemas, and what else a chat template may read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pando/values/result.h"

namespace pando {

// Copies are cheap: they share lists and objects, which never change.
struct JsonValue {
  // A whole number that int64_t cannot hold, as it is written.
  struct Digits {
    std::string text;
    bool operator==(const Digits&) const = default;
  };
  using List = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;  // in the order of writing

  std::variant<std::monostate, bool, int64_t, double, Digits, std::string,
               std::shared_ptr<const List>, std::shared_ptr<const Object>>
      value;  // std::monostate: null

  static JsonValue list(List members);
  static JsonValue object(Object members);
  // Errors: kBadFile for text that is not JSON, that repeats a key, or that is nested too deep.
  static Result<JsonValue> parse(std::string_view text);

  bool is_null() const { return std::holds_alternative<std::monostate>(value); }
  // Null if it is no list, or no object.
  const List* as_list() const;
  const Object* as_object() const;

  std::string text() const;  // one line of JSON
  // Equal objects have their members in the same order; 1 and 1.0 differ.
  bool operator==(const JsonValue& other) const;
};

}  // namespace pando
