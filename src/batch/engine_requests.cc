#include "batch/engine_requests.h"

#include <optional>
#include <utility>

#include "api/model_access.h"
#include "api/prompt.h"
#include "engine/options.h"
#include "text/grammar/form_cache.h"

namespace pando {

Result<std::vector<Request>> engine_requests(const Model& model, const EngineOptions& options,
                                             const ask::Job& job, const ask::Question& question) {
  Result<std::vector<Request>> requests = job.requests_of(model, question);
  if (!requests) return requests;
  const ModelInfo info = model.info();
  const ModelLimits limits{
      .vocab = info.vocab, .max_positions = info.max_positions, .tokenizer = tokenizer_of(model)};
  for (Request& request : *requests) {
    if (Status status = take_tokens(model, request); !status) return status.error();
    if (Status status = check_request(request, limits, options); !status) return status.error();
    if (const std::optional<TextForm>& form = request.sampling.form)
      if (Status status = grammar::check_form(forms_of(model), *form); !status)
        return status.error();
    if (const auto calls = call_form_of(answer_format_of(model), request); !calls)
      return calls.error();
  }
  return requests;
}

std::span<const Token> prompt_of(const ask::Question& question, const Request& request) {
  const std::span<const Token> tokens = request.tokens;
  return question.choices.empty() ? tokens : tokens.first(*request.prompt_logprobs_from);
}

}  // namespace pando
