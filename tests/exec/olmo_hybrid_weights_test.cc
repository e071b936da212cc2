// The names and sizes that checkpoints of OLMo Hybrid have for the same weights.
#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/loaded_weights.h"
#include "model/gguf_model.h"
#include "model/safetensors.h"

namespace pando::model::olmo_hybrid_weights_test {
namespace {

struct StoredF32 {
  std::vector<int64_t> shape;
  std::string bytes;
};
using TensorMap = std::map<std::string, StoredF32>;

class OlmoHybridWeights : public GgufModel {
 protected:
  void SetUp() override {
    make("tiny-olmo-hybrid", DType::kF32);
    const Checkpoint checkpoint = Checkpoint::open(folder_.path()).value();
    for (const WeightSpec& spec : checkpoint_specs(config())) {
      const TensorView view = checkpoint.tensor(spec.name, spec.shape).value();
      tensors_[spec.name] = {spec.shape, {reinterpret_cast<const char*>(view.data), view.n_bytes}};
    }
  }

  ModelConfig config() const { return ModelConfig::load(folder_.path()).value(); }

  std::filesystem::path write(const TensorMap& tensors, const TemporaryFolder& folder) const {
    std::vector<SafetensorsWriter::Tensor> headers;
    for (const auto& [name, tensor] : tensors) headers.push_back({name, DType::kF32, tensor.shape});
    auto writer = SafetensorsWriter::create(folder.path() / "model.safetensors", headers).value();
    for (const auto& [name, tensor] : tensors)
      EXPECT_TRUE(writer.append(std::as_bytes(std::span(tensor.bytes))).ok());
    EXPECT_TRUE(writer.finish().ok());
    folder.write("config.json", config().to_json(DType::kF32));
    return folder.path();
  }

  Result<LoadedWeights> try_load(const TensorMap& tensors) const {
    const TemporaryFolder folder;
    ThreadPool pool(1);
    return load_weights(write(tensors, folder), std::nullopt, pool);
  }

  static std::string name(int layer, const char* part) { return layer_weight_name(layer, part); }

  static void rename(TensorMap& tensors, const std::string& from, const std::string& to) {
    ASSERT_TRUE(tensors.contains(from)) << from;
    tensors[to] = tensors[from];
    tensors.erase(from);
  }

  // The convolution of layer 0 in parts of these rows, one after another.
  static TensorMap divided(TensorMap tensors, const std::vector<int64_t>& rows) {
    std::string all;
    const char* const names[] = {"linear_attn.q_conv1d.weight", "linear_attn.k_conv1d.weight",
                                 "linear_attn.v_conv1d.weight"};
    for (const char* part : names) all += tensors[name(0, part)].bytes;
    size_t at = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      StoredF32& tensor = tensors[name(0, names[i])];
      const size_t n = static_cast<size_t>(rows[i]) * 4 * sizeof(float);  // taps
      tensor.shape[0] = rows[i];
      tensor.bytes = all.substr(at, n);
      tensor.bytes.resize(n);
      at += n;
    }
    return tensors;
  }

  TensorMap tensors_;
};

// Layer 0 is a delta-net with 40 channels each of queries and keys and 144 of values, layer 1 has
// attention.
TEST_F(OlmoHybridWeights, MadeOnesHaveThePublishedForm) {
  const std::vector<int64_t> keys = {40, 1, 4}, values = {144, 1, 4};
  EXPECT_EQ(tensors_.at(name(0, "linear_attn.q_conv1d.weight")).shape, keys);
  EXPECT_EQ(tensors_.at(name(0, "linear_attn.k_conv1d.weight")).shape, keys);
  EXPECT_EQ(tensors_.at(name(0, "linear_attn.v_conv1d.weight")).shape, values);
  EXPECT_TRUE(tensors_.contains(name(0, "attention_layer_norm.weight")));
  EXPECT_TRUE(tensors_.contains(name(0, "feedforward_layer_norm.weight")));
  EXPECT_TRUE(tensors_.contains(name(1, "post_attention_layernorm.weight")));
  EXPECT_TRUE(tensors_.contains(name(1, "post_feedforward_layernorm.weight")));
}

// 224 channels as 75, 75 and 74.
TEST_F(OlmoHybridWeights, TheLibrarysThirdsAreTheSameModel) {
  TensorMap tensors = divided(tensors_, {75, 75, 74});
  rename(tensors, name(1, "post_attention_layernorm.weight"),
         name(1, "feedforward_layer_norm.weight"));
  const TemporaryFolder folder;
  expect_same(load(write(tensors, folder)), load(folder_.path()));
}

TEST_F(OlmoHybridWeights, TheLibrarysOwnNamesAreTheSameModel) {
  TensorMap tensors = divided(tensors_, {224});
  for (const char* part : {"linear_attn.k_conv1d.weight", "linear_attn.v_conv1d.weight"})
    tensors.erase(name(0, part));
  rename(tensors, name(0, "linear_attn.q_conv1d.weight"), name(0, "linear_attn.conv1d.weight"));
  rename(tensors, name(0, "attention_layer_norm.weight"), name(0, "input_layernorm.weight"));
  rename(tensors, name(0, "feedforward_layer_norm.weight"),
         name(0, "post_attention_layernorm.weight"));
  const TemporaryFolder folder;
  expect_same(load(write(tensors, folder)), load(folder_.path()));
}

TEST_F(OlmoHybridWeights, OtherRowsAreRefused) {
  const Result<LoadedWeights> more = try_load(divided(tensors_, {40, 40, 148}));
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, ErrorCode::kBadFile);
  EXPECT_NE(more.error().message().find("v_conv1d.weight' has shape [148, 1, 4], expected [144"),
            std::string::npos)
      << more.error().message();
  TensorMap tensors = tensors_;
  tensors.erase(name(0, "linear_attn.k_conv1d.weight"));
  const Result<LoadedWeights> fewer = try_load(tensors);
  ASSERT_FALSE(fewer.ok());
  EXPECT_NE(
      fewer.error().message().find("tensor 'model.layers.0.linear_attn.k_conv1d.weight' is absent"),
      std::string::npos)
      << fewer.error().message();
}

// The configuration may give layers other kinds than the file.
TEST_F(OlmoHybridWeights, TensorsOfTheOtherKindOfLayerAreRefused) {
  const TemporaryFolder folder;
  write(tensors_, folder);
  ModelConfig other = config();
  std::swap(other.layers[0].mixer, other.layers[1].mixer);
  folder.write("config.json", other.to_json(DType::kF32));
  ThreadPool pool(1);
  const Result<LoadedWeights> refused = load_weights(folder.path(), std::nullopt, pool);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message().find(
                "tensor 'model.layers.0.attention_layer_norm.weight' is unknown, expected those "),
            std::string::npos)
      << refused.error().message();
}

}  // namespace
}  // namespace pando::model::olmo_hybrid_weights_test
