// Logits that come in slices from the ranks of the last stage.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "api/open_loop.h"
#include "base/thread_pool.h"
#include "contract/ranks.h"
#include "engine/in_flight_cases.h"
#include "engine/rank_threads.h"

namespace pando::testing {
namespace {

const CaseModel kWideModel{.shape = "tiny-qwen3", .wide = true};

LoopOptions loop_options() {
  LoopOptions options = tiny_loop_options();
  options.engine.context = 400;
  options.engine.step_rows = 90;
  return options;
}

Request wide_request(int seed, int n_prompt) {
  Request request = tiny_request("", 6);
  for (int i = 0; i < n_prompt; ++i) request.tokens.push_back((seed + i * 7) % kCaseVocab);
  return request;
}

// Answers, an embedding, and scores: more rows of logits than come in one message.
std::vector<Request> requests_of_all_kinds() {
  std::vector<Request> requests;
  for (int i = 0; i < 4; ++i) requests.push_back(wide_request(i, 10 + 20 * i));
  for (const Pooling pooling : {Pooling::kMean, Pooling::kLast}) {
    requests.push_back(wide_request(5, 50));
    requests.back().pooling = pooling;
  }
  for (int i = 0; i < 2; ++i) {
    requests.push_back(wide_request(6 + i, 120));
    requests.back().prompt_logprobs_from = 1;
    requests.back().sampling.max_tokens = 0;
  }
  return requests;
}

using AllHeard = std::map<RequestId, HeardInFlight>;

void submit_all(EngineLoop& loop, AllHeard& heard) {
  RequestId id = 0;
  for (Request& request : requests_of_all_kinds()) {
    ++id;
    ASSERT_TRUE(loop.submit(id, std::move(request), listener_of(heard[id])).ok());
  }
}

void run_all(EngineLoop& loop, AllHeard& heard) {
  submit_all(loop, heard);
  while (loop.step()) continue;
  loop.deliver_events();
}

void expect_alike(const AllHeard& found, const AllHeard& expected, const std::string& what) {
  for (const auto& [id, heard] : expected)
    EXPECT_EQ(difference(found.at(id), heard), "") << what << ", request " << id;
}

class DividedHead : public ::testing::Test {
 protected:
  DividedHead() : models_(CaseWeights::kBF16) {
    run_all(*open_loop(models_.weights(kWideModel), loop_options()).value(), alone_);
  }
  std::unique_ptr<EngineLoop> open(const RankThreads& ranks) {
    LoopOptions options = loop_options();
    options.ranks = &ranks.first();
    return open_loop(models_.share(kWideModel, ranks.first().layout.share_of(0)), options).value();
  }

  CaseModels models_;
  AllHeard alone_;
};

TEST_F(DividedHead, GivesTheLogitsOfOneProcess) {
  EXPECT_EQ(alone_.size(), 8u);
  for (RankLayout layout :
       {RankLayout{.tp = 2}, RankLayout{.tp = 4}, RankLayout{.spp = 2}, RankLayout{.kvp = 2},
        RankLayout{.kvp = 2, .tp = 2}, RankLayout{.spp = 3, .cut = {0, 1, 6, 8}},
        RankLayout{.spp = 2, .kvp = 3, .tp = 2}}) {
    layout.kvp_tokens = 16;
    layout.slice_rows = 20;
    layout.rows_each = 4;
    layout.divides_head = true;
    const RankThreads ranks(models_, kWideModel, layout);
    AllHeard found;
    run_all(*open(ranks), found);
    expect_alike(found, alone_, layout.name());
  }
}

// Steps of the engines alternate.
TEST_F(DividedHead, EnginesTakeTurns) {
  for (RankLayout layout : {RankLayout{.tp = 2}, RankLayout{.spp = 2, .tp = 2}}) {
    layout.slice_rows = 20;
    layout.divides_head = true;
    const RankThreads ranks(models_, kWideModel, layout);
    AllHeard found[2];
    const std::unique_ptr<EngineLoop> loops[2] = {open(ranks), open(ranks)};
    for (int i = 0; i < 2; ++i) submit_all(*loops[i], found[i]);
    while (loops[0]->n_sequences() + loops[1]->n_sequences() > 0)
      for (const auto& loop : loops) loop->step();
    for (int i = 0; i < 2; ++i) {
      loops[i]->deliver_events();
      expect_alike(found[i], alone_, layout.name());
    }
  }
}

constexpr KvOptions kTinyPages{
    .memory = size_t{4} << 20, .context = 400, .page_len = 4, .tile_len = 8, .span_len = 16};
constexpr uint32_t kRowsOfPath = 80;  // whole tiles; more rows of logits than come in two messages

// A path from its beginning, in the first pages. Logits of all rows are read.
StepPlan plan_of_path(int seed) {
  const auto page_len = static_cast<uint32_t>(kTinyPages.page_len);
  const auto tile_len = static_cast<uint32_t>(kTinyPages.tile_len);
  StepPlan plan{.slot_begin = {0}};
  for (uint32_t row = 0; row < kRowsOfPath; ++row) {
    plan.tokens.push_back((seed + static_cast<int>(row) * 7) % kCaseVocab);
    plan.positions.push_back(row);
    plan.slots.push_back({row / page_len, row % page_len});
    plan.slot_begin.push_back(row + 1);
    plan.outputs.push_back(row);
    if (row % page_len == 0) plan.task_pages.push_back(row / page_len);
    if (row % tile_len == 0)
      plan.tasks.push_back({row / tile_len, row, kRowsOfPath, row / page_len, tile_len / page_len});
  }
  return plan;
}

void read_logits(Executor& executor, uint32_t first, uint32_t end, std::vector<float>& all) {
  const auto vocab = static_cast<size_t>(executor.facts().vocab);
  all.resize(kRowsOfPath * vocab);
  executor.logits(first, end - first, all.data() + first * vocab);
}

// The other engine submits a step while half of the logits are unread.
TEST_F(DividedHead, AnEngineThatLosesItsTurnKeepsItsLogits) {
  const DeviceModel& whole = models_.weights(kWideModel);
  const ExecutorOptions options{.isa = whole.device().isa_name("").value(), .kv = kTinyPages};
  ThreadPool pool(1);
  std::vector<float> expected[2];
  for (int i = 0; i < 2; ++i) {
    const KvRoom room = whole.device().kv_room(whole.spec(), kTinyPages).value();
    const std::unique_ptr<Executor> alone = whole.open(options, room, pool);
    alone->submit(plan_of_path(i));
    alone->finish();
    read_logits(*alone, 0, kRowsOfPath, expected[i]);
  }
  EXPECT_NE(expected[0], expected[1]);
  for (RankLayout layout : {RankLayout{.tp = 2}, RankLayout{.spp = 2, .tp = 2}}) {
    layout.slice_rows = 20;
    layout.divides_head = true;
    const RankThreads ranks(models_, kWideModel, layout);
    const DeviceModel& own = models_.share(kWideModel, layout.share_of(0));
    const KvRoom room = kv_room_on_ranks(own.device(), own.spec(), kTinyPages, layout).value();
    std::vector<float> found[2];
    const auto first = open_on_ranks(own, options, room, pool, ranks.first());
    const auto second = open_on_ranks(own, options, room, pool, ranks.first());
    first->submit(plan_of_path(0));
    first->finish();
    read_logits(*first, 0, kRowsOfPath / 2, found[0]);
    second->submit(plan_of_path(1));
    read_logits(*first, kRowsOfPath / 2, kRowsOfPath, found[0]);
    second->finish();
    read_logits(*second, 0, kRowsOfPath, found[1]);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(found[i], expected[i]) << layout.name() << " " << i;
  }
}

}  // namespace
}  // namespace pando::testing
