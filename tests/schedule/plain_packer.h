// The packer as a plain loop: all prefills sorted, and each considered.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "schedule/binary_search.h"
#include "schedule/packer.h"
#include "schedule/step_draft.h"

namespace pando::testing {

class PlainPacker {
 public:
  explicit PlainPacker(const PackerInput& input)
      : view_(input.view),
        requests_(input.requests),
        now_(input.now),
        predictor_(input.predictor),
        policy_(input.policy),
        options_(input.options),
        margin_(input.margin),
        draft_(view_),
        granted_(view_.items.size()),
        n_starts_(view_.n_starts) {
    for (uint32_t item = 0; item < view_.items.size(); ++item)
      (view_.items[item].decoding ? decodes_ : prefills_).push_back(item);
    if (policy_.shares_steps) age();
    std::ranges::stable_sort(
        prefills_, {}, [&](uint32_t item) { return policy_.priority(requests_[item], now_); });
  }

  PackedStep pack() {
    for (const uint32_t item : decodes_) grant(item, n_rows_left());
    const double decodes = predictor_.seconds(draft_.features());
    set_budget(decodes);
    // If the decodes miss their budget anyhow, the share is taken of their own time: a tpot_slo
    // that cannot be kept must not stop prefill.
    const double shared = std::max(target_, std::min(decodes, options_.step_budget));
    const double least = decodes + options_.packing.least_share * shared;
    limit_ = std::max(target_, least);
    if (aged_ && options_.many_prefills) give_share(*aged_, least);
    // One prefill at a time: the aged one gets whole steps, until it has had its share of the time.
    if (aged_ && !options_.many_prefills && is_behind(requests_[*aged_]))
      give_share(*aged_, limit_);
    for (const uint32_t item : prefills_) consider(item);
    if (options_.many_prefills && !options_.packing.whole_prompts) give_back();
    take_one_row();
    take_along();
    return {draft_.advances(), draft_.features(), std::max(budget_, limit_)};
  }

 private:
  struct Grant {
    uint32_t item;
    uint32_t n_rows;
  };

  // `decodes`: seconds that they take alone.
  void set_budget(double decodes) {
    budget_ = options_.step_budget;
    const double can_keep = margin_ * (1 + options_.packing.least_share) * decodes;
    if (std::isfinite(budget_))
      for (const uint32_t item : decodes_) {
        const ScheduledRequest& request = requests_[item];
        budget_ = std::min(budget_, request.tpot_slo >= can_keep
                                        ? request.tpot_slo
                                        : std::max(request.tpot_slo, request.class_tpot_slo));
      }
    target_ = decodes_.empty() ? budget_ : budget_ / margin_;
  }

  // Sets the oldest prefill that has waited too long.
  void age() {
    for (const uint32_t item : prefills_) {
      const ScheduledRequest& request = requests_[item];
      if (now_ < aged_from(request)) continue;
      if (!aged_ || request.arrival < requests_[*aged_].arrival) aged_ = item;
    }
  }

  // True if an aged prefill got less than its share of the time since it aged.
  bool is_behind(const ScheduledRequest& request) const {
    return request.work - request.left < options_.packing.least_share * (now_ - aged_from(request));
  }
  double aged_from(const ScheduledRequest& request) const {
    return request.arrival + options_.packing.aging * (request.deadline - request.arrival);
  }

  uint32_t n_rows_left() const {
    const auto n = static_cast<uint32_t>(draft_.features().rows);
    return options_.n_rows - std::min(options_.n_rows, n);
  }

  // Lets an aged prefill advance in every step, whatever comes before it.
  void give_share(uint32_t item, double limit) {
    if (options_.packing.whole_prompts) return consider_whole(item);
    if (grant_what_fits(item, limit, /*n_least=*/1) && is_long(requests_[item], options_))
      long_ = item;
  }

  // Algorithm 2.
  void consider(uint32_t item) {
    if (!options_.many_prefills && n_prefill_rows_ > 0) return;
    if (options_.packing.whole_prompts) {
      consider_whole(item);
    } else if (granted_[item]) {  // aged: this is its own place
      grow(item);
    } else if (!is_long(requests_[item], options_)) {
      grant_what_fits(item, limit_);
    } else if (!long_ && grant_what_fits(item, limit_ * (1 - yielded(requests_[item])))) {
      long_ = item;
    }
  }

  // Share of the budget that a long prefill leaves to others at first.
  double yielded(const ScheduledRequest& request) const {
    if (!policy_.shares_steps || !options_.many_prefills) return 0;
    return std::clamp(lars_priority(request, now_), 0.0, options_.packing.rho_max);
  }

  void consider_whole(uint32_t item) {
    const uint32_t n = draft_.n_wanted(item);
    if (n_prefill_rows_ > 0 &&
        (n > n_rows_left() || predictor_.seconds(draft_.with(item, n)) > limit_))
      return;
    grant(item, n);
  }

  bool grant_what_fits(uint32_t item, double limit, uint32_t n_least = 0) {
    const uint32_t n_most = std::min(draft_.n_wanted(item), n_rows_left());
    const uint32_t n = last_that(
        n_most, [&](uint32_t n) { return predictor_.seconds(draft_.with(item, n)) <= limit; });
    return grant(item, std::min(n_most, std::max(n, n_least)));
  }

  // True if the item advances.
  bool grant(uint32_t item, uint32_t n_rows) {
    const bool starts = !view_.items[item].running;
    if (n_rows == 0 || granted_[item] || (starts && n_starts_ == 0)) return false;
    if (starts) --n_starts_;
    granted_[item] = true;
    const uint32_t n = draft_.take(item, n_rows);
    if (!view_.items[item].decoding) n_prefill_rows_ += n;
    grants_.push_back({item, n});
    return true;
  }

  // Gives the unused budget to the long prefill of the step, or to the first that yielded all of
  // it.
  void give_back() {
    if (long_) return grow(*long_);
    for (const uint32_t item : prefills_)
      if (is_long(requests_[item], options_) && grant_what_fits(item, limit_)) return;
  }

  // Adds the rest of the budget to the item's grant.
  void grow(uint32_t item) {
    uint32_t& n_granted = std::ranges::find(grants_, item, &Grant::item)->n_rows;
    const uint32_t n_before = n_granted;
    const uint32_t n_most = std::max(n_before, StepDraft(view_).n_wanted(item));
    const uint32_t n_more = last_that(n_most - n_before, [&](uint32_t n) {
      n_granted = n_before + n;
      const StepFeatures step = draft().features();
      return step.rows <= options_.n_rows && predictor_.seconds(step) <= limit_;
    });
    n_granted = n_before + n_more;
    n_prefill_rows_ += n_more;
    draft_ = draft();
  }

  // The step of all grants. A larger grant may take rows that a later one took before; that one
  // then goes on to others, up to as many as it was granted.
  StepDraft draft() const {
    StepDraft draft(view_);
    for (const Grant& grant : grants_) draft.take(grant.item, grant.n_rows);
    return draft;
  }

  // Lets one prefill row in even if it does not fit beside the decodes, so that prefill never
  // stops.
  void take_one_row() {
    for (const uint32_t item : prefills_)
      if (n_prefill_rows_ == 0) grant_what_fits(item, limit_, /*n_least=*/1);
  }

  // Adds the items that advance at no cost.
  void take_along() {
    for (uint32_t item = 0; item < view_.items.size(); ++item) {
      const bool starts = !view_.items[item].running;
      if (granted_[item] || (starts && n_starts_ == 0)) continue;
      const size_t n_before = draft_.advances().size();
      draft_.take(item, 0);
      if (starts) n_starts_ -= static_cast<uint32_t>(draft_.advances().size() - n_before);
    }
  }

  const WorkView& view_;
  std::span<const ScheduledRequest> requests_;
  double now_;
  const Predictor& predictor_;
  const Policy& policy_;
  const PackerOptions& options_;
  const double margin_;
  StepDraft draft_;
  std::vector<uint32_t> decodes_;
  std::vector<uint32_t> prefills_;  // in the policy's order
  std::optional<uint32_t> aged_;
  std::optional<uint32_t> long_;  // the one that has a part in the step
  std::vector<bool> granted_;
  std::vector<Grant> grants_;
  uint32_t n_starts_;
  uint64_t n_prefill_rows_ = 0;
  double budget_ = 0;  // of the step
  double target_ = 0;  // the same less the margin
  double limit_ = 0;   // bound of the predicted seconds
};

}  // namespace pando::testing
