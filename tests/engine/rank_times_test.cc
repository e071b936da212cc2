// Measures steps over ranks, for tests/schedule/rank_times.h. Each rank needs a processor core that
// does nothing else:
//   engine_tests --gtest_also_run_disabled_tests --gtest_filter='*RankTimes*'
#include <gtest/gtest.h>

#include <chrono>

#include "api/open_loop.h"
#include "engine/measure_steps.h"
#include "engine/rank_threads.h"

namespace pando::testing {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Calls step() until it is false; prints the seconds between the ends of steps.
template <class Step>
void print_intervals(const char* name, const Step& step) {
  const double start = now();
  printf(".%s = {", name);
  for (double last = start; step();) {
    const double end = now();
    printf("%.4f, ", end - last);
    last = end;
  }
  printf("},\n.%s_s = %.3f,\n", name, now() - start);
}

class RankTimes : public ::testing::TestWithParam<RankLayout> {};

TEST_P(RankTimes, DISABLED_Record) {
  const RankLayout layout = GetParam();
  const CaseModel model{.shape = "qwen3-0.6b"};
  CaseModels models(CaseWeights::kBF16);
  const RankThreads ranks(models, model, layout);
  const OpenLoop open = [&](const LoopOptions& options) {
    LoopOptions on_ranks = options;
    on_ranks.ranks = &ranks.first();
    return open_loop(models.share(model, layout.share_of(0)), on_ranks, nullptr, nullptr);
  };
  EngineOptions options;
  options.threads = 1;
  options.context = kCaseContext;
  options.kv_memory = size_t{512} << 20;
  options.step_rows = 512;
  const Result<MeasuredSteps> measured = measure_steps(open, options, /*seconds=*/30);
  ASSERT_TRUE(measured.ok());
  printf("// %s\n.costs = R\"(%s)\",\n", measured->in_words().c_str(), measured->costs.c_str());

  const std::unique_ptr<EngineLoop> loop = std::move(open({.engine = options}).value());
  const auto submit = [&](RequestId id, int n_prompt, int n, int max_tokens) {
    Request request;
    for (int i = 0; i < n_prompt; ++i)
      request.tokens.push_back(static_cast<Token>((id + i * 7) % kCaseVocab));
    request.sampling = {.max_tokens = max_tokens, .temperature = 1, .n = n, .ignore_eos = true};
    ASSERT_TRUE(loop->submit(id, std::move(request), [](const Event&) {}).ok());
  };
  submit(1, 6144, 1, 1);
  print_intervals("prefill", [&] { return loop->step(); });
  submit(2, 64, 64, 24);
  print_intervals("decode", [&] { return loop->step(); });
  submit(3, 6144, 1, 24);  // cached, but for its last token
  print_intervals("long_decode", [&] { return loop->step(); });
  loop->deliver_events();
}

INSTANTIATE_TEST_SUITE_P(Layouts, RankTimes,
                         ::testing::Values(RankLayout{}, RankLayout{.spp = 2},
                                           RankLayout{.kvp = 2, .kvp_tokens = 2048},
                                           RankLayout{.spp = 2, .kvp = 2, .kvp_tokens = 2048}));

}  // namespace
}  // namespace pando::testing
