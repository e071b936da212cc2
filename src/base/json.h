// JSON from files that may hold anything, read with errors that name source, field, found and
// expected.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "pando/values/result.h"

namespace pando {

// Parses `text`, in time linear in its length. Ignores a byte order mark before it. kBadFile, with
// the place, for text that is not JSON or not UTF-8, for a number beyond a double, for a repeated
// key, and for nesting deeper than kDeepestJson, which no file needs and recursion would not
// survive. Whole numbers beyond 64 bits are read as doubles, or kept with all their digits: as
// binary values, which json_text() writes as numbers.
constexpr size_t kDeepestJson = 64;
enum class LargeNumbers { kAsDoubles, kKept };
Result<Json> parse_json(std::string_view text, LargeNumbers large = LargeNumbers::kAsDoubles);
// Does the same for an object; `source` names the text in messages.
Result<Json> parse_json_object(std::string_view text, std::string_view source,
                               LargeNumbers large = LargeNumbers::kAsDoubles);
// Texts that this process has parsed so far. For tests.
uint64_t n_parsed_json();

// The digits of a number that was kept so; empty for every other value.
std::string kept_digits(const Json& value);
// A number kept so.
Json kept_number(std::string_view digits);
// The value with the members of all its objects sorted by name.
Json sorted_json(const Json& value);
// A value that json_text() writes as this text of JSON, which takes a fraction of a tree's memory.
Json written_json(std::string text);
// A list that grows as such a text.
class ListText {
 public:
  void add(const Json& value);
  Json take();  // members added since the last call

 private:
  std::string text_;
};
// Empties a tree without allocating, which its destructor does: where memory runs out, that would
// end the process.
void take_apart(Json& value) noexcept;
// One line of JSON. Bytes that are not UTF-8 are written as U+FFFD.
std::string json_text(const Json& value);

// True if the value is this text. The library's == allocates, and its exceptions end the process.
bool is_text(const Json& value, std::string_view text);
// True if the value is a whole number of 64 bits, even if it is written as 4.0.
bool is_whole(const Json& value);

// A value for a message: one line, cut short. Leaves out the contents of lists and objects that are
// nested or have more than eight members.
std::string found_text(const Json& value);

}  // namespace pando
