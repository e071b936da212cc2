// A completion as the arrays of pando_completion.
#pragma once

#include <vector>

#include "pando.h"
#include "pando/values/request.h"

namespace pando::capi {

// Makes C structs of these calls, which point into `calls`.
std::vector<pando_tool_call> views_of(const std::vector<ToolCall>& calls);

// Owns what `view` points to; stays where it is.
class CompletionArrays {
 public:
  explicit CompletionArrays(Completion completion);
  CompletionArrays(const CompletionArrays&) = delete;
  CompletionArrays& operator=(const CompletionArrays&) = delete;

  const pando_completion* view() const { return &view_; }

 private:
  struct Scores {
    std::vector<int32_t> tokens;      // [n]
    std::vector<float> logprobs;      // [n]
    std::vector<uint8_t> likeliest;   // [n]
    std::vector<int32_t> top_tokens;  // [n, n_top]
    std::vector<float> top_logprobs;  // [n, n_top]
    size_t n_top = 0;
  };
  static Scores scores_of(const std::vector<TokenLogprob>& logprobs);

  const Completion completion_;
  const Scores generated_, prompt_;
  const std::vector<pando_tool_call> calls_;
  pando_completion view_{};
};

}  // namespace pando::capi
