#include "cli/faster_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace pando::cli {
namespace {

constexpr int64_t kFewestParameters = 100'000'000;  // smaller models were not measured
constexpr std::string_view kSlowTypes[] = {"f32", "f16", "bf16"};
constexpr double kWorthSaying = 2;

// Speeds of reading a prompt of 512 tokens: "compare" in docs/figures, rows "prompt 512".
struct PromptSpeeds {
  std::string_view isa;
  double q8_0, bf16;  // tokens/s
};
constexpr PromptSpeeds kPromptSpeeds[] = {
    {"amx", 1128, 389}, {"avx512bf16", 1161, 459}, {"avx2", 186, 151}};

constexpr double kPerplexityPercent = 0.27;  // the most that q8_0 changed it in docs/quality.md

}  // namespace

std::string faster_types(const ModelInfo& model, const std::string& isa) {
  const auto speeds = std::ranges::find(kPromptSpeeds, isa, &PromptSpeeds::isa);
  const bool is_slow = std::ranges::find(kSlowTypes, model.weight_type) != std::end(kSlowTypes);
  if (!is_slow || model.n_parameters < kFewestParameters || speeds == std::end(kPromptSpeeds))
    return {};
  const double times = speeds->q8_0 / speeds->bf16;
  if (times < kWorthSaying) return {};
  return fmt::format(
      "the weights are {}; with --weights q8_0 prompts were read {:.1f} times as fast as with bf16 "
      "on a machine with {}, and perplexity changed by at most {}% (page \"What smaller types "
      "cost\")",
      model.weight_type, times, isa, kPerplexityPercent);
}

}  // namespace pando::cli
