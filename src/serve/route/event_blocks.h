// Blocks of a stream of events, as far as a router reads them.
#pragma once

#include <string>
#include <string_view>

namespace pando::serve {

// The reason why the server that wrote the block ends its stream early: it shuts down, or it
// failed. Empty for other blocks, also for errors of the request.
std::string failure_told_by(std::string_view block);

// True if two blocks are equal except for counts. Tokens from a cache, and tokens of other answers
// so far, are others at another server.
bool differ_in_counts_alone(std::string_view left, std::string_view right);

// True if the last of these lines of JSON ends a stream of lines: nothing follows.
bool ends_lines(std::string_view lines);

}  // namespace pando::serve
