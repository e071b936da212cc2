// gpt-oss: its configuration, and its experts as checkpoints store them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/numbers/weight_types.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/family.h"
#include "model/make_model.h"
#include "model/tensor_rows.h"
#include "model/test_files.h"

namespace pando::model::gpt_oss_test {
namespace {

using nlohmann::json;

constexpr int kExperts = 3, kModel = 64, kInner = 32;

json gpt_oss(const json& change = json::object()) {
  json object = {{"architectures", {"GptOssForCausalLM"}},
                 {"model_type", "gpt_oss"},
                 {"vocab_size", 100},
                 {"hidden_size", kModel},
                 {"num_hidden_layers", 4},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 2},
                 {"intermediate_size", kInner},
                 {"num_local_experts", kExperts},
                 {"num_experts_per_tok", 2},
                 {"max_position_embeddings", 512}};
  object.update(change);
  return object;
}

ModelConfig read(const json& object) {
  Result<ModelConfig> config = ModelConfig::from_json(object, "config.json");
  EXPECT_TRUE(config.ok()) << config.error().message();
  return config.ok() ? *config : ModelConfig();
}

TEST(GptOssConfig, HasTheLibrarysValuesWhereFieldsAreAbsent) {
  const ModelConfig config = read(gpt_oss());
  EXPECT_EQ(config.head_dim, 64);
  EXPECT_EQ(config.rms_eps, 1e-5f);
  EXPECT_TRUE(config.qkv_bias && config.o_bias && config.attention_sinks);
  EXPECT_EQ(config.activation, Activation::kClampedSilu);
  EXPECT_EQ(config.activation_alpha, 1.702f);
  EXPECT_EQ(config.activation_limit, 7.0f);
  EXPECT_EQ(config.experts.scores, RouterScores::kSoftmaxOfChosen);
  EXPECT_TRUE(config.experts.router_bias && config.experts.biases);
  EXPECT_EQ(config.experts.d_ff, kInner);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(config.layers[i].window, i % 2 == 0 ? 128 : 0) << i;
  EXPECT_EQ(config.rotations[0].type, RopeType::kYarn);
  EXPECT_FALSE(config.rotations[0].truncate);
  EXPECT_EQ(config.rotations[0].theta, 150000.0);
}

// As the smaller model is published.
TEST(GptOssConfig, OfThePublishedModel) {
  const ModelConfig config = read({{"architectures", {"GptOssForCausalLM"}},
                                   {"attention_bias", true},
                                   {"eos_token_id", 200002},
                                   {"experts_per_token", 4},
                                   {"head_dim", 64},
                                   {"hidden_act", "silu"},
                                   {"hidden_size", 2880},
                                   {"initial_context_length", 4096},
                                   {"intermediate_size", 2880},
                                   {"max_position_embeddings", 131072},
                                   {"model_type", "gpt_oss"},
                                   {"num_attention_heads", 64},
                                   {"num_experts_per_tok", 4},
                                   {"num_hidden_layers", 24},
                                   {"num_key_value_heads", 8},
                                   {"num_local_experts", 32},
                                   {"pad_token_id", 199999},
                                   {"rms_norm_eps", 1e-05},
                                   {"rope_scaling",
                                    {{"beta_fast", 32.0},
                                     {"beta_slow", 1.0},
                                     {"factor", 32.0},
                                     {"original_max_position_embeddings", 4096},
                                     {"rope_type", "yarn"},
                                     {"truncate", false}}},
                                   {"rope_theta", 150000},
                                   {"router_aux_loss_coef", 0.9},
                                   {"sliding_window", 128},
                                   {"swiglu_limit", 7.0},
                                   {"tie_word_embeddings", false},
                                   {"vocab_size", 201088}});
  EXPECT_EQ(config, *named_shape("gpt-oss-20b"));
  EXPECT_EQ(config.n_parameters(), 20914757184);
  EXPECT_EQ(named_shape("gpt-oss-120b")->n_parameters(), 116829156672);
}

TEST(GptOssConfig, RefusesByName) {
  for (const auto& [change, field] : {std::pair(json{{"swiglu_limit", 0}}, "swiglu_limit"),
                                      {json{{"num_local_experts", 0}}, "num_local_experts"},
                                      {json{{"num_experts_per_tok", 4}}, "num_experts_per_tok"},
                                      {json{{"hidden_act", "gelu"}}, "hidden_act"}}) {
    const Result<ModelConfig> config = ModelConfig::from_json(gpt_oss(change), "config.json");
    ASSERT_FALSE(config.ok()) << field;
    EXPECT_NE(config.error().message().find(field), std::string::npos) << config.error().message();
  }
}

// A safetensors file of these tensors alone, filled with bytes 0, 1, 2, ... modulo `period`.
struct Stored {
  std::string name, dtype;
  std::vector<int64_t> shape;
  int period;
};

size_t size_of(const Stored& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), size_t{1}, std::multiplies<>());
}

std::string safetensors_of(const std::vector<Stored>& tensors) {
  json header;
  std::string data;
  for (const Stored& tensor : tensors) {
    const size_t begin = data.size(), n = size_of(tensor);
    for (size_t i = 0; i < n; ++i) {
      const auto value = static_cast<float>(i);
      if (tensor.dtype == "F32")
        data.append(reinterpret_cast<const char*>(&value), sizeof value);
      else
        data += static_cast<char>(i % static_cast<size_t>(tensor.period));
    }
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  return safetensors_bytes(header.dump(), data);
}

constexpr const char* kGateUp = "model.layers.0.mlp.experts.gate_up_proj";
constexpr const char* kDown = "model.layers.0.mlp.experts.down_proj";

class GptOssExperts : public ::testing::Test {
 protected:
  Checkpoint open(const json& change, const std::vector<Stored>& tensors) {
    config_ = read(gpt_oss(change));
    folder_.write("model.safetensors", safetensors_of(tensors));
    Result<Checkpoint> checkpoint = Checkpoint::open(folder_.path(), config_.quantization);
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.error().message();
    return std::move(*checkpoint);
  }
  WeightSpec spec(const std::string& name, int expert) const {
    for (const WeightSpec& spec : config_.family->layer_weights(config_, 0))
      if (spec.name == name) return spec.of_expert(expert);
    ADD_FAILURE() << name;
    return {};
  }

  TemporaryFolder folder_;
  ModelConfig config_;
};

// Index in the file of row `row` of gates and then ups.
int64_t by_turns(int64_t row) { return row < kInner ? 2 * row : 2 * (row - kInner) + 1; }

TEST_F(GptOssExperts, AreTransposedWithGatesAndUpsByTurns) {
  const Checkpoint checkpoint =
      open(json::object(), {{kGateUp, "F32", {kExperts, kModel, 2 * kInner}, 0},
                            {kDown, "F32", {kExperts, kInner, kModel}, 0},
                            {std::string(kGateUp) + "_bias", "F32", {kExperts, 2 * kInner}, 0}});
  for (const int expert : {0, 2}) {
    const TensorView in = checkpoint.tensor(spec(kGateUp, expert)).value();
    TensorRows rows(in);
    for (int64_t row = 0; row < 2 * kInner; ++row)
      for (int64_t column = 0; column < kModel; ++column) {
        float found;
        std::memcpy(&found, rows[row] + column * 4, 4);
        ASSERT_EQ(found, (expert * kModel + column) * 2 * kInner + by_turns(row)) << row;
      }
    const TensorView out = checkpoint.tensor(spec(kDown, expert)).value();
    TensorRows out_rows(out);
    float found;
    std::memcpy(&found, out_rows[5] + 7 * 4, 4);
    EXPECT_EQ(found, (expert * kInner + 7) * kModel + 5);
    const TensorView bias = checkpoint.tensor(spec(std::string(kGateUp) + "_bias", expert)).value();
    std::memcpy(&found, bias.data + bias.rows.stored(kInner + 3) * 4, 4);
    EXPECT_EQ(found, expert * 2 * kInner + by_turns(kInner + 3));
  }
}

json mxfp4() {
  return {{"quantization_config",
           {{"quant_method", "mxfp4"},
            {"modules_to_not_convert", {"model.layers.*.self_attn", "lm_head"}}}}};
}

std::vector<Stored> in_blocks(const std::string& name, int64_t n, int64_t k) {
  return {{name + "_blocks", "U8", {kExperts, n, k / 32, 16}, 251},
          {name + "_scales", "U8", {kExperts, n, k / 32}, 249}};
}

TEST_F(GptOssExperts, InBlocksAreThoseOfGgufFiles) {
  const Checkpoint checkpoint = open(mxfp4(), in_blocks(kGateUp, 2 * kInner, kModel));
  EXPECT_EQ(checkpoint.names(), std::vector<std::string>{kGateUp});
  for (const int expert : {0, 2}) {
    const TensorView view = checkpoint.tensor(spec(kGateUp, expert)).value();
    ASSERT_EQ(view.dtype, DType::kMXFP4);
    ASSERT_NE(view.quantized, nullptr);
    EXPECT_EQ(view.quantized->kept(), DType::kMXFP4);
    TensorRows rows(view);
    for (int64_t row = 0; row < 2 * kInner; ++row) {
      const std::byte* found = rows[row];
      for (int64_t group = 0; group < kModel / 32; ++group, found += 17) {
        const int64_t at = (expert * 2 * kInner + by_turns(row)) * (kModel / 32) + group;
        ASSERT_EQ(static_cast<int>(found[0]), at % 249) << row;
        for (int64_t i = 0; i < 32; ++i) {
          const auto stored = static_cast<int>((at * 16 + i / 2) % 251);
          const int code = i % 2 == 0 ? stored & 15 : stored >> 4;
          const auto byte = static_cast<int>(found[1 + i % 16]);
          ASSERT_EQ(i < 16 ? byte & 15 : byte >> 4, code) << row << ", " << i;
        }
      }
    }
  }
}

TEST_F(GptOssExperts, RefusesOtherBlocks) {
  std::vector<Stored> tensors = in_blocks(kGateUp, 2 * kInner, kModel);
  tensors[1].shape[2] = 3;
  const Checkpoint other = open(mxfp4(), tensors);
  EXPECT_NE(other.tensor(spec(kGateUp, 0)).error().message().find("expected [3, 64, 2]"),
            std::string::npos)
      << other.tensor(spec(kGateUp, 0)).error().message();
  tensors.pop_back();
  const Checkpoint without = open(mxfp4(), tensors);
  EXPECT_NE(without.tensor(spec(kGateUp, 0)).error().message().find("'scales'"), std::string::npos)
      << without.tensor(spec(kGateUp, 0)).error().message();
}

}  // namespace
}  // namespace pando::model::gpt_oss_test
