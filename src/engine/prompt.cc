#include "engine/prompt.h"

namespace pando {

Result<std::vector<Token>> encode_prompt(const Model& model, const Request& request) {
  if (!request.tokens.empty()) return request.tokens;
  if (!request.messages.empty()) {
    const Result<std::string> text = model.render_chat(request.messages, request.chat);
    if (!text) return text.error();
    return model.encode(*text, /*add_bos=*/false);
  }
  if (request.prompt.empty()) return std::vector<Token>();
  return model.encode(request.prompt);
}

}  // namespace pando
