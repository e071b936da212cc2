// A tiny model as safetensors and as a GGUF file, and what makes two of them the same.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "exec/loaded_weights.h"
#include "model/gguf_files.h"
#include "model/make_model.h"
#include "model/test_files.h"

namespace pando::model {

using exec::Stack;
using testing::GgufFileOptions;
using testing::GgufWriter;
using testing::load_weights;
using testing::LoadedWeights;

class GgufModel : public ::testing::Test {
 protected:
  void make(const std::string& shape, DType dtype, int n_layers = 2) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      std::filesystem::remove(entry.path());  // a model is never overwritten
    const MakeModelOptions options = {
        .shape = shape, .out = folder_.path(), .dtype = dtype, .n_layers = n_layers, .vocab = 50};
    for (const char* name : {"config.json", "model.safetensors"})
      std::filesystem::remove(folder_.path() / name);  // of the one before
    ASSERT_TRUE(make_model(options).ok());
  }
  std::filesystem::path convert(const GgufFileOptions& options) {
    const ModelConfig config = ModelConfig::load(folder_.path()).value();
    const Checkpoint checkpoint = Checkpoint::open(folder_.path()).value();
    return folder_.write("model.gguf", testing::gguf_of(config, checkpoint, options));
  }
  LoadedWeights load(const std::filesystem::path& path, std::optional<DType> requantised = {}) {
    ThreadPool pool(2);
    Result<LoadedWeights> weights = load_weights(path, requantised, pool);
    EXPECT_TRUE(weights.ok()) << weights.error().message();
    return std::move(weights).value();
  }

  const TemporaryFolder folder_;
};

inline void expect_same(const kernel::PackedMatrix& a, const kernel::PackedMatrix& b,
                        const char* what) {
  ASSERT_EQ(a.type(), b.type()) << what;
  ASSERT_EQ(a.bytes(), b.bytes()) << what;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0) << what;
}

inline void expect_same(const Stack& a, const Stack& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) expect_same(a[i], b[i], what);
}

// All that the forward pass reads, embeddings apart.
inline void expect_same(const LoadedWeights& a, const LoadedWeights& b) {
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t i = 0; i < a.layers.size(); ++i) {
    expect_same(a.layers[i].qkv, b.layers[i].qkv, "qkv");
    expect_same(a.layers[i].o, b.layers[i].o, "o");
    expect_same(a.layers[i].gate_up, b.layers[i].gate_up, "gate_up");
    expect_same(a.layers[i].down, b.layers[i].down, "down");
    EXPECT_EQ(a.layers[i].qkv_bias, b.layers[i].qkv_bias);
    EXPECT_EQ(a.layers[i].o_bias, b.layers[i].o_bias);
    EXPECT_EQ(a.layers[i].gate_up_bias, b.layers[i].gate_up_bias);
    EXPECT_EQ(a.layers[i].down_bias, b.layers[i].down_bias);
    EXPECT_EQ(a.layers[i].attention_norm, b.layers[i].attention_norm);
    EXPECT_EQ(a.layers[i].q_norm, b.layers[i].q_norm);
    EXPECT_EQ(a.layers[i].k_norm, b.layers[i].k_norm);
    EXPECT_EQ(a.layers[i].feed_forward_norm, b.layers[i].feed_forward_norm);
    EXPECT_EQ(a.layers[i].attention_sum_norm, b.layers[i].attention_sum_norm);
    EXPECT_EQ(a.layers[i].feed_forward_sum_norm, b.layers[i].feed_forward_sum_norm);
    EXPECT_EQ(a.layers[i].conv, b.layers[i].conv);
    EXPECT_EQ(a.layers[i].conv_bias, b.layers[i].conv_bias);
    EXPECT_EQ(a.layers[i].decay, b.layers[i].decay);
    EXPECT_EQ(a.layers[i].dt_bias, b.layers[i].dt_bias);
    EXPECT_EQ(a.layers[i].skip, b.layers[i].skip);
    EXPECT_EQ(a.layers[i].state_norm, b.layers[i].state_norm);
    expect_same(a.layers[i].router, b.layers[i].router, "router");
    EXPECT_EQ(a.layers[i].shared_gate, b.layers[i].shared_gate);
    EXPECT_EQ(a.layers[i].router_bias, b.layers[i].router_bias);
    EXPECT_EQ(a.layers[i].choice_bias, b.layers[i].choice_bias);
    EXPECT_EQ(a.layers[i].router_norm, b.layers[i].router_norm);
    EXPECT_EQ(a.layers[i].expert_scale, b.layers[i].expert_scale);
    EXPECT_EQ(a.layers[i].experts_norm, b.layers[i].experts_norm);
    EXPECT_EQ(a.layers[i].experts_sum_norm, b.layers[i].experts_sum_norm);
    EXPECT_EQ(a.layers[i].shared_sum_norm, b.layers[i].shared_sum_norm);
    EXPECT_EQ(a.layers[i].sinks, b.layers[i].sinks);
    ASSERT_EQ(a.layers[i].experts.size(), b.layers[i].experts.size());
    for (size_t j = 0; j < a.layers[i].experts.size(); ++j) {
      expect_same(a.layers[i].experts[j].gate_up, b.layers[i].experts[j].gate_up, "experts");
      expect_same(a.layers[i].experts[j].down, b.layers[i].experts[j].down, "experts");
      EXPECT_EQ(a.layers[i].experts[j].gate_up_bias, b.layers[i].experts[j].gate_up_bias);
      EXPECT_EQ(a.layers[i].experts[j].down_bias, b.layers[i].experts[j].down_bias);
    }
    expect_same(a.layers[i].input_gate, b.layers[i].input_gate, "input gate");
    expect_same(a.layers[i].input_projection, b.layers[i].input_projection, "input projection");
    EXPECT_EQ(a.layers[i].input_sum_norm, b.layers[i].input_sum_norm);
    EXPECT_EQ(a.layers[i].scale, b.layers[i].scale);
  }
  EXPECT_EQ(a.final_norm, b.final_norm);
  EXPECT_EQ(a.head_bias, b.head_bias);
  expect_same(a.head, b.head, "head");
  expect_same(a.layer_input_projection, b.layer_input_projection, "projection of embeddings");
  EXPECT_EQ(a.layer_input_norm, b.layer_input_norm);
  ASSERT_EQ(a.layer_input_table == nullptr, b.layer_input_table == nullptr);
  if (a.layer_input_table == nullptr) return;
  EXPECT_TRUE(std::ranges::equal(testing::bytes_of(*a.layer_input_table),
                                 testing::bytes_of(*b.layer_input_table)));
}

inline ModelConfig named_shape_with_vocab(const char* shape, int vocab) {
  ModelConfig config = named_shape(shape).value();
  config.vocab = config.layer_input_vocab = vocab;
  return config;
}

// The part of a configuration that a GGUF file can hold: factors in f32, no windows where its keys
// have none, for SmolLM3 rotation in all but every fourth layer, for gpt-oss the published limit.
inline ModelConfig as_gguf(ModelConfig config) {
  RopeConfig& rope = config.rotations[0];
  for (std::vector<double>* factors : {&rope.long_factor, &rope.short_factor})
    for (double& factor : *factors) factor = static_cast<float>(factor);
  if (testing::window_of_all(config) == 0 && !testing::says_windows(config) &&
      !testing::fixes_windows(config))
    for (LayerConfig& layer : config.layers) layer.window = 0;
  if (testing::is_family(config, "smollm3"))
    for (int i = 0; i < config.n_layers(); ++i) config.layers[i].rotation = i % 4 == 3 ? 1 : 0;
  if (testing::is_family(config, "gpt_oss")) config.activation_limit = 7.0f;  // of published models
  return config;
}

}  // namespace pando::model
