// Bodies' requests are checked and set here once their prompts are tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "ask/body.h"
#include "base/json.h"

namespace pando::ask {

// kInvalidArgument for lists of a body ("stop", "stop_token_ids", "logit_bias") that every prompt
// gets a copy of, where they are too long.
Status check_lists(const Json& json);
// kInvalidArgument where they ask for less than one answer, for too many, or, in `top_field`, for
// too many of the likeliest tokens.
Status check_answers(const std::vector<Request>& requests, const BodyContext& context,
                     const char* top_field);
// Makes the prompt of a request tokens. Errors: those of the model's tokenizer and chat template, at
// a place in the body as its client knows it.
Status tokenise(const Model& model, Body& body, size_t request);
// kTooLong where a request, its prompt in tokens, asks for more than the context holds;
// max_positions: the model's own.
Status check_length(const Body& body, size_t request, int context, int max_positions);
// Cuts an answer whose length its body does not say to what there is room for, in tokens of prompt
// and answer.
void fit_length(Body& body, size_t request, size_t room);
// kInvalidArgument where the log-probabilities that a body asks for, its prompts in tokens, take
// more memory than one body may.
Status check_logprobs(const Body& body);
// kInvalidArgument if the hidden states of single tokens that a body asks for take more memory
// than one body may use. d_model: values of each.
Status check_rows(const Body& body, int d_model);
// Says in each request, prompts in tokens, how many tokens the others have beside its own, and
// those behind it; what one shares with the one before it counts once (Request::tokens_beside,
// tokens_behind).
void count_beside(std::vector<Request>& requests);
// How many log-probabilities a request reports at most.
uint64_t logprob_count(const Request& request);
// Tells the engine's error about a request as its client knows it: for "prompt" and "form", the
// place that these come from; of a list of prompts the message says it too.
Error of_request(const Body& body, size_t request, Error error);

}  // namespace pando::ask
