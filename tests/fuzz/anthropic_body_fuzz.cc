// Bodies of Anthropic's Messages API. The first byte chooses between messages and their tokens.
#include "ask/anthropic_draft.h"
#include "ask/openai_request.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "text/utf8.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Result<Json> json = parse_json(fuzz::text_of(data + 1, size - 1));
  if (!json || !json->is_object()) return 0;
  const ask::AnthropicCall call =
      data[0] % 2 == 0 ? ask::AnthropicCall::kMessage : ask::AnthropicCall::kCountTokens;
  const Result<ask::AnthropicDraft> body = ask::draft_of_anthropic(*json, call);
  if (!body) {
    fuzz::check_error(body.error());
    return 0;
  }
  fuzz::demand(!body->draft.chat["messages"].empty(), "a chat without messages");
  const Result<ask::OpenAiRequest> read =
      ask::parse_openai_request(ask::Endpoint::kChat, body->draft.chat, {});
  if (!read) {
    const Error error = body->draft.translated(read.error());
    fuzz::check_error(error);
    fuzz::demand(error.place.field.find("tool_calls") == std::string::npos,
                 "an error at a place that is not in the body");
    return 0;
  }
  fuzz::demand(read->requests.size() == 1, "requests of a body");
  for (const ChatMessage& message : read->requests[0].messages)
    fuzz::demand(!find_invalid_utf8(message.content), "a text that is not UTF-8");
  return 0;
}
