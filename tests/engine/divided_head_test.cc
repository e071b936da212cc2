// Logits that come in slices from the ranks of the last stage.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "api/open_loop.h"
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

// One engine reads its logits while the other submits.
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

}  // namespace
}  // namespace pando::testing
