#include "batch/asked.h"

#include <utility>

#include "engine/options.h"
#include "api/prompt.h"

namespace pando {

Result<std::vector<Request>> asked_of(const Model& model, const EngineOptions& options,
                                      const wire::Job& job, const wire::Question& question) {
  Result<std::vector<Request>> requests = job.requests_of(model, question);
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

std::span<const Token> prompt_of(const wire::Question& question, const Request& asked) {
  const std::span<const Token> tokens = asked.tokens;
  return question.choices.empty() ? tokens : tokens.first(*asked.prompt_logprobs_from);
}

}  // namespace pando
