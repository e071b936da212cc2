// How techniques that work per batch put sequences together: whole prompts, in batches.
#pragma once

#include "schedule/batcher.h"

namespace pando::lab {

struct StaticBatching {
  // Of those that wait: as they came; shortest first; or packed into bins of the longest one's
  // length, and then n_sequences bins together.
  enum class Order { kArrival, kLength, kBins };
  // Rows that the prompts of a batch take: their tokens; as many as the longest has, for each
  // prompt; or as many for each bin that they are packed into.
  enum class Shape { kRagged, kRectangle, kBins };

  uint32_t n_rows;           // prompts are computed whole, up to so many rows in a step
  uint32_t n_sequences = 0;  // above 0: so many start together, and end before others start
  Order order = Order::kArrival;
  Shape shape = Shape::kRagged;

  bool is_static() const { return n_sequences > 0; }
};

// Whole sequences: those that run first, all of them, then what waits as `batching` says, as many
// as may start; at least one.
std::vector<Advance> schedule_whole(const WorkView& view, const StaticBatching& batching);

class StaticBatcher : public Batcher {
 public:
  explicit StaticBatcher(const StaticBatching& batching) : batching_(batching) {}

  const StaticBatching& batching() const { return batching_; }
  Sight sight(const Queue& queue) override;
  std::vector<Advance> choose(const WorkView& view, std::span<const Job>) override {
    return schedule_whole(view, batching_);
  }

 protected:
  // How many of those that wait, in order, start together; at least one.
  virtual size_t batch_of(const Queue&) { return std::numeric_limits<size_t>::max(); }

 private:
  StaticBatching batching_;
};

}  // namespace pando::lab
