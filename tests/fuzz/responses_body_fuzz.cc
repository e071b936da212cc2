// Bodies of /v1/responses, and the chats that they are translated into.
#include "ask/body.h"
#include "ask/openai_request.h"
#include "ask/responses_request.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "text/utf8.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<Json> json = parse_json(fuzz::text_of(data, size), LargeNumbers::kKept);
  if (!json) {
    fuzz::check_error(json.error());
    return 0;
  }
  if (!json->is_object()) return 0;  // refused before it gets here
  ask::Bounds bounds;
  const Result<ask::ResponsesRequest> read =
      ask::translate_responses_body(*json, {.id = "1", .bounds = bounds});
  if (!read) {
    fuzz::check_error(read.error());
    return 0;
  }
  fuzz::demand(read->input.is_array(), "items that are no list");
  for (const Json& item : read->input)
    fuzz::demand(item["id"].is_string() && item["type"].is_string(), "an item without an id");
  const Result<ask::OpenAiRequest> chat =
      ask::parse_openai_request(ask::Endpoint::kChat, read->draft.chat, {.context = 640});
  if (!chat) {
    fuzz::check_error(read->draft.translated(chat.error()));
    return 0;
  }
  fuzz::demand(chat->requests.size() == 1, "not one request");
  for (const ChatMessage& message : chat->requests[0].messages)
    fuzz::demand(!find_invalid_utf8(message.content), "a message that is not UTF-8");
  return 0;
}
