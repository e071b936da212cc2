// Engines over models with recurrent layers, windows or soft caps: memory and refusals.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "api/open_loop.h"
#include "engine/exactness_models.h"
#include "engine/open_laboratory.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/cpu/state_layout.h"
#include "pando/values/sharing.h"

namespace pando::testing {
namespace {

size_t resident_bytes() {
  size_t n_all = 0, n_resident = 0;
  std::ifstream("/proc/self/statm") >> n_all >> n_resident;
  return n_resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Answers questions until pages, and slots or window pages, have all been used.
EngineStats stats_within(size_t kv_memory, const CaseModel& model) {
  constexpr size_t kBuffers = size_t{16} << 20;
  CaseModels models(CaseWeights::kBF16);
  const DeviceModel& weights = models.weights(model);
  LoopOptions options;
  options.engine = {.threads = 1, .kv_memory = kv_memory, .place_every = 16, .step_rows = 64};
  const size_t before = resident_bytes();
  auto loop = std::move(open_loop(weights, options).value());
  const ExecutorFacts& facts = loop->executor().facts();
  EXPECT_GT(facts.n_slots + facts.n_window_pages, 30u);
  EXPECT_LE(facts.n_pages * facts.page_bytes + facts.n_slots * facts.slot_bytes +
                facts.n_window_pages * facts.window_page_bytes,
            kv_memory);

  std::mt19937 rng(3);
  std::string failure;
  for (RequestId id = 1; id <= 1600; ++id) {
    Request request;
    for (int i = 0; i < 150; ++i) request.tokens.push_back(static_cast<Token>(rng() % kCaseVocab));
    request.sampling.max_tokens = 2;
    EXPECT_TRUE(loop->submit(id, request,
                             [&](const Event& event) {
                               if (event.error) failure = event.error->message();
                             })
                    .ok());
    while (loop->n_sequences() > 20 && loop->step()) loop->deliver_events();
  }
  while (loop->step()) loop->deliver_events();
  EXPECT_EQ(failure, "");
  const EngineStats stats = loop->stats();
  EXPECT_GT(stats.evicted_pages, 0u);
  EXPECT_LE(stats.kv_bytes_peak, kv_memory);
  EXPECT_GT(stats.kv_bytes_peak, kv_memory * 9 / 10);
  EXPECT_LE(resident_bytes(), before + kv_memory + kBuffers);
  return stats;
}

TEST(PlacesMemory, PagesAndStatesStayWithinKvMemory) {
  EXPECT_GT(stats_within(size_t{24} << 20, {.shape = "tiny-qwen3.5"}).evicted_places, 0u);
}

// Some layers with a window, and all.
TEST(PlacesMemory, WindowPagesStayWithinKvMemory) {
  stats_within(size_t{24} << 20, {.shape = "tiny-qwen2", .window = 40});
  stats_within(size_t{4} << 20, {.shape = "tiny-mistral", .window = 40});
}

TEST(PlacesMemory, NeedsRoomForTwoStates) {
  CaseModels models(CaseWeights::kBF16);
  const DeviceModel& weights = models.weights({.shape = "tiny-lfm2"});
  LoopOptions options;
  options.page_len = 4;
  const size_t page_bytes = exec::page_bytes(
      exec::KvSizes::of(weights.spec(), {.memory = size_t{1} << 20, .page_len = 4})->pages);
  const size_t slot_bytes = exec::StateLayout(weights.spec()).slot_bytes();
  const size_t least = std::max(4 * slot_bytes, 2 * (slot_bytes + page_bytes));
  options.engine.kv_memory = least - 1;
  const auto refused = open_loop(weights, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message().find("expected at least " + std::to_string(least)),
            std::string::npos)
      << refused.error().message();
}

TEST(PlacesMemory, TechniquesWithoutStatesAreRefusedByName) {
  open_laboratory();
  if (!sharing_info("hydragen")) GTEST_SKIP() << "there is no laboratory";
  CaseModels models(CaseWeights::kBF16);
  const DeviceModel& weights = models.weights({.shape = "tiny-granite"});
  for (const char* sharing :
       {"hydragen", "stacked", "padded", "length_ordered", "radix", "prepacked", "no_attention"}) {
    LoopOptions options;
    options.engine.sharing = sharing;
    options.engine.kv_memory = size_t{16} << 20;
    const auto refused = open_loop(weights, options);
    ASSERT_FALSE(refused.ok()) << sharing;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(refused.error().message().find(std::string("sharing '") + sharing + "'"), 0u)
        << refused.error().message();
  }
}

// A dense mask is computed by other kernels, which know no soft caps.
TEST(PlacesMemory, TechniquesWithoutSoftCapsAreRefusedByName) {
  open_laboratory();
  if (!sharing_info("hydragen")) GTEST_SKIP() << "there is no laboratory";
  CaseModels models(CaseWeights::kBF16);
  const DeviceModel& weights = models.weights({.shape = "tiny-gemma2"});
  const auto open = [&](const char* sharing) {
    LoopOptions options;
    options.engine.sharing = sharing;
    options.engine.kv_memory = size_t{16} << 20;
    return open_loop(weights, options);
  };
  for (const char* sharing : {"stacked", "padded", "length_ordered", "prepacked:dense"}) {
    const auto refused = open(sharing);
    ASSERT_FALSE(refused.ok()) << sharing;
    EXPECT_EQ(refused.error().message(),
              std::string("sharing '") + sharing +
                  "' does not support models with soft caps of scores, such as gemma2, expected "
                  "'tree', 'prefix_cached' or 'packed'");
  }
  for (const char* sharing : {"hydragen", "radix", "prepacked"})
    EXPECT_TRUE(open(sharing).ok()) << sharing;
}

}  // namespace
}  // namespace pando::testing
