// Finds a call whose name and arguments are known in a rendered text, and how it is written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/calls/call_format.h"
#include "text/calls/call_trials.h"

namespace pando::calls {

// A call in a text. `format` has all that is of the call's body: keys, head, marks of parameters.
struct CallShape {
  size_t begin = 0, end = 0;  // of name and arguments, with what belongs to them
  CallFormat format;
};

// The arguments by which calls are found: two texts and a number, in this order.
CallJson trial_arguments();

// The first call from `from` on, with trial_arguments(); nothing if its form is not known.
std::optional<CallShape> find_call(std::string_view text, size_t from, const TrialCall& call);

}  // namespace pando::calls
