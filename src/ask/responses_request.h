// Bodies of POST /v1/responses, translated into those of chats.
#pragma once

#include <string>

#include "ask/door_fields.h"
#include "ask/response_store.h"
#include "base/json.h"

namespace pando::ask {

class Bounds;

struct ResponsesRequest {
  ChatDraft draft;
  Json input = Json::array();  // the body's items, as they are kept
  std::string previous;        // id of the response that is continued; empty: none
  bool is_stored = true;
};

// What the translation of a body needs besides it.
struct ResponsesContext {
  std::string id;  // of the answer, without its kind
  Bounds& bounds;
  ResponseStore* store = nullptr;
  uint64_t isolation_key = 0;
};

// Errors: kInvalidArgument names field, found and expected; those of the store.
Result<ResponsesRequest> translate_responses_body(const Json& body,
                                                  const ResponsesContext& context);

}  // namespace pando::ask
