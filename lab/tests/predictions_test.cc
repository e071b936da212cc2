// Papers and operation counts predict these figures, and all ways to attend agree.
#include <gtest/gtest.h>

#include "lab/experiment.h"
#include "lab/papers/hydragen.h"
#include "lab/papers/level_work.h"
#include "lab/papers/radixmlp.h"
#include "lab/papers/radixmlp_model.h"

namespace pando::lab {
namespace {

// RadixMLP, section 4.3 and table 2: 73%, 88%, 92% printed at 2,304 tokens, a little more by its
// formula; 7.2 and 2.8 in A.1.
TEST(RadixPredictionTest, IsThatOfThePaper) {
  EXPECT_NEAR(position_wise_part({1024, 3072, 2304}), 0.74, 0.01);
  EXPECT_NEAR(position_wise_part({2560, 9728, 2304}), 0.89, 0.01);
  EXPECT_NEAR(position_wise_part({4096, 12288, 2304}), 0.92, 0.01);
  EXPECT_DOUBLE_EQ(shared_prefix_ratio(32, 2048, 256), 7.2);
  EXPECT_NEAR(shared_prefix_ratio(32, 2048, 1024), 2.82, 0.01);
  EXPECT_NEAR(predicted_speedup(0.73, 7.2), 2.68, 0.02);
  EXPECT_NEAR(predicted_speedup(0.88, 7.2), 4.14, 0.02);
  EXPECT_NEAR(predicted_speedup(0.92, 7.2), 4.82, 0.02);
  EXPECT_DOUBLE_EQ(predicted_speedup(0.5, 1), 1);
}

TEST(RerankingPromptsTest, ShareAsMuchAsPublished) {
  for (const auto& [shape, ratio] : {std::pair{kQueryFirst, 0.61}, {kFlipped, 0.71}}) {
    const Workload workload = reranking_prompts(shape, 64, 4096)(3);
    ASSERT_EQ(workload.timed.size(), 64u);
    EXPECT_NEAR(token_ratio(workload), ratio, 0.03);
    for (const Request& request : workload.timed) {
      EXPECT_GE(request.tokens.size(), static_cast<size_t>(shape.shortest));
      EXPECT_LE(request.tokens.size(), static_cast<size_t>(shape.longest));
      EXPECT_EQ(request.pooling, Pooling::kLast);
    }
  }
}

TEST(HydragenPartsTest, AddUpTimesOfParts) {
  model::ModelSpec config;
  config.layers.resize(2);
  config.n_heads = 8;
  config.n_kv_heads = 4;
  config.head_dim = 16;
  EXPECT_DOUBLE_EQ(attention_operations(config, 100, 3), 4.0 * 2 * 3 * 8 * 100 * 16);
  // 307,200 operations; 2 (keys and values) x 2 layers x 3 x 4 heads x 16 x 100 x 2 bytes read.
  const StepParts parts = step_parts(config, 100, 3, 2, 1, {307'200, 76'800});
  EXPECT_DOUBLE_EQ(parts.shared_attention, 1);
  EXPECT_DOUBLE_EQ(parts.own_attention, 2);
  EXPECT_DOUBLE_EQ(parts.share_of_ceiling(), 0.5);
  EXPECT_DOUBLE_EQ(parts.times_own(), 1.5);
}

// All ways to attend give the same rows.
TEST(AttentionWorkTest, OperatorsAgree) {
  for (const DType type : {DType::kF16, DType::kI8}) {
    for (const bool own_copies : {false, true}) {
      const AttentionCase shape{.type = type,
                                .batch = 5,
                                .prefix = 192,
                                .suffix = 37,
                                .n_heads = 4,
                                .n_kv_heads = 2,
                                .head_dim = 32,
                                .own_copies = own_copies};
      AttentionWork work(shape, /*n_bytes=*/size_t{64} << 20);
      const LevelWork levels(shape, work);
      ThreadPool pool(2);
      // Layers differ, and every call takes the next one: around to the first for each.
      const auto of_first_layer = [&](const auto& run) {
        run();
        const std::vector<float> out = work.out();
        for (int layer = 1; layer < work.n_layers(); ++layer) run();
        return out;
      };
      const std::vector<float> each = of_first_layer([&] { work.per_sequence(pool); });
      EXPECT_EQ(each, of_first_layer([&] { work.shared(pool); }));
      const std::vector<float> combined = of_first_layer([&] { levels.run(pool, work); });
      ASSERT_EQ(each.size(), combined.size());
      for (size_t i = 0; i < each.size(); ++i) EXPECT_NEAR(each[i], combined[i], 2e-2f) << i;
    }
  }
}

}  // namespace
}  // namespace pando::lab
