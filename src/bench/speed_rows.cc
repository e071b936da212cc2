#include "bench/speed_rows.h"

#include <fmt/format.h>

#include "bench/tokens.h"

namespace pando::bench {

using Kind = SpeedRow::Kind;

const char* SpeedRow::kind_name() const {
  return kind == Kind::kPrefill ? "prefill" : kind == Kind::kDecode ? "decode" : "shared";
}

std::string SpeedRow::name() const {
  if (kind == Kind::kPrefill) return fmt::format("prompt {}", n_prompt);
  if (kind == Kind::kDecode) return "decode alone";
  return fmt::format("{} sharing {}", n_sequences, n_prompt);
}

std::vector<SpeedRow> speed_rows(const Harness& harness) {
  if (harness.quick()) return {{Kind::kPrefill, 128}, {Kind::kDecode, 32}, {Kind::kShared, 128, 8}};
  return {{Kind::kPrefill, 512},    {Kind::kPrefill, 2048},    {Kind::kDecode, 64},
          {Kind::kShared, 512, 64}, {Kind::kShared, 2048, 64}, {Kind::kShared, 4096, 64}};
}

Workload speed_workload(const SpeedRow& row, int vocab, int repetition) {
  const SharedPrompts prefill{.n_prompts = 1, .n_shared = 0, .n_own = row.n_prompt};
  const SharedPrompts answers{.n_prompts = row.n_sequences,
                              .n_shared = row.n_prompt,
                              .n_own = row.kind == Kind::kShared ? 1 : 0,
                              .n_answer = kSpeedAnswer,
                              .is_warm = true};
  return shared_prompts(row.kind == Kind::kPrefill ? prefill : answers, vocab)(repetition);
}

int speed_tokens(const SpeedRow& row) {
  return row.kind == Kind::kPrefill ? row.n_prompt : row.n_sequences * kSpeedAnswer;
}

std::vector<SpeedWeights> speed_weights(const Harness& harness) {
  const SpeedWeights q8{WeightType::kQ8_0, "q8_0", true};
  if (harness.quick()) return {q8};
  return {q8,
          {WeightType::kBF16Dot, "bf16_dot", harness.full()},
          {WeightType::kAsStored, "bf16", harness.full()},
          {WeightType::kQ4_0, "q4_0", harness.full()}};
}

}  // namespace pando::bench
