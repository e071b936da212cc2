// How techniques that work per batch put sequences together: whole prompts, in batches.
#pragma once

#include "schedule/batcher.h"

namespace pando::lab {

struct StaticBatching {
  // Order of the waiting prompts: as they came; shortest first; or packed into bins as long as the
  // longest prompt. With kBins, n_sequences bins start together.
  enum class Order { kArrival, kLength, kBins };
  // Rows that the prompts of a batch take: one for each token; for each prompt as many as the
  // longest has; or for each bin as many as the longest prompt has.
  enum class Shape { kRagged, kRectangle, kBins };

  uint32_t n_rows;           // rows of a step at most; prompts are computed whole
  uint32_t n_sequences = 0;  // above 0: so many start together, and all end before others start
  Order order = Order::kArrival;
  Shape shape = Shape::kRagged;

  bool is_static() const { return n_sequences > 0; }
};

// Advances whole sequences: first all that run, then waiting ones as `batching` says, as many as
// may start. At least one sequence advances.
std::vector<Advance> schedule_whole(const WorkView& view, const StaticBatching& batching);

class StaticBatcher : public Batcher {
 public:
  explicit StaticBatcher(const StaticBatching& batching) : batching_(batching) {}

  const StaticBatching& batching() const { return batching_; }
  Sight sight(const Queue& queue) override;
  std::vector<Advance> choose(const WorkView& view, std::span<const ScheduledRequest>) override {
    return schedule_whole(view, batching_);
  }

 protected:
  // How many waiting sequences, in order of arrival, start together; at least one.
  virtual size_t batch_of(const Queue&) { return std::numeric_limits<size_t>::max(); }

 private:
  StaticBatching batching_;
};

}  // namespace pando::lab
