// Compiled grammars for the tool calls of requests to one model.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "pando/values/request.h"
#include "text/calls/call_format.h"
#include "text/calls/offered_tools.h"
#include "text/grammar/form_cache.h"

namespace pando::calls {

// Immutable; shared by all answers of equal requests.
struct CallForm {
  OfferedTools tools;                               // tools that may be called
  std::shared_ptr<const grammar::MaskTable> masks;  // null: calls are not enforced
};
using CallFormPtr = std::shared_ptr<const CallForm>;

// Cache of the most recently used forms, up to kMostFormBytes. Any thread.
class CallForms {
 public:
  // `forms` outlives it.
  CallForms(grammar::FormCache* forms, CallFormat format)
      : forms_(*forms), format_(std::move(format)) {}

  // Null if the request offers no tools that its answer may call. Errors name the field at fault:
  // kInvalidArgument for options that contradict each other, and those of call_grammar.
  Result<CallFormPtr> get(const Request& request);

  size_t n_kept();

 private:
  struct Entry {
    JsonValue tools;
    CallOptions options;
    CallFormPtr form;
    size_t n_bytes;
  };
  Result<CallFormPtr> make(const Request& request) const;
  CallFormPtr find(const Request& request);

  grammar::FormCache& forms_;
  const CallFormat format_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace pando::calls
