// The tokens of a request's prompt.
#pragma once

#include <vector>

#include "pando/model.h"
#include "pando/request.h"

namespace pando {

// Those it brings, or those of its text or conversation, cut where it asks for that. Any thread.
// Errors: as Model::encode and Model::render_chat.
Result<std::vector<Token>> encode_prompt(const Model& model, const Request& request);

}  // namespace pando
