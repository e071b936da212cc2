// The rows by which engines are compared: a prompt, an answer alone, answers over a shared prompt.
#pragma once

#include <string>
#include <vector>

#include "bench/harness.h"

namespace pando::bench {

struct SpeedRow {
  enum class Kind { kPrefill, kDecode, kShared } kind;
  int n_prompt;         // tokens
  int n_sequences = 1;  // that share the prompt
  const char* kind_name() const;
  std::string name() const;
};

// Tokens of each answer that kDecode and kShared time.
constexpr int kSpeedAnswer = 16;

std::vector<SpeedRow> speed_rows(const Harness& harness);
// Prompts are new in every repetition; the shared part is cached before time is taken.
Workload speed_workload(const SpeedRow& row, int vocab, int repetition);
// Number of tokens of the prompt, or of all answers.
int speed_tokens(const SpeedRow& row);

struct SpeedWeights {
  WeightType type;
  const char* name;  // "q8_0"
  bool all_rows;     // otherwise those of at most 512 tokens
};
std::vector<SpeedWeights> speed_weights(const Harness& harness);

}  // namespace pando::bench
