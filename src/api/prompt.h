// A request's prompt as tokens and as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/model.h"
#include "pando/values/request.h"

namespace pando {

// The request's tokens, or those of its text or conversation, cut if it asks for that. Any thread.
// Errors: as Model::encode and Model::render_chat.
Result<std::vector<Token>> encode_prompt(const Model& model, const Request& request);
// Refuses a conversation that the model's chat template can render neither as it is nor with tools
// or documents. Errors: as Model::render_chat.
Status check_conversation(const Model& model, const Request& request);
// Sets the request's tokens, cut_tokens and pooled_from. Errors: the same.
Status take_tokens(const Model& model, Request& request);
// The prompt as text: rendered where it is a conversation, decoded where it is tokens or was cut.
// Errors: the same.
Result<std::string> prompt_text(const Model& model, const Request& request);
// Text to append to the prompt of a conversation so that its answer begins with content; empty if
// none is needed.
std::string_view opening_of_content(const Model& model, std::string_view prompt);

}  // namespace pando
