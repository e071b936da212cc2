// The matrices between latents and heads, from every file that holds them.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "model/gguf_files.h"
#include "model/make_model.h"
#include "model/test_files.h"
#include "model/weights.h"

namespace pando::model::latent_weights_test {
namespace {

using testing::GgufFileOptions;

class LatentWeights : public ::testing::Test {
 protected:
  void make(const char* shape, DType dtype) {
    for (const char* name : {"config.json", "model.safetensors"})
      std::filesystem::remove(folder_.path() / name);
    ASSERT_TRUE(
        make_model({.shape = shape, .out = folder_.path(), .dtype = dtype, .vocab = 50}).ok());
  }
  std::filesystem::path convert(const GgufFileOptions& options) {
    const ModelConfig config = ModelConfig::load(folder_.path()).value();
    const Checkpoint checkpoint = Checkpoint::open(folder_.path()).value();
    return folder_.write("model.gguf", testing::gguf_of(config, checkpoint, options));
  }
  static Weights load(const std::filesystem::path& path, std::optional<DType> requantised = {},
                      const Share& share = {}) {
    ThreadPool pool(2);
    Result<Weights> weights = Weights::load(path, requantised, kernel::best_kernels(), pool, share);
    EXPECT_TRUE(weights.ok()) << weights.error().message;
    return std::move(weights).value();
  }
  // kv_b_proj of the second layer: [n_heads, still_dim + value_dim, rank].
  std::vector<float> stored_up() const {
    const Checkpoint checkpoint = Checkpoint::open(folder_.path()).value();
    for (const WeightSpec& spec : weight_specs(ModelConfig::load(folder_.path()).value()))
      if (spec.name == layer_weight_name(1, "self_attn.kv_b_proj.weight"))
        return testing::widened(checkpoint.tensor(spec).value());
    return {};
  }

  const TemporaryFolder folder_;
};

void expect_same(const kernel::PackedMatrix& a, const kernel::PackedMatrix& b) {
  ASSERT_EQ(a.type(), b.type());
  ASSERT_EQ(a.n(), b.n());
  ASSERT_EQ(a.k(), b.k());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0);
}

void expect_same(const LatentUp& a, const LatentUp& b) {
  ASSERT_EQ(a.keys.size(), b.keys.size());
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t head = 0; head < a.keys.size(); ++head) {
    expect_same(a.keys[head], b.keys[head]);
    expect_same(a.values[head], b.values[head]);
  }
}

constexpr const char* kShapes[] = {"tiny-deepseek-v2", "tiny-deepseek-v3", "tiny-glm-flash"};

TEST_F(LatentWeights, AreDividedByHeadsAndKeysAreTurned) {
  make("tiny-deepseek-v2", DType::kF32);
  const Weights weights = load(folder_.path());
  const LatentConfig& l = weights.config.latent;
  const LatentUp& up = weights.layers[1].latent_up;
  const std::vector<float> stored = stored_up();
  ASSERT_EQ(up.keys.size(), 4u);
  ASSERT_EQ(up.values.size(), 4u);
  for (int head = 0; head < 4; ++head) {
    const float* rows = &stored[size_t(head) * l.up_dim() * l.rank];
    std::vector<float> turned;
    for (int i = 0; i < l.rank; ++i)
      for (int row = 0; row < l.still_dim; ++row) turned.push_back(rows[row * l.rank + i]);
    kernel::PackedMatrix keys(DType::kF32, l.rank, l.still_dim);
    keys.set_rows(kernel::best_kernels(), 0, l.rank, DType::kF32, turned.data());
    expect_same(up.keys[head], keys);
    kernel::PackedMatrix values(DType::kF32, l.value_dim, l.rank);
    values.set_rows(kernel::best_kernels(), 0, l.value_dim, DType::kF32,
                    rows + l.still_dim * l.rank);
    expect_same(up.values[head], values);
  }
}

TEST_F(LatentWeights, OfBothFormsOfGgufFilesAreThoseOfSafetensors) {
  for (const char* shape : kShapes)
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      make(shape, dtype);
      const Weights stored = load(folder_.path());
      for (const bool old : {false, true}) {
        const Weights gguf = load(convert({.matrices = dtype, .old_latents = old}));
        EXPECT_EQ(gguf.config, stored.config) << shape;
        for (size_t i = 0; i < stored.layers.size(); ++i) {
          expect_same(gguf.layers[i].latent_up, stored.layers[i].latent_up);
          expect_same(gguf.layers[i].o, stored.layers[i].o);
          ASSERT_EQ(gguf.layers[i].qkv.size(), 1u);
          expect_same(gguf.layers[i].qkv[0], stored.layers[i].qkv[0]);
          EXPECT_EQ(gguf.layers[i].q_norm, stored.layers[i].q_norm);
          EXPECT_EQ(gguf.layers[i].k_norm, stored.layers[i].k_norm);
          if (stored.config.latent.query_rank > 0)
            expect_same(gguf.layers[i].q_up, stored.layers[i].q_up);
        }
      }
    }
}

// Blocks that go along the turned rows are used as they are; others are made anew.
TEST_F(LatentWeights, OfBlocksAreQ8_0) {
  make("tiny-glm-flash", DType::kBF16);
  const Weights made = load(folder_.path(), DType::kQ8_0);
  expect_same(load(convert({.matrices = DType::kQ8_0})).layers[1].latent_up,
              made.layers[1].latent_up);
  const Weights old = load(convert({.matrices = DType::kQ8_0, .old_latents = true}));
  EXPECT_EQ(old.layers[1].latent_up.keys[3].type(), DType::kQ8_0);
  expect_same(old.layers[1].latent_up.values[3], made.layers[1].latent_up.values[3]);
}

TEST_F(LatentWeights, OfARankAreThoseOfItsHeads) {
  make("tiny-deepseek-v3", DType::kF32);
  const Weights whole = load(folder_.path());
  for (int rank = 0; rank < 2; ++rank) {
    const Weights part = load(folder_.path(), {}, {.rank = rank, .n_ranks = 2});
    ASSERT_EQ(part.layers[1].latent_up.keys.size(), 2u);
    for (int head = 0; head < 2; ++head) {
      expect_same(part.layers[1].latent_up.keys[head],
                  whole.layers[1].latent_up.keys[2 * rank + head]);
      expect_same(part.layers[1].latent_up.values[head],
                  whole.layers[1].latent_up.values[2 * rank + head]);
    }
    expect_same(part.layers[1].qkv[0], whole.layers[1].qkv[0]);
  }
}

// As published files have it: one more block, or one more layer of a checkpoint.
TEST_F(LatentWeights, OfTheLayerBehindTheLastAreNotRead) {
  make("tiny-glm-flash", DType::kF32);
  const Weights gguf =
      load(convert({.mtp_tensors = {"blk.2.attn_norm.weight", "blk.2.nextn.eh_proj.weight"}}));
  EXPECT_EQ(gguf.config, ModelConfig::load(folder_.path()).value());
  EXPECT_EQ(gguf.passed_over, (std::vector<std::string>{"multi-token prediction (2 tensors)"}));
  const Family& family = *gguf.config.family;
  EXPECT_EQ(family.passed_over(gguf.config, "model.layers.2.eh_proj.weight"),
            "multi-token prediction");
  EXPECT_EQ(family.passed_over(gguf.config, "model.layers.1.eh_proj.weight"), "");
  EXPECT_EQ(family.passed_over(gguf.config, "model.layers.20.eh_proj.weight"), "");
}

TEST_F(LatentWeights, ThatAreNotFiniteAreRefused) {
  make("tiny-deepseek-v2", DType::kF32);
  const std::filesystem::path file = folder_.path() / "model.safetensors";
  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const float first = stored_up()[0];
  const size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&first), 4));
  ASSERT_NE(at, std::string::npos);
  const float infinite = std::numeric_limits<float>::infinity();
  std::memcpy(&bytes[at], &infinite, 4);
  std::filesystem::remove(file);
  std::ofstream(file, std::ios::binary) << bytes;
  ThreadPool pool(1);
  const Result<Weights> weights = Weights::load(folder_.path(), {}, kernel::best_kernels(), pool);
  ASSERT_FALSE(weights.ok());
  EXPECT_NE(weights.error().message.find("kv_b_proj.weight' holds NaN or infinity in row 0"),
            std::string::npos)
      << weights.error().message;
}

}  // namespace
}  // namespace pando::model::latent_weights_test
