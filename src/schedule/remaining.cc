#include "schedule/remaining.h"

#include <algorithm>

#include "base/check.h"
#include "schedule/binary_search.h"

namespace pando {
namespace {

StepFeatures chunk_after(uint32_t n_done, uint32_t n_rows) {
  return {.rows = static_cast<double>(n_rows),
          .keys = keys_seen(n_done, n_rows),
          .reads = static_cast<double>(n_done)};
}

}  // namespace

uint32_t longest_chunk(const Predictor& predictor, double budget, uint32_t n_done,
                       uint32_t n_most) {
  return last_that(n_most,
                   [&](uint32_t n) { return predictor.seconds(chunk_after(n_done, n)) <= budget; });
}

RemainingTable::RemainingTable(const Predictor& predictor, double step_budget, uint32_t longest,
                               uint32_t n_rows)
    : least_(predictor.fitted(chunk_after(0, 1))) {
  PANDO_CHECK(n_rows > 0 && least_.sum() > 0);
  whole_.push_back({});
  StepTime before;
  const uint32_t n_entries = longest / kGrain + 2;  // one beyond, to interpolate to
  for (uint32_t n_done = 0; whole_.size() < n_entries;) {
    const uint32_t chunk = std::max(1u, longest_chunk(predictor, step_budget, n_done, n_rows));
    for (uint32_t end; (end = static_cast<uint32_t>(whole_.size()) * kGrain) <= n_done + chunk;)
      whole_.push_back(before + predictor.fitted(chunk_after(n_done, end - n_done)));
    before += predictor.fitted(chunk_after(n_done, chunk));
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
  const StepTime left{to.once - from.once, to.rows - from.rows};
  return left.sum() > least_.sum() ? left : least_;
}

}  // namespace pando
