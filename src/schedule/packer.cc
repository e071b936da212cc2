#include "schedule/packer.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "schedule/binary_search.h"
#include "schedule/item_queue.h"
#include "schedule/step_draft.h"

namespace pando {
namespace {

class Packer {
 public:
  explicit Packer(const PackerInput& input)
      : view_(input.view),
        requests_(input.requests),
        now_(input.now),
        predictor_(input.predictor),
        policy_(input.policy),
        options_(input.options),
        margin_(input.margin),
        draft_(view_),
        decoded_(view_),
        granted_(view_.items.size()),
        n_starts_(view_.n_starts) {
    for (uint32_t item = 0; item < view_.items.size(); ++item) {
      if (view_.items[item].decoding) {
        decodes_.push_back(item);
      } else {
        prefills_.push_back({policy_.priority(requests_[item], now_), item});
      }
    }
    if (policy_.shares_steps) age();
  }

  PackedStep pack() {
    for (const uint32_t item : decodes_) grant(item, n_rows_left());
    decoded_ = draft_;
    grants_.clear();
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
    consider_all();
    if (options_.many_prefills && !options_.packing.whole_prompts) give_back();
    take_one_row();
    take_along();
    return {draft_.advances(), draft_.features(), std::max(budget_, limit_)};
  }

 private:
  using Entry = ItemQueue::Entry;
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
    for (const auto& [priority, item] : prefills_) {
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

  // Considers prefills in the policy's order. Thousands may wait, and a step has room for few.
  // After several refusals, items for which no row fits leave the queue.
  void consider_all() {
    ItemQueue queue =
        queue_of([&](const Entry& entry) { return granted_[entry.item] || may_start(entry.item); });
    size_t n_refused = 0, n_patience = 8;
    while (!queue.empty() && (options_.many_prefills || n_prefill_rows_ == 0)) {
      const Entry next = queue.take();
      const uint64_t n_before = n_prefill_rows_;
      const bool has_share = granted_[next.item];  // aged
      consider(next.item);
      if (has_share)  // rows that it took over from others may leave room
        queue = queue_of([&](const Entry& entry) { return entry > next && may_start(entry.item); });
      if (n_prefill_rows_ > n_before || ++n_refused < n_patience) continue;
      keep_hopeful(queue);
      n_refused = 0;
      n_patience *= 2;
    }
  }

  template <class Keep>
  ItemQueue queue_of(const Keep& keep) const {
    std::vector<Entry> entries;
    for (const Entry& entry : prefills_)
      if (keep(entry)) entries.push_back(entry);
    return ItemQueue(std::move(entries));
  }

  bool may_start(uint32_t item) const { return view_.items[item].running || n_starts_ > 0; }

  // Keeps items for which one row still fits, and the aged item that already has its share. A step
  // only grows and the rows of a path are in order, so an item that does not fit now never fits.
  void keep_hopeful(ItemQueue& queue) const {
    if (options_.packing.whole_prompts && n_prefill_rows_ == 0) return;
    const auto fits_at = [&](uint32_t position) {
      // The part that the row makes busier may not be the busiest.
      const bool is_whole = view_.ranks.n_parts == 1;
      const StepFeatures row{.rows = 1, .keys = is_whole ? keys_seen(position, 1) : 0};
      return predictor_.seconds(draft_.features() + row) <= limit_;
    };
    const bool any = n_rows_left() > 0 && fits_at(0);
    const uint32_t last = any ? last_that(UINT32_MAX, fits_at) : 0;
    queue.keep([&](const Entry& entry) {
      const uint32_t item = entry.item;
      if (granted_[item]) return true;
      if (!any || !may_start(item) || (long_ && is_long(requests_[item], options_))) return false;
      const std::optional<uint32_t> position = draft_.next_position(item);
      return position && *position <= last && fits(item, 1, limit_);
    });
  }

  bool fits(uint32_t item, uint32_t n_rows, double limit) const {
    return predictor_.seconds(draft_.with(item, n_rows)) <= limit;
  }

  // Algorithm 2.
  void consider(uint32_t item) {
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
    if (n_prefill_rows_ > 0 && (n > n_rows_left() || !fits(item, n, limit_))) return;
    grant(item, n);
  }

  bool grant_what_fits(uint32_t item, double limit, uint32_t n_least = 0) {
    if (n_least == 0 && !fits(item, 1, limit)) return false;
    const uint32_t n_most = std::min(draft_.n_wanted(item), n_rows_left());
    const uint32_t n = last_that(n_most, [&](uint32_t n) { return fits(item, n, limit); });
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
    ItemQueue queue = queue_of([&](const Entry& entry) {
      return is_long(requests_[entry.item], options_) && may_start(entry.item);
    });
    keep_hopeful(queue);
    while (!queue.empty())
      if (grant_what_fits(queue.take().item, limit_)) return;
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

  // The step of the decodes and all grants. A larger grant may take rows that a later one took
  // before; that one then goes on to others, up to as many as it was granted.
  StepDraft draft() const {
    StepDraft draft = decoded_;
    for (const Grant& grant : grants_) draft.take(grant.item, grant.n_rows);
    return draft;
  }

  // Lets one prefill row in even if it does not fit beside the decodes, so that prefill never
  // stops.
  void take_one_row() {
    if (n_prefill_rows_ > 0 || n_rows_left() == 0) return;
    ItemQueue queue = queue_of([&](const Entry& entry) { return may_start(entry.item); });
    while (!queue.empty() && n_prefill_rows_ == 0)
      grant_what_fits(queue.take().item, limit_, /*n_least=*/1);
  }

  // Adds the items that advance at no cost.
  void take_along() {
    for (uint32_t item = 0; item < view_.items.size(); ++item) {
      const bool starts = !view_.items[item].running;
      if (granted_[item] || (starts && n_starts_ == 0) || !draft_.may_go_along(item)) continue;
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
  StepDraft decoded_;  // of the decodes alone
  std::vector<uint32_t> decodes_;
  std::vector<Entry> prefills_;
  std::optional<uint32_t> aged_;
  std::optional<uint32_t> long_;  // the one that has a part in the step
  std::vector<bool> granted_;
  std::vector<Grant> grants_;  // to prefills
  uint32_t n_starts_;
  uint64_t n_prefill_rows_ = 0;
  double budget_ = 0;  // of the step
  double target_ = 0;  // the same less the margin
  double limit_ = 0;   // bound of the predicted seconds
};

}  // namespace

bool is_long(const ScheduledRequest& request, const PackerOptions& options) {
  return request.left > options.packing.long_factor * options.step_budget;
}

PackedStep pack_step(const PackerInput& input) {
  PANDO_CHECK(input.requests.size() == input.view.items.size() && input.options.n_rows > 0);
  return Packer(input).pack();
}

}  // namespace pando
