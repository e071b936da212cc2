// Reads one call from text that is still coming in.
#pragma once

#include <string>
#include <string_view>

#include "text/calls/call_format.h"
#include "text/calls/offered_tools.h"
#include "text/calls/scan.h"

namespace pando::calls {

struct ReadCall {
  std::string name;
  std::string id;         // as the model wrote it; empty if it wrote none
  std::string arguments;  // text of a JSON object; as the model wrote it, where that is JSON
};

// Says which names a call may have.
enum class Names { kAny, kOffered };

// A call of the format whose call_begin was taken. Stops behind the arguments, and behind the first
// mark of call_end for arguments that have no end of their own.
Read read_call(const CallFormat& format, const OfferedTools& tools, Scan& scan, ReadCall& call);

// The object of a call. Broken as soon as its keys show that it is none. `format`: keys that a
// template writes; usual others are known too.
Read read_object_call(const CallFormat& format, const OfferedTools& tools, Names names, Scan& scan,
                      ReadCall& call);

// The beginning of an object that calls a tool, up to its name.
std::string head_of_object(std::string_view name);

Read read_head(const CallFormat& format, Scan& scan, ReadCall& call);
Read read_parameters(const CallFormat& format, const OfferedTools& tools, Scan& scan,
                     ReadCall& call);
Read read_nested(const CallFormat& format, const OfferedTools& tools, Scan& scan, ReadCall& call);
Read read_pythonic_call(const OfferedTools& tools, Names names, Scan& scan, ReadCall& call);

// The first mark of a text that ends a call: "</function>" of "</function>\n</tool_call>".
std::string_view first_mark(std::string_view text);
bool is_call_name(std::string_view name);

}  // namespace pando::calls
