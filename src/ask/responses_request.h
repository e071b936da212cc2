// Translates bodies of POST /v1/responses into bodies of chats.
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

// Context for the translation of a body.
struct ResponsesContext {
  std::string id;  // of the answer, without its kind
  Bounds& bounds;
  ResponseStore* store = nullptr;
  uint64_t isolation_key = 0;
};

// Errors: kInvalidArgument, which names field, found and expected; errors of the store.
Result<ResponsesRequest> translate_responses_body(const Json& body,
                                                  const ResponsesContext& context);

}  // namespace pando::ask
