// The grammar of an answer's calls.
#pragma once

#include "pando/values/request.h"
#include "text/calls/call_format.h"
#include "text/calls/offered_tools.h"
#include "text/grammar/grammar.h"
#include "text/grammar/vocabulary.h"

namespace pando::calls {

// A grammar of calls to the tools that may be called, with arguments that are valid under their
// schemas. CallParser reads the calls back from each text of the grammar.
//
// If calls are required, a text is one call or more, from the beginning of the answer. Calls are
// written in the format, or as JSON objects if the format cannot write them. In the channels of
// gpt-oss, beginnings of messages with reasoning may come before them.
//
// Otherwise a text begins with the mark of a section or of a call, or with the head of an object
// (head_of_object). Where the text may end, the answer may go on in any way.
//
// Errors: if calls are required or strict, kInvalidArgument or kUnsupported for a schema; they name
// the tool. Otherwise the arguments of such a tool are any object. A name that the format cannot
// write is also an error: a grammar without the name would forbid the call.
Result<grammar::GrammarPtr> call_grammar(const CallFormat& format, const OfferedTools& tools,
                                         const CallOptions& options,
                                         const grammar::Vocabulary& vocabulary);

}  // namespace pando::calls
