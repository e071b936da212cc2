// Bodies of Anthropic's Messages API as bodies of a chat.
#pragma once

#include "ask/door_fields.h"
#include "base/json.h"
#include "pando/values/result.h"

namespace pando::ask {

struct AnthropicDraft {
  ChatDraft draft;
  bool wants_thinking = false;  // the answer is reasoned if the chat template has a switch for it
  bool shows_thinking = true;   // false: blocks of thinking are empty
};

// What a body is sent for.
enum class AnthropicCall { kMessage, kCountTokens };

// Translates a body, an object. Errors: kInvalidArgument, at the place in the body.
Result<AnthropicDraft> draft_of_anthropic(const Json& body, AnthropicCall call);

}  // namespace pando::ask
