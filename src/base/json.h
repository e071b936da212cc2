// JSON from files that may hold anything, read with errors that name source, field, found and
// expected.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

// Parses `text`, in time linear in its length. Ignores a byte order mark before it. kBadFile, with
// the place, for text that is not JSON or not UTF-8, for a number beyond a double, for a repeated
// key, and for nesting deeper than kDeepestJson, which no file needs and recursion would not
// survive. Whole numbers beyond 64 bits are read as doubles, or kept with all their digits: as
// binary values, which json_text() writes as numbers.
constexpr size_t kDeepestJson = 64;
enum class LargeNumbers { kAsDoubles, kKept };
Result<nlohmann::json> parse_json(std::string_view text,
                                  LargeNumbers large = LargeNumbers::kAsDoubles);
// The same for an object; `source` names the text in messages.
Result<nlohmann::json> parse_json_object(std::string_view text, std::string_view source);
// As parse_json, with the keys of objects in the order in which they are written.
Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text,
                                                  LargeNumbers large = LargeNumbers::kAsDoubles);
// The digits of a number that was kept so; empty for every other value.
std::string kept_digits(const nlohmann::json& value);
std::string kept_digits(const nlohmann::ordered_json& value);
// A value that json_text() writes as this text of JSON, which takes a fraction of a tree's memory.
nlohmann::ordered_json written_json(std::string text);
// A list that grows as such a text.
class ListText {
 public:
  void add(const nlohmann::ordered_json& value);
  nlohmann::ordered_json take();  // members added since the last call

 private:
  std::string text_;
};
// Empties a tree without allocating, which its destructor does: where memory runs out, that would
// end the process.
void take_apart(nlohmann::json& value) noexcept;
void take_apart(nlohmann::ordered_json& value) noexcept;
// One line of JSON. Bytes that are not UTF-8 are written as U+FFFD.
std::string json_text(const nlohmann::ordered_json& value);

// True if the value is a whole number of 64 bits, even if it is written as 4.0.
bool is_whole(const nlohmann::json& value);

// A value for a message: one line, cut short. Leaves out the contents of lists and objects that are
// nested or have more than eight members.
std::string found_text(const nlohmann::json& value);

}  // namespace pando
