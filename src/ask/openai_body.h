// The reader of all chat bodies; doors translate theirs for it.
#pragma once

#include "ask/body.h"
#include "ask/openai_request.h"

namespace pando::ask {

// Reads a body of the OpenAI API with a server's defaults and limits. Errors: as ReadBody.
// `embed`: how vectors are made, if neither the body nor the model's files say it.
Result<OpenAiRequest> read_openai_request(Endpoint endpoint, const Json& json,
                                          const BodyContext& context,
                                          const EmbedOptions& embed = {});

// The form of the model's vocabulary; kUnsupported if it has none, or if there is no tokenizer.
Result<FimForm> fim_form_for(const Model& model);

}  // namespace pando::ask
