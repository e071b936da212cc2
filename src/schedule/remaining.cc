#include "schedule/remaining.h"

#include <algorithm>

#include "base/check.h"
#include "schedule/binary_search.h"
#include "schedule/part_loads.h"

namespace pando {
namespace {

// Cost of a prefill that has all steps in flight.
StepFeatures chunk_after(const Predictor& predictor, uint32_t n_done, uint32_t n_rows) {
  StepFeatures chunk = chunk_features(predictor.ranks(), n_done, n_rows);
  chunk.before = predictor.ranks().depth - 1;
  return chunk;
}

}  // namespace

uint32_t longest_chunk(const Predictor& predictor, double budget, uint32_t n_done,
                       uint32_t n_most) {
  return last_that(n_most, [&](uint32_t n) {
    return predictor.seconds(chunk_after(predictor, n_done, n)) <= budget;
  });
}

RemainingTable::RemainingTable(const Predictor& predictor, double step_budget, uint32_t longest,
                               uint32_t n_rows)
    : predictor_(predictor.costs(), predictor.ranks()),
      least_(predictor_.fitted(chunk_features(predictor.ranks(), 0, 1))) {
  PANDO_CHECK(n_rows > 0 && least_.sum() > 0);
  const auto interval = [&](uint32_t n_done, uint32_t n) {
    return predictor_.interval(chunk_after(predictor_, n_done, n));
  };
  whole_.push_back({});
  StepTime before;
  const uint32_t n_entries = longest / kGrain + 2;  // one beyond, to interpolate to
  for (uint32_t n_done = 0; whole_.size() < n_entries;) {
    const uint32_t chunk = std::max(1u, longest_chunk(predictor, step_budget, n_done, n_rows));
    for (uint32_t end; (end = static_cast<uint32_t>(whole_.size()) * kGrain) <= n_done + chunk;)
      whole_.push_back(before + interval(n_done, end - n_done));
    before += interval(n_done, chunk);
    n_done += chunk;
  }
}

// Between two entries, in proportion.
StepTime RemainingTable::whole(uint32_t n_tokens) const {
  const uint32_t i = n_tokens / kGrain;
  PANDO_CHECK(i + 1 < whole_.size());
  const double part = static_cast<double>(n_tokens % kGrain) / kGrain;
  const StepTime &a = whole_[i], &b = whole_[i + 1];
  return {a.once + part * (b.once - a.once), a.rows + part * (b.rows - a.rows)};
}

StepTime RemainingTable::time(uint32_t n_total, uint32_t n_done) const {
  PANDO_CHECK(n_done <= n_total);
  const StepTime to = whole(n_total), from = whole(n_done);
  StepTime left{to.once - from.once, to.rows - from.rows};
  left += flow_out(n_total, n_done);
  return left.sum() > least_.sum() ? left : least_;
}

// The last slice goes through the later stages when the first stage has nothing left to do.
StepTime RemainingTable::flow_out(uint32_t n_total, uint32_t n_done) const {
  const RankShape& ranks = predictor_.ranks();
  if (ranks.depth == 1 || n_total == n_done) return {};
  const uint32_t n = ranks.slice_rows == 0 ? 1 : std::min(n_total - n_done, ranks.slice_rows);
  const StepFeatures last = chunk_features(ranks, n_total - n, n);
  const StepTime alone = predictor_.fitted(last), interval = predictor_.interval(last);
  return {alone.once - interval.once, alone.rows - interval.rows};
}

}  // namespace pando
