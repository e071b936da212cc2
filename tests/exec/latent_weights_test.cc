// The matrices between latents and heads, from every file that holds them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "exec/loaded_weights.h"
#include "model/family.h"
#include "model/gguf_files.h"
#include "model/make_model.h"
#include "model/quantized_files.h"
#include "model/test_files.h"

namespace pando::model::latent_weights_test {

using namespace exec;
using namespace pando::testing;
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
  static LoadedWeights load(const std::filesystem::path& path,
                            std::optional<DType> requantised = {}, const ModelShare& share = {}) {
    ThreadPool pool(2);
    Result<LoadedWeights> weights = load_weights(path, requantised, pool, share);
    EXPECT_TRUE(weights.ok()) << weights.error().message();
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
  const LoadedWeights weights = load(folder_.path());
  const LatentConfig& l = weights.files->config.latent;
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
      const LoadedWeights stored = load(folder_.path());
      for (const bool old : {false, true}) {
        const LoadedWeights gguf = load(convert({.matrices = dtype, .old_latents = old}));
        EXPECT_EQ(gguf.files->config, stored.files->config) << shape;
        for (size_t i = 0; i < stored.layers.size(); ++i) {
          expect_same(gguf.layers[i].latent_up, stored.layers[i].latent_up);
          expect_same(gguf.layers[i].o, stored.layers[i].o);
          ASSERT_EQ(gguf.layers[i].qkv.size(), 1u);
          expect_same(gguf.layers[i].qkv[0], stored.layers[i].qkv[0]);
          EXPECT_EQ(gguf.layers[i].q_norm, stored.layers[i].q_norm);
          EXPECT_EQ(gguf.layers[i].k_norm, stored.layers[i].k_norm);
          if (stored.files->config.latent.query_rank > 0)
            expect_same(gguf.layers[i].q_up, stored.layers[i].q_up);
        }
      }
    }
}

// Blocks that go along the turned rows are used as they are; others are made anew.
TEST_F(LatentWeights, OfBlocksAreQ8_0) {
  make("tiny-glm-flash", DType::kBF16);
  const LoadedWeights made = load(folder_.path(), DType::kQ8_0);
  expect_same(load(convert({.matrices = DType::kQ8_0})).layers[1].latent_up,
              made.layers[1].latent_up);
  const LoadedWeights old = load(convert({.matrices = DType::kQ8_0, .old_latents = true}));
  EXPECT_EQ(old.layers[1].latent_up.keys[3].type(), DType::kQ8_0);
  expect_same(old.layers[1].latent_up.values[3], made.layers[1].latent_up.values[3]);
}

TEST_F(LatentWeights, OfARankAreThoseOfItsHeads) {
  make("tiny-deepseek-v3", DType::kF32);
  const LoadedWeights whole = load(folder_.path());
  for (int rank = 0; rank < 2; ++rank) {
    const LoadedWeights part = load(folder_.path(), {}, {.rank = rank, .n_ranks = 2});
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

// A float of four bits of exponent and three of mantissa.
float e4m3(uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                   : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return code >= 128 ? -size : size;
}

// Replaces a matrix by random floats of eight bits, with a scale for each block of 16 by 16, where
// the last blocks are smaller; in `plain` by their values.
void quantise(const std::string& name, std::mt19937& random, EditedCheckpoint& checkpoint,
              EditedCheckpoint& plain) {
  constexpr int64_t kBlock = 16;
  EditedCheckpoint::Tensor& matrix = checkpoint.tensors[name];
  const int64_t n = matrix.shape[0], k = matrix.shape[1], n_across = (k + kBlock - 1) / kBlock;
  std::vector<float> scales(static_cast<size_t>((n + kBlock - 1) / kBlock * n_across));
  for (float& scale : scales) scale = 0.001f * static_cast<float>(1 + random() % 97);
  std::vector<float> values;
  std::string codes;
  for (int64_t i = 0; i < n * k; ++i) {
    const auto code = static_cast<uint8_t>(random() % 2 * 128 + random() % 127);  // finite
    codes += static_cast<char>(code);
    values.push_back(e4m3(code) * scales[i / k / kBlock * n_across + i % k / kBlock]);
  }
  matrix = {"F8_E4M3", {n, k}, codes};
  checkpoint.tensors[name + "_scale_inv"] = {
      "F32", {std::ssize(scales) / n_across, n_across}, bytes_of_values(scales, DType::kF32)};
  plain.tensors[name] = {"F32", {n, k}, bytes_of_values(values, DType::kF32)};
}

// As DeepSeek-V3 is published: all matrices but embeddings and router.
TEST_F(LatentWeights, OfFloatsOf8BitsAreThoseOfTheirValues) {
  const auto fixture =
      std::filesystem::path(PANDO_SOURCE_DIR) / "tests/model/data/deepseek_v3-tied";
  EditedCheckpoint checkpoint(fixture), plain(fixture);
  std::mt19937 random(5);
  for (const auto& [name, tensor] : EditedCheckpoint(fixture).tensors)
    if (tensor.shape.size() == 2 && name.find("embed_tokens") == name.npos &&
        name.find("mlp.gate.weight") == name.npos)
      quantise(name, random, checkpoint, plain);
  checkpoint.quantization() = {{"quant_method", "fp8"},
                               {"activation_scheme", "dynamic"},
                               {"fmt", "e4m3"},
                               {"weight_block_size", {16, 16}}};
  const TemporaryFolder quantised, values;
  const LoadedWeights found = load(checkpoint.write(quantised)),
                      expected = load(plain.write(values));
  for (size_t i = 0; i < expected.layers.size(); ++i) {
    const LayerWeights &a = found.layers[i], &b = expected.layers[i];
    expect_same(a.latent_up, b.latent_up);
    expect_same(a.qkv[0], b.qkv[0]);
    expect_same(a.q_up, b.q_up);
    expect_same(a.o, b.o);
    ASSERT_EQ(a.experts.size(), b.experts.size());
    for (size_t j = 0; j < a.experts.size(); ++j) {
      expect_same(a.experts[j].gate_up[0], b.experts[j].gate_up[0]);
      expect_same(a.experts[j].down, b.experts[j].down);
    }
    expect_same(a.gate_up[0], b.gate_up[0]);
    expect_same(a.down, b.down);
  }
}

// As published files have it: one more block, or one more layer of a checkpoint.
TEST_F(LatentWeights, OfTheLayerBehindTheLastAreNotRead) {
  make("tiny-glm-flash", DType::kF32);
  const LoadedWeights gguf =
      load(convert({.mtp_tensors = {"blk.2.attn_norm.weight", "blk.2.nextn.eh_proj.weight"}}));
  EXPECT_EQ(gguf.files->config, ModelConfig::load(folder_.path()).value());
  EXPECT_EQ(gguf.files->passed_over,
            (std::vector<std::string>{"multi-token prediction (2 tensors)"}));
  const Family& family = *gguf.files->config.family;
  EXPECT_EQ(family.passed_over(gguf.files->config, "model.layers.2.eh_proj.weight"),
            "multi-token prediction");
  EXPECT_EQ(family.passed_over(gguf.files->config, "model.layers.1.eh_proj.weight"), "");
  EXPECT_EQ(family.passed_over(gguf.files->config, "model.layers.20.eh_proj.weight"), "");
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
  const Result<LoadedWeights> weights = load_weights(folder_.path(), {}, pool);
  ASSERT_FALSE(weights.ok());
  EXPECT_NE(weights.error().message().find("kv_b_proj.weight' holds NaN or infinity in row 0"),
            std::string::npos)
      << weights.error().message();
}

}  // namespace
}  // namespace pando::model::latent_weights_test
