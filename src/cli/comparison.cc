#include "cli/comparison.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "cli/task_nouns.h"

namespace pando::cli {
namespace {

// A range of numbers, bit by bit.
template <class Values>
uint64_t with(uint64_t hash, const Values& values) {
  return XXH3_64bits_withSeed(values.data(), values.size() * sizeof(*values.data()), hash);
}

}  // namespace

// Hashes what is written, and all logits where bits are kept. A technique that works to rounding is
// held to the tokens of an answer; vectors, scores and likelihoods have nothing but their bits.
uint64_t Comparison::bits_of(const Completion& c) const {
  const uint64_t logits = exact_ ? c.logits_hash : 0;
  if (task_ == BatchTask::kAnswer && !exact_) return with(0, c.tokens);
  return with(with(with(logits, c.tokens), c.choice_logprobs), c.embedding);
}

void Comparison::add(int run, const BatchAnswer& answer) {
  runs_[static_cast<size_t>(run)].emplace(answer.key, bits_of(answer.completion));
}

size_t Comparison::n_different() const {
  return static_cast<size_t>(std::ranges::count_if(runs_[0], [&](const auto& answer) {
    const auto found = runs_[1].find(answer.first);
    return found != runs_[1].end() && found->second != answer.second;
  }));
}

size_t Comparison::n_shared() const {
  return static_cast<size_t>(std::ranges::count_if(
      runs_[0], [&](const auto& answer) { return runs_[1].contains(answer.first); }));
}

size_t Comparison::n_alone() const { return runs_[0].size() + runs_[1].size() - 2 * n_shared(); }

std::string Comparison::text() const {
  const char* what = nouns_of(task_).compared;
  const size_t n = n_shared(), n_others = n_different();
  const std::string alone =
      n_alone() > 0 ? fmt::format("; in only one of the runs: {}", n_alone()) : "";
  if (exact_)
    return fmt::format("{} identical: {}{}", what,
                       n_others > 0 ? fmt::format("NO, {} of {} differ", n_others, n)
                       : n == 0     ? "none to compare"
                       : task_ == BatchTask::kAnswer ? "yes, and every bit of their logits"
                                                     : "yes",
                       alone);
  return fmt::format(
      "{} with the same {}: {:.1f}% of {}{}", what, task_ == BatchTask::kAnswer ? "tokens" : "bits",
      100 - 100.0 * static_cast<double>(n_others) / static_cast<double>(std::max<size_t>(n, 1)), n,
      alone);
}

}  // namespace pando::cli
