// Finds where a JSON value ends in text that is still coming in.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/calls/scan.h"

namespace pando::calls {

using CallJson = Json;

constexpr int kDeepestArguments = 60;

// Goes behind one value. A number at the end of the text needs more text.
Read skip_json(Scan& scan, int depth = 0);

// A member of an object. `value` is its text, empty as long as it has not ended.
struct Member {
  std::string key;
  std::string_view value;
};
// Goes behind an object. `members` has those that were read, even if the object does not end.
Read read_members(Scan& scan, std::vector<Member>& members);

// The value of a whole text of JSON. Line ends and tabs may stand in its strings as they are. If a
// key repeats, its last member counts.
std::optional<CallJson> parse_value(std::string_view text);
// Returns the text as valid JSON, in which such characters are escaped; rewritten if keys repeat.
// Nothing if it is no object.
std::optional<std::string> object_text(std::string_view text);

}  // namespace pando::calls
