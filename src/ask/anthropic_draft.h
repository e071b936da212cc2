// Translates bodies of Anthropic's Messages API into bodies of a chat.
#pragma once

#include "ask/door_fields.h"
#include "base/json.h"
#include "pando/values/result.h"

namespace pando::ask {

struct AnthropicDraft {
  ChatDraft draft;
  bool wants_thinking = false;  // turns reasoning on if the chat template has a switch for it
  bool shows_thinking = true;   // false: blocks of thinking are empty
};

// Purpose of a body: an answer, or a count of tokens.
enum class AnthropicCall { kMessage, kCountTokens };

// Translates a body, which is an object. Errors: kInvalidArgument, with the place in the body.
Result<AnthropicDraft> draft_of_anthropic(const Json& body, AnthropicCall call);

}  // namespace pando::ask
