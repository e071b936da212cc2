#include "schedule/packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "schedule/plain_packer.h"
#include "schedule/random_work.h"
#include "schedule/step_draft.h"

namespace pando {
namespace {

using namespace testing;

using Item = WorkView::Item;
using Advances = std::vector<Advance>;

constexpr double kMs = 1e-3;
// A row costs a millisecond, a position read a microsecond.
const Predictor kRows(StepCosts{.row = {kMs, kMs, kMs, kMs, kMs}, .read = kMs / 1000});

// A prefill of n_rows after n_done rows, whose work takes the predicted time.
struct Prefill {
  uint32_t n_rows;
  double slack = 0;  // relative
  uint32_t n_done = 0;
};

struct Work {
  WorkView view;
  std::vector<ScheduledRequest> requests;

  void add(const Prefill& prefill) {
    const double work = prefill.n_rows * kMs;
    add({.segments = {segment(prefill.n_done, prefill.n_rows)}, .cached = {cached(prefill.n_done)}},
        {.deadline = work + prefill.slack * work, .work = work, .left = work});
  }
  void add_decode(uint32_t n_done, double tpot_slo = 1, double class_tpot_slo = 0) {
    add({.running = true,
         .decoding = true,
         .segments = {segment(n_done, 1)},
         .cached = {cached(n_done)}},
        {.tpot_slo = tpot_slo, .class_tpot_slo = class_tpot_slo});
  }
  void add(Item item, ScheduledRequest request) {
    request.arrival = static_cast<double>(requests.size()) * 1e-9;
    view.items.push_back(std::move(item));
    requests.push_back(request);
  }
  uint32_t segment(uint32_t begin, uint32_t n_rows) {
    view.segment_begin.push_back(begin);
    view.segment_rows.push_back(n_rows);
    return static_cast<uint32_t>(view.segment_rows.size() - 1);
  }
  uint32_t cached(uint32_t n) {
    view.cached_rows.push_back(n);
    return static_cast<uint32_t>(view.cached_rows.size() - 1);
  }
  Advances pack(const PackerOptions& options, const Policy& policy = kLars, double now = 0,
                double margin = 1) const {
    return pack_step({view, requests, now, kRows, policy, options, margin}).advances;
  }
};

Work work_of(const std::vector<Prefill>& prefills) {
  Work work;
  for (const Prefill& prefill : prefills) work.add(prefill);
  return work;
}

constexpr PackerOptions kTwenty{.step_budget = 20.5 * kMs};  // twenty rows, and a little

TEST(Packer, NothingToDo) { EXPECT_TRUE(Work().pack(kTwenty).empty()); }

TEST(Packer, FillsTheBudgetInThePolicysOrder) {
  const Work work = work_of({{15, 3}, {8, 1}, {6, 2}});
  EXPECT_EQ(work.pack(kTwenty), (Advances{{1, 0, 8}, {2, 0, 6}, {0, 0, 6}}));
  EXPECT_EQ(work.pack(kTwenty, kFcfs), (Advances{{0, 0, 15}, {1, 0, 5}}));
  EXPECT_EQ(work.pack({.step_budget = 1}), (Advances{{1, 0, 8}, {2, 0, 6}, {0, 0, 15}}));
  EXPECT_EQ(work.pack({.step_budget = 1, .n_rows = 10}), (Advances{{1, 0, 8}, {2, 0, 2}}));
}

TEST(Packer, ChunksAdaptToWhatIsCached) {
  EXPECT_EQ(work_of({{50, 0, 0}}).pack(kTwenty), (Advances{{0, 0, 20}}));
  EXPECT_EQ(work_of({{50, 0, 10000}}).pack(kTwenty), (Advances{{0, 0, 10}}));
  EXPECT_EQ(work_of({{50, 0, 19000}}).pack(kTwenty), (Advances{{0, 0, 1}}));
  EXPECT_EQ(work_of({{50, 0, 30000}}).pack(kTwenty), (Advances{{0, 0, 1}})) << "a row at least";
}

TEST(Packer, ALongPrefillYieldsByItsSlack) {
  // The paper's example: with a slack of 20% it keeps 16 of 20 ms.
  EXPECT_EQ(work_of({{100, 0.2}, {3, 5}}).pack(kTwenty), (Advances{{0, 0, 17}, {1, 0, 3}}))
      << "16, and one that nobody took";
  EXPECT_EQ(work_of({{100, 0.2}, {9, 5}}).pack(kTwenty), (Advances{{0, 0, 16}, {1, 0, 4}}));
  EXPECT_EQ(work_of({{100, 0.9}, {19, 5}}).pack(kTwenty), (Advances{{0, 0, 12}, {1, 0, 8}}))
      << "rho_max";
  EXPECT_EQ(work_of({{100, -1}, {9, 5}}).pack(kTwenty), (Advances{{0, 0, 20}})) << "late";
  EXPECT_EQ(work_of({{100, 0.9}}).pack(kTwenty), (Advances{{0, 0, 20}})) << "nobody took any";
  EXPECT_EQ(work_of({{19, 0.3}, {9, 5}}).pack(kTwenty), (Advances{{0, 0, 19}, {1, 0, 1}}))
      << "a short one does not yield";
}

TEST(Packer, WhatIsLongIsConfigured) {
  PackerOptions options = kTwenty;
  options.packing.long_factor = 10;
  EXPECT_EQ(work_of({{100, 0.2}, {9, 5}}).pack(options), (Advances{{0, 0, 20}}));
  EXPECT_TRUE(is_long({.left = 21 * kMs}, kTwenty));
  EXPECT_FALSE(is_long({.work = 1, .left = 20 * kMs}, kTwenty)) << "its rest";
}

TEST(Packer, OneLongPrefillAStep) {
  // The second one gets no chunk and does not end the loop.
  const Work work = work_of({{100, 0.2}, {100, 0.3}, {3, 5}});
  EXPECT_EQ(work.pack(kTwenty), (Advances{{0, 0, 17}, {2, 0, 3}}));
}

TEST(Packer, DecodesGoFirst) {
  Work work = work_of({{100, 0}});
  for (int i = 0; i < 3; ++i) work.add_decode(0);
  EXPECT_EQ(work.pack(kTwenty), (Advances{{1, 0, 1}, {2, 0, 1}, {3, 0, 1}, {0, 0, 17}}));
}

TEST(Packer, TheStrictestDecodeSetsTheBudget) {
  Work work = work_of({{100, 0}});
  work.add_decode(0, 15.5 * kMs);
  work.add_decode(0, 11.5 * kMs);
  EXPECT_EQ(work.pack(kTwenty), (Advances{{1, 0, 1}, {2, 0, 1}, {0, 0, 9}}));
}

TEST(Packer, WhereDecodesWaitABudgetLeavesAMargin) {
  Work work = work_of({{100, 0}});
  EXPECT_EQ(work.pack(kTwenty, kLars, 0, 1.25), (Advances{{0, 0, 20}}));
  work.add_decode(0);
  EXPECT_EQ(work.pack(kTwenty, kLars, 0, 1.25), (Advances{{1, 0, 1}, {0, 0, 15}}));
}

TEST(Packer, ADeadlineThatDecodesMissLeavesPrefillAShareOfTheirTime) {
  for (const double tpot_slo : {1e-6 * kMs, 0.5 * kMs}) {
    Work work = work_of({{100, 0}});
    work.add_decode(18500, tpot_slo);
    PackerOptions options = kTwenty;
    options.packing.least_share = 0.2;  // of 19.5 ms
    EXPECT_EQ(work.pack(options), (Advances{{1, 0, 1}, {0, 0, 3}}));
    work.view.cached_rows.back() = 40000;
    EXPECT_EQ(work.pack(options), (Advances{{1, 0, 1}, {0, 0, 4}})) << "of the step budget at most";
  }
}

TEST(Packer, AWishThatDecodesMissHoldsUpNoMoreThanItsClass) {
  Work work = work_of({{100, 0}});
  work.add_decode(9500, /*tpot_slo=*/kMs, /*class_tpot_slo=*/15.5 * kMs);
  EXPECT_EQ(work.pack(kTwenty), (Advances{{1, 0, 1}, {0, 0, 5}})) << "10.5 ms are for the decode";
  work.requests.back().class_tpot_slo = 1;
  EXPECT_EQ(work.pack(kTwenty), (Advances{{1, 0, 1}, {0, 0, 10}})) << "the budget's";
  work.requests.back().tpot_slo = 11.5 * kMs;
  EXPECT_EQ(work.pack(kTwenty), (Advances{{1, 0, 1}, {0, 0, 10}})) << "missed with a tenth more";
  work.requests.back().tpot_slo = 11.6 * kMs;
  EXPECT_EQ(work.pack(kTwenty), (Advances{{1, 0, 1}, {0, 0, 1}})) << "this one can be kept";
  EXPECT_EQ(work.pack(kTwenty, kLars, 0, /*margin=*/1.3), (Advances{{1, 0, 1}, {0, 0, 5}}))
      << "not where steps take that much longer";
  work.requests.back().tpot_slo = 15.1 * kMs;
  EXPECT_EQ(work.pack(kTwenty, kLars, 0, /*margin=*/1.3), (Advances{{1, 0, 1}, {0, 0, 1}}));
}

TEST(Packer, AMinimumShareWhereDecodesAloneExceedTheBudget) {
  Work work = work_of({{100, 0}});
  work.add_decode(30000);
  EXPECT_EQ(work.pack(kTwenty), (Advances{{1, 0, 1}, {0, 0, 2}}));
  PackerOptions options = kTwenty;
  options.packing.least_share = 0.01;
  EXPECT_EQ(work.pack(options), (Advances{{1, 0, 1}, {0, 0, 1}})) << "a row at least";
  options.step_budget = PackerOptions::kNoBudget;
  EXPECT_EQ(work.pack(options), (Advances{{1, 0, 1}, {0, 0, 100}}));
}

TEST(Packer, OnePrefillAtATime) {
  PackerOptions options = kTwenty;
  options.many_prefills = false;
  EXPECT_EQ(work_of({{100, 0.2}, {9, 5}}).pack(options), (Advances{{0, 0, 20}}));
  EXPECT_EQ(work_of({{100, 5}, {9, 1}}).pack(options), (Advances{{1, 0, 9}}));
}

TEST(Packer, StaticChunks) {
  const PackerOptions options{.step_budget = PackerOptions::kNoBudget, .n_rows = 16};
  Work work = work_of({{100, 0.2, 9000}, {9, 5}});
  EXPECT_EQ(work.pack(options, kFcfs), (Advances{{0, 0, 16}}));
  work.add_decode(0, kMs);
  EXPECT_EQ(work.pack(options, kFcfs), (Advances{{2, 0, 1}, {0, 0, 15}}));
}

TEST(Packer, NoChunks) {
  PackerOptions options = kTwenty;
  options.packing.whole_prompts = true;
  EXPECT_EQ(work_of({{100, 0.2}, {9, 5}}).pack(options, kFcfs), (Advances{{0, 0, 100}}));
  EXPECT_EQ(work_of({{10, 0}, {9, 0}, {9, 0}}).pack(options, kFcfs),
            (Advances{{0, 0, 10}, {1, 0, 9}}));
}

TEST(Packer, SharedWorkCountsOnce) {
  Work work;
  const uint32_t shared = work.segment(0, 10), read = work.cached(3000);
  const ScheduledRequest request{.deadline = 1, .work = 13 * kMs, .left = 13 * kMs};
  work.add({.segments = {shared, work.segment(10, 3)}, .cached = {read}}, request);
  work.add({.segments = {shared, work.segment(10, 4)}, .cached = {read}}, request);
  work.add({.segments = {shared}, .cached = {read}}, request);
  EXPECT_EQ(work.pack(kTwenty), (Advances{{0, 0, 13}, {1, 0, 4}, {2, 0, 0}}));
  EXPECT_EQ(work.pack({.step_budget = 15.5 * kMs}), (Advances{{0, 0, 12}, {2, 0, 0}}));
}

TEST(Packer, WhoMayStartIsLimited) {
  Work work = work_of({{4, 0}, {4, 1}, {4, 2}});
  work.view.items[2].running = true;
  work.view.n_starts = 1;
  EXPECT_EQ(work.pack(kTwenty), (Advances{{0, 0, 4}, {2, 0, 4}}));
}

TEST(Packer, AnAgedPrefillGoesFirstWithItsShare) {
  Work work = work_of({{100, 0}, {100, 0}});
  work.requests[1].deadline = work.requests[1].arrival + 1;
  const auto short_ones = [&](double now) {
    Work late = work;
    for (int i = 0; i < 4; ++i) {
      late.add({12, 0});
      late.requests.back().deadline = now - 100;
    }
    return late;
  };
  // The first is due after 0.1 s and aged after 0.4.
  EXPECT_EQ(short_ones(0.39).pack(kTwenty, kLars, 0.39), (Advances{{2, 0, 12}, {3, 0, 8}}));
  EXPECT_EQ(short_ones(0.41).pack(kTwenty, kLars, 0.41),
            (Advances{{0, 0, 2}, {2, 0, 12}, {3, 0, 6}}));
  EXPECT_EQ(short_ones(4.1).pack(kTwenty, kLars, 4.1), (Advances{{0, 0, 2}, {2, 0, 12}, {3, 0, 6}}))
      << "the oldest alone";
  EXPECT_EQ(short_ones(4.1).pack(kTwenty, kLrs, 4.1), (Advances{{2, 0, 12}, {3, 0, 8}}));
  EXPECT_EQ(work.pack(kTwenty, kLars, 4.1), (Advances{{0, 0, 20}})) << "the rest in its own place";
}

TEST(Packer, OneAtATimeAnAgedPrefillHasItsShareOfTheSteps) {
  PackerOptions options = kTwenty;
  options.many_prefills = false;
  Work work = work_of({{100, 0}, {12, 0}});
  work.requests[1].deadline = -100;
  EXPECT_EQ(work.pack(options, kLars, 0.39), (Advances{{1, 0, 12}})) << "aged from 0.4 s on";
  EXPECT_EQ(work.pack(options, kLars, 0.41), (Advances{{0, 0, 20}})) << "alone, with all there is";
  work.requests[0].left -= 20 * kMs;  // a tenth of what has passed at 0.6 s
  EXPECT_EQ(work.pack(options, kLars, 0.59), (Advances{{1, 0, 12}}));
  EXPECT_EQ(work.pack(options, kLars, 0.61), (Advances{{0, 0, 20}}));
  options.packing.whole_prompts = true;
  EXPECT_EQ(work.pack(options, kLars, 0.61), (Advances{{0, 0, 100}}));
}

// --- random work ---------------------------------------------------------------------------------

struct Random {
  WorkView view;
  std::vector<ScheduledRequest> requests;
  PackerOptions options;
  const Policy* policy;
  double margin;
};

// Positions rise along each path, from where cached rows end on.
void add_positions(WorkView& view, std::mt19937& rng) {
  constexpr uint32_t kCached = 3;
  view.segment_begin.assign(view.segment_rows.size(), 0);
  for (const Item& item : view.items) {
    if (item.segments.empty()) continue;
    uint32_t& begin = view.segment_begin[item.segments[0]];
    if (begin == 0) begin = kCached + static_cast<uint32_t>(rng() % 3 * (rng() % 2000));
    uint32_t position = begin;
    for (const uint32_t segment : item.segments) {
      view.segment_begin[segment] = position;
      position += view.segment_rows[segment];
    }
  }
}

Random random_case(std::mt19937& rng, uint32_t most_items = 14, uint32_t most_segments = 12) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
  Random made{.view = random_work(rng, most_items, most_segments)};
  add_positions(made.view, rng);
  for (int i = 0; i < 4; ++i) made.view.cached_rows.push_back(below(3000));
  for (Item& item : made.view.items) {
    if (item.decoding) item.running = true;
    for (uint32_t part = 0; part < 4; ++part)
      if (below(3) == 0) item.cached.push_back(part);
    const double work = (1 + below(40)) * kMs;
    made.requests.push_back({.arrival = below(1000) * kMs,
                             .deadline = below(2000) * kMs,
                             .work = work,
                             .left = work,
                             .tpot_slo = (5 + below(30)) * kMs});
  }
  made.options = {.step_budget = (1 + below(30)) * kMs,
                  .n_rows = below(3) == 0 ? 15 + below(20) : 512,
                  .packing = {.rho_max = below(10) * 0.1,
                              .long_factor = 0.25 * (1 + below(8)),
                              .least_share = 0.05 * (1 + below(6))},
                  .many_prefills = below(4) > 0};
  made.margin = 1 + 0.1 * below(5);
  made.policy = std::array{&kFcfs, &kEdf, &kLrs, &kLars}[below(4)];
  return made;
}

// Checks the invariants of a step (packer.h).
void check_step(const Random& c, const PackedStep& step, const std::vector<uint32_t>& taken) {
  const auto seconds = [](const StepDraft& draft) { return kRows.seconds(draft.features()); };
  StepDraft draft(c.view), decodes(c.view);
  double budget = c.options.step_budget;
  uint32_t n_long = 0, n_decodes = 0, n_prefill_rows = 0, n_prefills = 0;
  std::vector<bool> seen(c.view.items.size()), has_rows(c.view.items.size());
  for (size_t i = 0; i < taken.size(); ++i) {
    const uint32_t item = step.advances[i].item, n = taken[i];
    ASSERT_FALSE(seen[item]);
    seen[item] = true;
    has_rows[item] = n > 0;
    draft.take(item, n);
    if (c.view.items[item].decoding) {
      ++n_decodes;
      budget = std::min(budget, c.requests[item].tpot_slo);
      decodes.take(item, n);
      continue;
    }
    n_prefill_rows += n;
    n_prefills += n > 0;
    n_long += n > 0 && is_long(c.requests[item], c.options);
  }
  ASSERT_EQ(draft.features(), step.features);
  ASSERT_TRUE(n_decodes == std::ranges::count_if(c.view.items, &Item::decoding) ||
              draft.features().rows == c.options.n_rows);
  ASSERT_LE(n_long, 1u);
  if (std::ranges::any_of(c.view.items, &Item::decoding)) budget /= c.margin;
  const double shared = std::max(budget, std::min(seconds(decodes), c.options.step_budget));
  const double limit = std::max(budget, seconds(decodes) + c.options.packing.least_share * shared);
  if (std::ranges::none_of(c.view.items, &Item::decoding)) {
    ASSERT_EQ(step.limit, limit);
  }
  ASSERT_TRUE(seconds(draft) <= limit ||
              n_prefill_rows == (c.policy->shares_steps ? n_prefills : 1))
      << "the budget, but for a row";
  ASSERT_LE(draft.features().rows, c.options.n_rows);
  if (!c.options.many_prefills) {
    ASSERT_LE(n_prefills, 1u);
    return;
  }
  // Work conserving: not one more row fits. (A row may come to fit later, when others read what it
  // has to.)
  for (uint32_t item = 0; item < c.view.items.size(); ++item) {
    if (c.view.items[item].decoding || draft.n_wanted(item) == 0) continue;
    if (is_long(c.requests[item], c.options) && n_long > 0 && !has_rows[item]) continue;
    StepFeatures more = draft.with(item, 1);
    more.reads = draft.features().reads;  // as if its positions were not read already
    for (const uint32_t part : c.view.items[item].cached) more.reads += c.view.cached_rows[part];
    ASSERT_TRUE(draft.features().rows == c.options.n_rows || kRows.seconds(more) > limit)
        << "another row of item " << item;
  }
}

TEST(Packer, RandomWorkKeepsWithinTheBudgetAndNoneIsLost) {
  std::mt19937 rng(2);
  for (int round = 0; round < 4000; ++round) {
    Random c = random_case(rng);
    double now = 1;
    for (int step = 0; !c.view.items.empty(); ++step) {
      ASSERT_LT(step, 1000) << round;
      const PackedStep packed =
          pack_step({c.view, c.requests, now, kRows, *c.policy, c.options, c.margin});
      ASSERT_FALSE(packed.advances.empty()) << round;
      WorkView after = c.view;
      const CarriedOut done = carry_out(after, packed.advances, /*in_order=*/false);
      check_step(c, packed, done.taken);
      ASSERT_EQ(work_left(after), work_left(c.view) - done.n_rows);
      c.view = std::move(after);
      if (HasFailure()) FAIL() << "round " << round << " step " << step;
      size_t item = 0;
      std::erase_if(c.requests, [&](const ScheduledRequest&) { return done.through[item++]; });
      now += 0.01;
    }
  }
}

// All terms of a step's time, so that the rows that fit depend on positions and on reads.
const Predictor kAll(StepCosts{.step = kMs,
                               .row = {kMs, 0.5 * kMs, 0.5 * kMs, kMs, kMs},
                               .head = 0.5 * kMs,
                               .output = 0.3 * kMs,
                               .key = kMs / 1000,
                               .read = kMs / 1000});

TEST(Packer, ChoosesWhatAPlainLoopOverAllChooses) {
  std::mt19937 rng(41);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
  int n_steps = 0;
  for (int round = 0; round < 3000; ++round) {
    Random c = round % 3 == 0 ? random_case(rng, 250, 120) : random_case(rng, 40, 30);
    for (Item& item : c.view.items) item.running |= below(4) == 0;
    if (below(3) == 0) c.view.n_starts = below(6);
    c.options.packing.whole_prompts = below(6) == 0;
    if (below(12) == 0) c.options.step_budget = PackerOptions::kNoBudget;
    double now = 1;
    for (int step = 0; step < 6 && !c.view.items.empty(); ++step, ++n_steps) {
      const PackerInput input{c.view, c.requests, now, kAll, *c.policy, c.options, c.margin};
      const PackedStep packed = pack_step(input), plain = PlainPacker(input).pack();
      ASSERT_EQ(packed.advances, plain.advances) << "round " << round << " step " << step;
      ASSERT_EQ(packed.features, plain.features);
      ASSERT_EQ(packed.limit, plain.limit);
      if (packed.advances.empty()) break;  // no sequence may start
      for (const Advance& advance : packed.advances) c.view.items[advance.item].running = true;
      const CarriedOut done = carry_out(c.view, packed.advances, /*in_order=*/false);
      if (HasFailure()) FAIL() << "round " << round << " step " << step;
      size_t item = 0;
      std::erase_if(c.requests, [&](const ScheduledRequest&) { return done.through[item++]; });
      now += 0.01;
    }
  }
  EXPECT_GT(n_steps, 10000);
}

}  // namespace
}  // namespace pando
