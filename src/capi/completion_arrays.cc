#include "capi/completion_arrays.h"

#include <algorithm>
#include <utility>

namespace pando::capi {
namespace {

template <class T>
const T* data_or_null(const std::vector<T>& values) {
  return values.empty() ? nullptr : values.data();
}

}  // namespace

std::vector<pando_tool_call> views_of(const std::vector<ToolCall>& calls) {
  std::vector<pando_tool_call> views;
  for (const ToolCall& call : calls)
    views.push_back({.id = call.id.c_str(),
                     .name = call.name.c_str(),
                     .arguments = call.arguments.c_str(),
                     .arguments_size = call.arguments.size()});
  return views;
}

CompletionArrays::Scores CompletionArrays::scores_of(const std::vector<TokenLogprob>& logprobs) {
  Scores scores;
  for (const TokenLogprob& token : logprobs) {
    scores.tokens.push_back(token.token);
    scores.logprobs.push_back(token.logprob);
    scores.likeliest.push_back(token.likeliest);
    for (const auto& [top, logprob] : token.top) {
      scores.top_tokens.push_back(top);
      scores.top_logprobs.push_back(logprob);
    }
    scores.n_top = token.top.size();  // the same for all
  }
  return scores;
}

CompletionArrays::CompletionArrays(Completion completion)
    : completion_(std::move(completion)),
      generated_(scores_of(completion_.logprobs)),
      prompt_(scores_of(completion_.prompt_logprobs)),
      calls_(views_of(completion_.calls)) {
  view_.text = completion_.text.c_str();
  view_.text_size = completion_.text.size();
  view_.tokens = data_or_null(completion_.tokens);
  view_.n_tokens = completion_.tokens.size();
  view_.logprobs = data_or_null(generated_.logprobs);
  view_.top_tokens = data_or_null(generated_.top_tokens);
  view_.top_logprobs = data_or_null(generated_.top_logprobs);
  view_.prompt_scored = data_or_null(prompt_.tokens);
  view_.prompt_logprobs = data_or_null(prompt_.logprobs);
  view_.prompt_likeliest = data_or_null(prompt_.likeliest);
  view_.prompt_top_tokens = data_or_null(prompt_.top_tokens);
  view_.prompt_top_logprobs = data_or_null(prompt_.top_logprobs);
  view_.n_prompt_scored = prompt_.tokens.size();
  view_.n_top = std::max(generated_.n_top, prompt_.n_top);
  view_.choice_logprobs = data_or_null(completion_.choice_logprobs);
  view_.n_choices = completion_.choice_logprobs.size();
  view_.prompt_tokens = static_cast<size_t>(completion_.prompt_tokens);
  view_.logits_hash = completion_.logits_hash;
  view_.finish_reason = finish_reason_name(completion_.finish_reason);
  view_.reasoning = completion_.reasoning.c_str();
  view_.reasoning_size = completion_.reasoning.size();
  view_.calls = data_or_null(calls_);
  view_.n_calls = calls_.size();
}

}  // namespace pando::capi
