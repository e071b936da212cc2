// Counts of tokens that answers of the API report.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"
#include "pando/values/request.h"

namespace pando::ask {

// "usage": a prompt counts once for all its n answers.
struct UsageCounts {
  uint64_t n_prompt = 0, n_generated = 0;
  uint64_t n_cached = 0;  // of the prompts: from the cache, or computed for others too

  UsageCounts() = default;
  explicit UsageCounts(std::span<const std::vector<Completion>> answers);  // [requests][n]
  void add(std::span<const Completion> of_prompt);
  // {"prompt_tokens", "completion_tokens", "total_tokens"}, and with `cached`
  // {"prompt_tokens_details": {"cached_tokens"}}.
  Json json(bool cached) const;
};

// "sharing": a prompt counts for each of its n answers.
struct SharingCounts {
  uint64_t n_prompt = 0, n_reused = 0;

  SharingCounts() = default;
  explicit SharingCounts(std::span<const std::vector<Completion>> completions);  // [requests][n]
  void add(std::span<const std::vector<Completion>> completions);
  Json json() const;  // {"prompt_tokens", "computed", "reused"}
};

}  // namespace pando::ask
