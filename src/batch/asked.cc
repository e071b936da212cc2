#include "batch/asked.h"

#include <utility>

#include "engine/options.h"
#include "api/prompt.h"

namespace pando {

Result<std::vector<Request>> asked_of(const Model& model, const EngineOptions& options,
                                      const BatchLine& line, const BatchQuestion& question) {
  Result<std::vector<Request>> requests = requests_of(model, line, question);
  if (!requests) return requests;
  for (Request& request : *requests) {
    Result<std::vector<Token>> tokens = encode_prompt(model, request);
    if (!tokens) return tokens.error();
    request.tokens = std::move(*tokens);
    if (Status status = check_request(request, model.info().vocab, options); !status)
      return status.error();
  }
  return requests;
}

Result<std::string> prompt_text(const Model& model, const Request& request) {
  if (!request.messages.empty()) return model.render_chat(request.messages, request.chat);
  return request.tokens.empty() ? Result<std::string>(request.prompt)
                                : model.decode(request.tokens);
}

std::span<const Token> prompt_of(const BatchQuestion& question, const Request& asked) {
  const std::span<const Token> tokens = asked.tokens;
  return question.choices.empty() ? tokens : tokens.first(*asked.prompt_logprobs_from);
}

}  // namespace pando
