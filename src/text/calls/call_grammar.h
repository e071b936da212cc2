// The grammar of an answer's calls.
#pragma once

#include "pando/values/request.h"
#include "text/calls/call_format.h"
#include "text/calls/offered_tools.h"
#include "text/grammar/grammar.h"
#include "text/grammar/vocabulary.h"

namespace pando::calls {

// Calls of the tools that may be called, with arguments that are valid under their schemas;
// CallParser reads each text as its calls.
//
// If calls are required, a text is one call or more, from the beginning of an answer on. They stand
// in the format; or, if it cannot write them, as objects of JSON. In the channels of gpt-oss,
// beginnings of messages with reasoning may stand before them.
//
// Otherwise a text begins with the mark of a section or of a call, or with the head of an object
// (head_of_object), and the answer may go on in any way where the text may end.
//
// Errors: kInvalidArgument and kUnsupported of a schema, which name the tool, if calls are required
// or strict; otherwise the arguments of such a tool are any object. And a name that the format
// cannot write: a grammar without it would bar the call.
Result<grammar::GrammarPtr> call_grammar(const CallFormat& format, const OfferedTools& tools,
                                         const CallOptions& options,
                                         const grammar::Vocabulary& vocabulary);

}  // namespace pando::calls
