// GGUF files and safetensors of one model are one model, to the bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "model/gguf_files.h"
#include "model/make_model.h"
#include "model/safetensors.h"
#include "model/test_files.h"
#include "model/weights.h"

namespace pando::model {
namespace {

using testing::GgufFileOptions;
using testing::GgufWriter;

// A tiny model as safetensors, and the same as a GGUF file.
class GgufModel : public ::testing::Test {
 protected:
  void make(const char* shape, DType dtype, int n_layers = 2) {
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
  Weights load(const std::filesystem::path& path, std::optional<DType> requantised = {}) {
    ThreadPool pool(2);
    Result<Weights> weights = Weights::load(path, requantised, kernel::best_kernels(), pool);
    EXPECT_TRUE(weights.ok()) << weights.error().message;
    return std::move(weights).value();
  }

  const TemporaryFolder folder_;
};

void expect_same(const kernel::PackedMatrix& a, const kernel::PackedMatrix& b, const char* what) {
  ASSERT_EQ(a.type(), b.type()) << what;
  ASSERT_EQ(a.bytes(), b.bytes()) << what;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0) << what;
}

void expect_same(const Stack& a, const Stack& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) expect_same(a[i], b[i], what);
}

// All that the forward pass reads, embeddings apart.
void expect_same(const Weights& a, const Weights& b) {
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t i = 0; i < a.layers.size(); ++i) {
    expect_same(a.layers[i].qkv, b.layers[i].qkv, "qkv");
    expect_same(a.layers[i].o, b.layers[i].o, "o");
    expect_same(a.layers[i].gate_up, b.layers[i].gate_up, "gate_up");
    expect_same(a.layers[i].down, b.layers[i].down, "down");
    EXPECT_EQ(a.layers[i].qkv_bias, b.layers[i].qkv_bias);
    EXPECT_EQ(a.layers[i].o_bias, b.layers[i].o_bias);
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
  ASSERT_EQ(a.layer_input_table.n_bytes, b.layer_input_table.n_bytes);
  if (a.layer_input_table.n_bytes == 0) return;
  EXPECT_EQ(
      std::memcmp(a.layer_input_table.data, b.layer_input_table.data, a.layer_input_table.n_bytes),
      0);
}

ModelConfig named_shape_with_vocab(const char* shape, int vocab) {
  ModelConfig config = named_shape(shape).value();
  config.vocab = config.layer_input_vocab = vocab;
  return config;
}

// What a GGUF file of this model can say: factors in f32, no layers of their own kind, and of
// SmolLM3 no layers but every fourth that do not rotate, and of gpt-oss no limit.
ModelConfig as_gguf(ModelConfig config) {
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

TEST_F(GgufModel, FloatsAreThoseOfSafetensors) {
  for (const char* shape : {"tiny-llama",
                            "tiny-qwen3",
                            "tiny-mistral",
                            "tiny-qwen2",
                            "tiny-phi3",
                            "tiny-olmo2",
                            "tiny-qwen3.5",
                            "tiny-qwen3-next",
                            "tiny-lfm2",
                            "tiny-granite",
                            "tiny-smollm3",
                            "tiny-ministral3",
                            "tiny-olmo3",
                            "tiny-granite3",
                            "tiny-cohere2",
                            "tiny-glm4",
                            "tiny-seed-oss",
                            "tiny-gemma2",
                            "tiny-gemma3",
                            "tiny-qwen3-moe",
                            "tiny-mixtral",
                            "tiny-olmoe",
                            "tiny-granite-moe",
                            "tiny-granite-moe-shared",
                            "tiny-granite-moe-hybrid",
                            "tiny-phimoe",
                            "tiny-gpt-oss",
                            "tiny-qwen3.5-moe",
                            "tiny-qwen3-next-moe",
                            "tiny-exaone4",
                            "tiny-ernie4.5",
                            "tiny-hunyuan",
                            "tiny-gemma4"}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      make(shape, dtype);
      const Weights stored = load(folder_.path());
      for (const uint32_t version : {2, 3}) {
        const Weights gguf = load(convert({.matrices = dtype, .version = version}));
        expect_same(gguf, stored);
        EXPECT_EQ(gguf.config.to_json(dtype), as_gguf(stored.config).to_json(dtype)) << shape;
        EXPECT_EQ(gguf.config, as_gguf(stored.config)) << shape;
        ASSERT_EQ(gguf.embedding.n_bytes, stored.embedding.n_bytes);
        EXPECT_EQ(std::memcmp(gguf.embedding.data, stored.embedding.data, stored.embedding.n_bytes),
                  0);
      }
      expect_same(load(folder_.path() / "model.gguf", DType::kI8),
                  load(folder_.path(), DType::kI8));
    }
  }
}

TEST_F(GgufModel, BlocksAreUsedAsTheyAre) {
  for (const char* shape : {"tiny-llama", "tiny-qwen3", "tiny-lfm2", "tiny-qwen3-moe"}) {
    make(shape, DType::kBF16);
    for (const DType type : {DType::kQ8_0, DType::kQ4_0}) {
      const Weights made = load(folder_.path(), type);
      const std::filesystem::path gguf = convert({.matrices = type});
      expect_same(load(gguf, type), made);
      const Weights as_stored = load(gguf);
      expect_same(as_stored.layers[1].qkv, made.layers[1].qkv, "qkv");
      expect_same(as_stored.layers[1].gate_up, made.layers[1].gate_up, "gate_up");
      for (size_t i = 0; i < made.layers[1].experts.size(); ++i)
        expect_same(as_stored.layers[1].experts[i].gate_up, made.layers[1].experts[i].gate_up,
                    "experts");
      expect_same(as_stored.head, made.head, "head");
    }
  }
}

// A checkpoint may have one tensor for all experts of a layer instead.
TEST_F(GgufModel, FusedExpertsAreThoseOfSingleTensors) {
  make("tiny-qwen3-moe", DType::kBF16);
  const ModelConfig config = ModelConfig::load(folder_.path()).value();
  const Checkpoint checkpoint = Checkpoint::open(folder_.path()).value();
  const TemporaryFolder fused;
  std::vector<SafetensorsWriter::Tensor> tensors;
  for (const WeightSpec& spec : weight_specs(config))
    tensors.push_back({spec.name, DType::kBF16, spec.shape});
  auto writer = SafetensorsWriter::create(fused.path() / "model.safetensors", tensors).value();
  for (const WeightSpec& spec : weight_specs(config)) {
    std::string bytes;
    if (!testing::is_of_experts(spec)) {
      const TensorView view = checkpoint.tensor(spec.name, spec.shape).value();
      bytes.assign(reinterpret_cast<const char*>(view.data), view.n_bytes);
    } else {
      for (int expert = 0; expert < spec.shape[0]; ++expert)
        bytes += testing::expert_rows(checkpoint, spec, expert, 0, spec.shape[1]);
    }
    ASSERT_TRUE(writer.append(std::as_bytes(std::span(bytes))).ok());
  }
  ASSERT_TRUE(writer.finish().ok());
  fused.write("config.json", config.to_json(DType::kBF16));
  expect_same(load(fused.path()), load(folder_.path()));
}

// A missing tensor is named, whichever it is.
TEST_F(GgufModel, MissingExpertsAreNamed) {
  make("tiny-qwen3-moe", DType::kF32);
  const ModelConfig config = ModelConfig::load(folder_.path()).value();
  for (const bool all : {false, true}) {
    const TemporaryFolder cut;
    std::vector<SafetensorsWriter::Tensor> tensors;
    for (const WeightSpec& spec : checkpoint_specs(config))
      if (spec.name.find(all ? ".0.mlp.experts." : ".0.mlp.experts.2.up_proj") == spec.name.npos)
        tensors.push_back({spec.name, DType::kF32, spec.shape});
    auto writer = SafetensorsWriter::create(cut.path() / "model.safetensors", tensors).value();
    for (const auto& tensor : tensors) {
      int64_t n = 4;
      for (const int64_t size : tensor.shape) n *= size;
      ASSERT_TRUE(writer.append(std::vector<std::byte>(n)).ok());
    }
    ASSERT_TRUE(writer.finish().ok());
    cut.write("config.json", config.to_json(DType::kF32));
    ThreadPool pool(1);
    const auto refused = Weights::load(cut.path(), std::nullopt, kernel::best_kernels(), pool);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kBadFile);
    const char* name = all ? "has no tensor 'model.layers.0.mlp.experts.0.gate_proj.weight'"
                           : "has no tensor 'model.layers.0.mlp.experts.2.up_proj.weight'";
    EXPECT_NE(refused.error().message.find(name), std::string::npos) << refused.error().message;
  }
}

// Experts of a layer are multiplied together.
TEST_F(GgufModel, ExpertsOfOneLayerHaveOneType) {
  make("tiny-qwen3-moe", DType::kF32);
  const ModelConfig config = ModelConfig::load(folder_.path()).value();
  const Checkpoint checkpoint = Checkpoint::open(folder_.path()).value();
  const TemporaryFolder mixed;
  const auto is_other = [](const WeightSpec& spec) {
    return spec.name == "model.layers.1.mlp.experts.5.down_proj.weight";
  };
  std::vector<SafetensorsWriter::Tensor> tensors;
  for (const WeightSpec& spec : checkpoint_specs(config))
    tensors.push_back({spec.name, is_other(spec) ? DType::kBF16 : DType::kF32, spec.shape});
  auto writer = SafetensorsWriter::create(mixed.path() / "model.safetensors", tensors).value();
  for (const WeightSpec& spec : checkpoint_specs(config)) {
    const TensorView view = checkpoint.tensor(spec.name, spec.shape).value();
    const std::string bytes(reinterpret_cast<const char*>(view.data), view.n_bytes);
    const std::string zeros(view.n_bytes / 2, '\0');
    ASSERT_TRUE(writer.append(std::as_bytes(std::span(is_other(spec) ? zeros : bytes))).ok());
  }
  ASSERT_TRUE(writer.finish().ok());
  mixed.write("config.json", config.to_json(DType::kF32));
  ThreadPool pool(1);
  const auto refused = Weights::load(mixed.path(), std::nullopt, kernel::best_kernels(), pool);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  for (const char* word : {"experts.5.down_proj", "another type", "one type"})
    EXPECT_NE(refused.error().message.find(word), std::string::npos) << refused.error().message;
  EXPECT_TRUE(Weights::load(mixed.path(), DType::kQ8_0, kernel::best_kernels(), pool).ok());
}

TEST_F(GgufModel, PassesOverMultiTokenPrediction) {
  make("tiny-qwen3.5", DType::kF32);
  const Weights stored = load(folder_.path());
  EXPECT_TRUE(stored.passed_over.empty());
  const Weights gguf =
      load(convert({.mtp_tensors = {"blk.2.attn_norm.weight", "blk.2.nextn.eh_proj.weight"}}));
  expect_same(gguf, stored);
  EXPECT_EQ(gguf.config, stored.config);
  EXPECT_EQ(gguf.passed_over, std::vector<std::string>{"multi-token prediction (2 tensors)"});
  ThreadPool pool(1);
  const auto refused = Weights::load(convert({.mtp_tensors = {"blk.1.nextn.eh_proj.weight"}}),
                                     std::nullopt, kernel::best_kernels(), pool);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("blk.1.nextn.eh_proj.weight"), std::string::npos);
}

// Some writers keep keys and values that no layer reads.
TEST_F(GgufModel, PassesOverKeysOfLayersThatReadThoseOfOthers) {
  make("tiny-gemma4", DType::kF32, /*n_layers=*/5);
  const Weights stored = load(folder_.path());
  EXPECT_EQ(stored.config, named_shape_with_vocab("tiny-gemma4", 50));
  const Weights plain = load(convert({}));
  expect_same(plain, stored);
  EXPECT_EQ(plain.config, stored.config);
  const Weights gguf = load(convert(
      {.mtp_tensors = {"blk.3.attn_k.weight", "blk.4.attn_k_norm.weight"}, .declares_mtp = false}));
  expect_same(gguf, stored);
  EXPECT_EQ(gguf.passed_over,
            std::vector<std::string>{"keys of layers that read those of others (2 tensors)"});
  ThreadPool pool(1);
  const auto refused =
      Weights::load(convert({.mtp_tensors = {"blk.1.attn_v.weight"}, .declares_mtp = false}),
                    std::nullopt, kernel::best_kernels(), pool);
  EXPECT_FALSE(refused.ok());  // or the keys would not be the values
}

// A block that the file does not count would be left out, and give another model.
TEST_F(GgufModel, RefusesBlocksThatAreNotCounted) {
  make("tiny-qwen3.5", DType::kF32);
  ThreadPool pool(1);
  const auto refused =
      Weights::load(convert({.mtp_tensors = {"blk.2.attn_norm.weight"}, .declares_mtp = false}),
                    std::nullopt, kernel::best_kernels(), pool);
  ASSERT_FALSE(refused.ok());
  for (const char* word : {"block_count", "is 2", "blk.2.attn_norm.weight"})
    EXPECT_NE(refused.error().message.find(word), std::string::npos) << refused.error().message;
}

// Parts of one product may differ in type; neighbours that do not are one matrix.
TEST_F(GgufModel, PartsKeepTheirTypes) {
  make("tiny-qwen3", DType::kBF16);
  const ModelConfig config = ModelConfig::load(folder_.path()).value();
  const Checkpoint checkpoint = Checkpoint::open(folder_.path()).value();
  GgufWriter out = testing::gguf_metadata(config);
  int n = 0;
  for (const WeightSpec& spec : weight_specs(config)) {
    const std::vector<float> wide =
        testing::widened(checkpoint.tensor(spec.name, spec.shape).value());
    const DType type = spec.shape.size() == 1 ? DType::kF32
                       : n++ % 2 == 0         ? DType::kQ4_0
                                              : DType::kQ8_0;
    const std::string floats(reinterpret_cast<const char*>(wide.data()), wide.size() * 4);
    out.tensor(testing::gguf_tensor_name(config, spec.name), spec.shape, testing::ggml_type(type),
               type == DType::kF32 ? floats : testing::quantised_blocks(wide, type));
  }
  const Weights weights = load(folder_.write("model.gguf", out.bytes()));
  const auto types = [](const Stack& stack) {
    std::vector<DType> types;
    for (const kernel::PackedMatrix& matrix : stack) types.push_back(matrix.type());
    return types;
  };
  using Types = std::vector<DType>;
  EXPECT_EQ(types(weights.layers[0].qkv), (Types{DType::kQ8_0, DType::kQ4_0, DType::kQ8_0}));
  EXPECT_EQ(types(weights.layers[0].gate_up), (Types{DType::kQ8_0, DType::kQ4_0}));
  const Weights same = load(folder_.path() / "model.gguf", DType::kQ4_0);
  EXPECT_EQ(types(same.layers[0].qkv), Types{DType::kQ4_0});
}

TEST_F(GgufModel, EveryScalingOfTheRotationIsThatOfConfigJson) {
  const auto read = [&](const ModelConfig& config) {
    GgufWriter out = testing::gguf_metadata(config);
    out.tensor("token_embd.weight", {config.vocab, config.d_model}, 0,
               std::string(size_t{4} * config.vocab * config.d_model, '\0'));
    return ModelConfig::load(folder_.write("rope.gguf", out.bytes()));
  };
  ModelConfig config = named_shape("tiny-llama").value();
  config.tied_embeddings = true;
  for (const double factor : {8.0, 32.0}) {
    config.rotations[0] = {
        .type = RopeType::kLlama3, .theta = 5e5, .factor = factor, .original_positions = 8192};
    for (const int head_dim : {16, 64, 128}) {
      config.head_dim = head_dim;
      const auto got = read(config);
      ASSERT_TRUE(got.ok()) << got.error().message;
      EXPECT_EQ(*got, config) << factor << " " << head_dim;
    }
  }
  config.rotations[0].factor = 7.0;
  EXPECT_NE(read(config).error().message.find("rope_freqs.weight"), std::string::npos);
  config.rotations[0] = {.type = RopeType::kLinear, .factor = 4.0};
  EXPECT_EQ(read(config).value(), config);
  config.rotations[0] = {.type = RopeType::kYarn, .factor = 4.0, .original_positions = 1024};
  config.rotations[0].attention_factor = 0.1 * std::log(4.0) + 1.0;
  EXPECT_EQ(read(config).value(), config);
  // The attention factor that the lengths give, which a file has in f32 only.
  ModelConfig phi3 = named_shape("tiny-phi3").value();
  phi3 = as_gguf(phi3);
  phi3.max_positions = 4096;
  phi3.rotations[0].attention_factor = std::sqrt(1.0 + std::log(4.0) / std::log(1024.0));
  EXPECT_EQ(read(phi3).value(), phi3);
}

// The configuration of a tiny model's metadata with what `change` adds; `base` says the rest.
class GgufRope : public GgufModel {
 protected:
  template <class Change>
  Result<ModelConfig> read(const Change& change) {
    GgufWriter out = testing::gguf_metadata(base_);
    out.tensor("token_embd.weight", {1, 64}, 0, std::string(256, '\0'));
    change(out);
    return ModelConfig::load(folder_.write("rope.gguf", out.bytes()));
  }
  // The message names all of `words`.
  template <class Change>
  void refused(std::initializer_list<std::string_view> words, const Change& change) {
    const Result<ModelConfig> config = read(change);
    ASSERT_FALSE(config.ok()) << *words.begin();
    for (const std::string_view word : words)
      EXPECT_NE(config.error().message.find(word), std::string::npos) << config.error().message;
  }

  ModelConfig base_ = [] {
    ModelConfig config = named_shape("tiny-llama").value();
    config.rotations[0] = {};
    config.vocab = 1;
    config.bos_id.reset();
    config.eos_ids.clear();
    return config;
  }();
};

TEST_F(GgufRope, AFactorWithoutATypeIsLinear) {
  for (const char* name : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    const auto config = read([&](GgufWriter& out) { out.float32(name, 4.0f); });
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->rotations[0].type, RopeType::kLinear) << name;
    EXPECT_EQ(config->rotations[0].factor, 4.0) << name;
    for (const float none : {0.0f, 1.0f})
      EXPECT_EQ(read([&](GgufWriter& out) { out.float32(name, none); })->rotations[0].type,
                RopeType::kDefault);
  }
  refused({"llama.rope.scale_linear", "2", "4"}, [](GgufWriter& out) {
    out.float32("llama.rope.scaling.factor", 4.0f).float32("llama.rope.scale_linear", 2.0f);
  });
}

TEST_F(GgufRope, ReadsTheRampOfYarn) {
  const auto config = read([](GgufWriter& out) {
    out.string("llama.rope.scaling.type", "yarn")
        .float32("llama.rope.scaling.factor", 4.0f)
        .uint32("llama.rope.scaling.original_context_length", 256)
        .float32("llama.rope.scaling.yarn_beta_fast", 16.0f)
        .float32("llama.rope.scaling.yarn_beta_slow", 2.0f);
  });
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->rotations[0].type, RopeType::kYarn);
  EXPECT_EQ(config->rotations[0].beta_fast, 16.0);
  EXPECT_EQ(config->rotations[0].beta_slow, 2.0);
}

// The first layer with attention need not be the first layer.
TEST_F(GgufRope, ABiasOfAnyLayerCounts) {
  for (const char* shape : {"tiny-qwen3.5", "tiny-granite"}) {
    base_ = named_shape(shape).value();
    base_.vocab = 1;
    base_.bos_id.reset();
    base_.eos_ids.clear();
    for (const bool has_bias : {false, true}) {
      const auto config = read([&](GgufWriter& out) {
        if (has_bias) out.tensor("blk.1.attn_q.bias", {4}, 0, std::string(16, '\0'));
      });
      ASSERT_TRUE(config.ok()) << config.error().message;
      EXPECT_EQ(config->qkv_bias, has_bias) << shape;
    }
  }
}

TEST_F(GgufRope, RefusesWhatItWouldNotApply) {
  refused({"llama.rope.scaling.yarn_log_multiplier", "0.1"},
          [](GgufWriter& out) { out.float32("llama.rope.scaling.yarn_log_multiplier", 0.1f); });
  refused({"llama.rope.scaling.attn_factor", "1.5"},
          [](GgufWriter& out) { out.float32("llama.rope.scaling.attn_factor", 1.5f); });
  refused({"llama.rope.scaling.yarn_beta_fast", "yarn"},
          [](GgufWriter& out) { out.float32("llama.rope.scaling.yarn_beta_fast", 16.0f); });
  refused({"llama.rope.freq_base_swa"},
          [](GgufWriter& out) { out.float32("llama.rope.freq_base_swa", 1e4f); });
  refused({"llama.rope.scaling.type", "longrope"},
          [](GgufWriter& out) { out.string("llama.rope.scaling.type", "longrope"); });
  refused({"llama.rope.scaling.type", "\uFFFD\uFFFD", "linear"},
          [](GgufWriter& out) { out.string("llama.rope.scaling.type", "\xff\xfe"); });
  refused({"llama.rope.scaling.factor", "nan", "finite"}, [](GgufWriter& out) {
    out.float32("llama.rope.scaling.factor", std::numeric_limits<float>::quiet_NaN());
  });
  refused({"llama.rope.scaling.factor", "inf", "finite"}, [](GgufWriter& out) {
    out.float32("llama.rope.scaling.factor", std::numeric_limits<float>::infinity());
  });
  const std::string factors(4 * 64, '\0');
  refused({"rope_factors_long.weight", "missing"}, [&](GgufWriter& out) {
    out.uint32("llama.rope.scaling.original_context_length", 64);
    out.tensor("rope_factors_short.weight", {8}, 0, factors.substr(0, 32));
  });
  refused({"linear", "rope_freqs.weight", "one of them"}, [&](GgufWriter& out) {
    out.float32("llama.rope.scaling.factor", 4.0f);
    out.tensor("rope_freqs.weight", {8}, 0, factors.substr(0, 32));
  });
  refused({"rope_freqs.weight", "type 0", "[64]", "[8]"},
          [&](GgufWriter& out) { out.tensor("rope_freqs.weight", {64}, 0, factors); });
  refused({"rope_freqs.weight", "type 1", "[8]"},
          [&](GgufWriter& out) { out.tensor("rope_freqs.weight", {8}, 1, factors.substr(0, 16)); });
}

// It follows from the factor, and readers compute it.
TEST_F(GgufRope, TakesTheAttentionFactorOfYarnThatIsUsual) {
  const auto yarn = [](float attention) {
    return [attention](GgufWriter& out) {
      out.string("llama.rope.scaling.type", "yarn")
          .float32("llama.rope.scaling.factor", 8.0f)
          .uint32("llama.rope.scaling.original_context_length", 256)
          .float32("llama.rope.scaling.yarn_attn_factor", attention);
    };
  };
  const auto config = read(yarn(1.2079442f));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_DOUBLE_EQ(config->rotations[0].attention_factor, 0.1 * std::log(8.0) + 1.0);
  refused({"llama.rope.scaling.yarn_attn_factor", "1.25", "1.20794"}, yarn(1.25f));
}

TEST_F(GgufRope, ReadsTheLayersThatHaveAWindow) {
  base_ = named_shape("tiny-cohere2").value();
  base_.vocab = 1;
  base_.bos_id.reset();
  base_.eos_ids.clear();
  for (LayerConfig& layer : base_.layers) layer = {};
  constexpr const char *kWindow = "cohere2.attention.sliding_window",
                       *kPattern = "cohere2.attention.sliding_window_pattern";
  const auto windows = [&](const auto& change) {
    const auto config = read([&](GgufWriter& out) {
      out.uint32(kWindow, 9);
      change(out);
    });
    EXPECT_TRUE(config.ok()) << config.error().message;
    std::vector<int> windows;
    for (const LayerConfig& layer : config.ok() ? config->layers : std::vector<LayerConfig>())
      windows.push_back(layer.window);
    return windows;
  };
  using Windows = std::vector<int>;
  EXPECT_EQ(windows([](GgufWriter&) {}), (Windows{9, 9, 9, 0}));
  EXPECT_EQ(windows([](GgufWriter& out) { out.uint32(kPattern, 2); }), (Windows{9, 0, 9, 0}));
  EXPECT_EQ(windows([](GgufWriter& out) { out.uint32(kPattern, 0); }), (Windows{9, 9, 9, 9}));
  EXPECT_EQ(windows([](GgufWriter& out) {
              out.numbers(kPattern, GgufType::kBool, std::vector<uint8_t>{0, 1, 1, 0});
            }),
            (Windows{0, 9, 9, 0}));
  refused({kPattern, "3 entries", "4"}, [](GgufWriter& out) {
    out.uint32(kWindow, 9).numbers(kPattern, GgufType::kBool, std::vector<uint8_t>{0, 1, 1});
  });
}

TEST_F(GgufRope, RefusesByNameWhatFamiliesLack) {
  const auto of = [&](const char* shape) {
    base_ = named_shape(shape).value();
    base_.vocab = 1;
    base_.bos_id.reset();
    base_.eos_ids.clear();
  };
  of("tiny-granite3");
  refused({"granite.rope.scaling.finetuned", "true for granite"},
          [](GgufWriter& out) { out.boolean("granite.rope.scaling.finetuned", false); });
  of("tiny-ministral3");
  base_.rotations = {{}};
  refused({"mistral3.attention.temperature_scale", "yarn"},
          [](GgufWriter& out) { out.float32("mistral3.attention.temperature_scale", 0.1f); });
}

TEST_F(GgufRope, ChannelsThatRotateAreAWholeNumber) {
  base_ = named_shape("tiny-phi3").value();
  base_.vocab = 1;
  base_.rotations[0] = {};
  base_.bos_id.reset();
  base_.eos_ids.clear();
  for (LayerConfig& layer : base_.layers) layer.window = 0;
  for (const int head_dim : {100, 148, 256}) {
    base_.head_dim = head_dim;
    for (int dim = 2; dim <= head_dim; dim += 2) {
      base_.rotations[0].rotary_share = (dim + 0.5) / head_dim;
      const auto config = read([](GgufWriter&) {});
      ASSERT_TRUE(config.ok()) << config.error().message;
      ASSERT_EQ(config->rotations[0].rotary_dim(head_dim), dim) << head_dim;
    }
  }
  for (const double share : {0.0, 1.02, 1e7, 0.013})
    for (base_.rotations[0].rotary_share = share;
         const char* word : {"phi3.rope.dimension_count", "256"})
      refused({word}, [](GgufWriter&) {});
}

TEST_F(GgufRope, MinusOneNamesNoToken) {
  const auto config = read([](GgufWriter& out) {
    out.uint32("tokenizer.ggml.bos_token_id", 0xFFFFFFFF)
        .uint32("tokenizer.ggml.eos_token_id", 0)
        .uint32("tokenizer.ggml.eot_token_id", 0xFFFFFFFF);
  });
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_FALSE(config->bos_id.has_value());
  EXPECT_EQ(config->eos_ids, std::vector<int32_t>{0});
}

// As llama.cpp converts Qwen3-Reranker.
TEST_F(GgufModel, AClassifierOfTheHeadsRowsSaysNothingNew) {
  make("tiny-qwen3", DType::kF32);
  const ModelConfig config = ModelConfig::load(folder_.path()).value();
  const Checkpoint checkpoint = Checkpoint::open(folder_.path()).value();
  const auto bytes_of = [](const TensorView& view) {
    return std::string(reinterpret_cast<const char*>(view.data), view.n_bytes);
  };
  const std::string head = bytes_of(checkpoint.tensor(head_spec(config)).value());
  const size_t row = head.size() / static_cast<size_t>(config.vocab);
  const auto write = [&](size_t yes, size_t no) {
    GgufWriter out = testing::gguf_metadata(config);
    std::vector<std::string> tokens(static_cast<size_t>(config.vocab), "t");
    tokens[7] = "yes";
    tokens[9] = "no";
    out.strings("qwen3.classifier.output_labels", {"yes", "no"});
    out.strings("tokenizer.ggml.tokens", tokens);
    for (const WeightSpec& spec : weight_specs(config))
      out.tensor(spec.gguf_name, spec.shape, 0, bytes_of(checkpoint.tensor(spec).value()));
    out.tensor("cls.output.weight", {2, config.d_model}, 0,
               head.substr(yes * row, row) + head.substr(no * row, row));
    return folder_.write("rank.gguf", out.bytes());
  };
  const Weights weights = load(write(7, 9));
  EXPECT_EQ(weights.passed_over,
            (std::vector<std::string>{"copy of rows of the LM head (1 tensor)"}));
  expect_same(weights, load(folder_.path()));
  const Result<Weights> other = Weights::open(write(9, 7));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(other.error().message.find("the row for 'yes' differs from that of the LM head") !=
              std::string::npos)
      << other.error().message;
}

class GgufErrors : public GgufModel {
 protected:
  // The message of a file with the metadata of a tiny model and whatever `change` adds.
  template <class Change>
  Error error(const Change& change) {
    GgufWriter out = testing::gguf_metadata(named_shape("tiny-llama").value());
    change(out);
    const auto path = folder_.write("bad.gguf", out.bytes());
    const Result<Checkpoint> checkpoint = Checkpoint::open(path);
    EXPECT_FALSE(checkpoint.ok());
    return checkpoint.ok() ? Error{} : checkpoint.error();
  }
  static bool holds(const Error& error, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words)
      if (error.message.find(word) == std::string::npos) return false;
    return true;
  }
};

TEST_F(GgufErrors, NameTensorAndType) {
  const std::string data(256, '\1');
  Error e = error([&](GgufWriter& out) { out.tensor("blk.0.ffn_up.weight", {2, 32}, 9, data); });
  EXPECT_EQ(e.code, ErrorCode::kUnsupported);
  EXPECT_TRUE(holds(e, {"bad.gguf", "blk.0.ffn_up.weight", "Q8_1", "Q5_0"})) << e.message;
  e = error([&](GgufWriter& out) { out.tensor("x", {2, 32}, 4'000'000'000u, data); });
  EXPECT_TRUE(holds(e, {"'x'", "type 4000000000"})) << e.message;
  e = error([&](GgufWriter& out) { out.tensor("x", {2, 48}, 8, data); });
  EXPECT_TRUE(holds(e, {"'x'", "rows of 48", "32"})) << e.message;
  e = error([&](GgufWriter& out) { out.tensor("x", {64, 32}, 0, data); });
  EXPECT_TRUE(holds(e, {"'x'", "[64, 32]", "8192 bytes", "256"})) << e.message;
  e = error([&](GgufWriter& out) { out.tensor("x", {int64_t{1} << 40, 1 << 20}, 0, data); });
  EXPECT_TRUE(holds(e, {"'x'", "cut short"})) << e.message;
  e = error([&](GgufWriter& out) { out.tensor("x", {int64_t{1} << 62}, 0, data); });
  EXPECT_TRUE(holds(e, {"'x'"})) << e.message;
  e = error([&](GgufWriter& out) {  // the first needs more than its writer gave it
    out.tensor("x", {16}, 0, std::string(32, '\0')).tensor("y", {32}, 0, std::string(128, '\0'));
  });
  EXPECT_TRUE(holds(e, {"'x'", "'y'", "overlap"})) << e.message;
}

TEST_F(GgufErrors, NameKeyAndValue) {
  const std::string row(64 * 4, '\0');
  const auto one = [&](GgufWriter out) {
    out.tensor("token_embd.weight", {1, 64}, 0, row);
    const Result<ModelConfig> config = ModelConfig::load(folder_.write("bad.gguf", out.bytes()));
    EXPECT_FALSE(config.ok());
    return config.ok() ? Error{} : config.error();
  };
  Error e = one(GgufWriter());
  EXPECT_EQ(e.code, ErrorCode::kBadFile);
  EXPECT_TRUE(holds(e, {"general.architecture", "missing", "llama"})) << e.message;
  e = one(std::move(GgufWriter().string("general.architecture", "mamba")));
  EXPECT_EQ(e.code, ErrorCode::kUnsupported);
  EXPECT_TRUE(holds(e, {"mamba", "qwen3"})) << e.message;
  e = one(std::move(GgufWriter().string("general.architecture", "gemma-embedding")));
  EXPECT_EQ(e.code, ErrorCode::kUnsupported);
  EXPECT_TRUE(holds(e, {"'gemma-embedding', expected another", "EmbeddingGemma"})) << e.message;
  e = one(std::move(GgufWriter().string("general.architecture", "llama")));
  EXPECT_TRUE(holds(e, {"llama.embedding_length", "missing"})) << e.message;
  const ModelConfig tiny = named_shape("tiny-llama").value();
  e = one(std::move(testing::gguf_metadata(tiny).uint32("llama.expert_count", 8)));
  EXPECT_TRUE(holds(e, {"llama.expert_used_count", "missing"})) << e.message;
  e = one(std::move(testing::gguf_metadata(tiny).uint32("llama.attention.value_length", 8)));
  EXPECT_TRUE(holds(e, {"llama.attention.value_length", "8"})) << e.message;
  for (const auto& [name, value] : {std::pair{"llama.final_logit_softcapping", 30.0F},
                                    {"llama.attention.scale", 0.5F},
                                    {"llama.logit_scale", 0.0625F},
                                    {"llama.embedding_scale", 12.0F},
                                    {"llama.attention.clamp_kqv", 8.0F}}) {
    e = one(std::move(testing::gguf_metadata(tiny).float32(name, value)));
    EXPECT_EQ(e.code, ErrorCode::kUnsupported) << name;
    EXPECT_TRUE(holds(e, {name})) << e.message;
  }
}

// Not as config.json would call them.
TEST_F(GgufErrors, NameTheKeyThatAValueComesFrom) {
  const auto expect = [&](const char* shape, auto change,
                          std::initializer_list<std::string_view> words) {
    ModelConfig config = named_shape(shape).value();
    config.bos_id.reset();
    config.eos_ids.clear();
    change(config);
    GgufWriter out = testing::gguf_metadata(config);
    out.tensor("token_embd.weight", {1, 64}, 0, std::string(64 * 4, '\0'));
    const auto path = folder_.write("'head_dim'.gguf", out.bytes());
    const Result<ModelConfig> read = ModelConfig::load(path);
    ASSERT_FALSE(read.ok()) << *words.begin();
    EXPECT_TRUE(holds(read.error(), words)) << read.error().message;
    EXPECT_TRUE(read.error().message.starts_with(path.string())) << read.error().message;
  };
  using Config = ModelConfig;
  expect("tiny-llama", [](Config& c) { c.d_model = 63; },
         {"'llama.embedding_length' is 63, expected a multiple of 2"});
  expect("tiny-llama", [](Config& c) { c.head_dim = 18; }, {"'llama.attention.key_length' is 18"});
  expect("tiny-llama", [](Config& c) { c.rms_eps = 2; },
         {"'llama.attention.layer_norm_rms_epsilon' is 2"});
  expect("tiny-llama", [](Config& c) { c.n_heads = 5; },
         {"'llama.attention.head_count' is 5", "'llama.attention.head_count_kv' 2"});
  expect("tiny-llama", [](Config& c) { c.bos_id = 3; },
         {"'tokenizer.ggml.bos_token_id' is 3, expected an integer in [0, 0]"});
  expect("tiny-llama",
         [](Config& c) {
           c.eos_ids = {0, 4};
         },
         {"'tokenizer.ggml.eot_token_id' is 4"});
  expect("tiny-llama",
         [](Config& c) { c.rotations = {{.type = RopeType::kLinear, .factor = 0.5}}; },
         {"rotation: 'llama.rope.scaling.factor' is 0.5, expected a number in [1, 1e6]"});
  expect("tiny-phi3", [](Config& c) { c.rotations[0].long_factor[3] = 0; },
         {"'rope_factors_long.weight[3]' is 0"});
  expect("tiny-mistral",
         [](Config& c) {
           for (LayerConfig& layer : c.layers) layer.window = (1 << 30) + 1;
         },
         {"'llama.attention.sliding_window' is "});
  expect("tiny-qwen3.5", [](Config& c) { c.recurrent.conv_taps = 17; },
         {"'qwen35.ssm.conv_kernel' is 17, expected an integer in [2, 16]"});
  expect("tiny-qwen3.5", [](Config& c) { c.recurrent.value_dim = 30; },
         {"'qwen35.ssm.inner_size' / 'qwen35.ssm.time_step_rank' is 30"});
  const auto no_attention = [](Config& c) {
    for (LayerConfig& layer : c.layers) layer.mixer = Mixer::kDeltaNet;
  };
  expect("tiny-qwen3.5", no_attention,
         {"'qwen35.attention.recurrent_layers' names no layer with attention"});
  expect("tiny-lfm2", [](Config& c) { c.recurrent.conv_taps = 17; },
         {"'lfm2.shortconv.l_cache' is 17"});
  expect("tiny-lfm2", [](Config& c) { c.rms_eps = -1; },
         {"'lfm2.attention.layer_norm_rms_epsilon' is -1"});
  expect("tiny-granite", [](Config& c) { c.logit_divisor = 1e30f; },
         {"'granitehybrid.logit_scale' is 1"});
  expect("tiny-granite", [](Config& c) { c.d_ff = 151; },
         {"'granitehybrid.feed_forward_length' is 151"});
}

TEST_F(GgufErrors, NameOneOfManyLayers) {
  const auto expect = [&](const char* shape, int n_more_blocks, auto change,
                          std::string_view expected) {
    ModelConfig tiny = named_shape(shape).value();
    tiny.bos_id.reset();
    tiny.eos_ids.clear();
    GgufWriter out = testing::gguf_metadata(tiny, 3, n_more_blocks);
    out.tensor("token_embd.weight", {1, 64}, 0, std::string(64 * 4, '\0'));
    change(out);
    std::string bytes = out.bytes();
    // Out of the way of what was added.
    const std::string_view unread = "qwen35.attention.recurrent_layers";
    if (const size_t at = bytes.find(unread); at != bytes.npos) bytes[at + unread.size() - 1] = '_';
    const Result<ModelConfig> config = ModelConfig::load(folder_.write("bad.gguf", bytes));
    ASSERT_FALSE(config.ok()) << expected;
    EXPECT_TRUE(holds(config.error(), {expected})) << config.error().message;
  };
  const auto list = [](const char* key, const std::vector<uint32_t>& values) {
    return [=](GgufWriter& out) { out.numbers(key, GgufType::kUint32, values); };
  };
  const auto nothing = [](GgufWriter&) {};
  expect("tiny-lfm2", 1, nothing, "'lfm2.attention.head_count_kv' has 4 entries, expected 5");
  expect("tiny-llama", 0, list("llama.attention.value_length", {16, 16, 8}),
         "'llama.attention.value_length[2]' is 8, expected 16");
  expect("tiny-qwen3.5", 0, list("qwen35.full_attention_interval", {5}),
         "'qwen35.full_attention_interval' is 5, expected a value with which at least one layer "
         "has attention");
}

TEST_F(GgufErrors, NameTensorsAsTheFileDoes) {
  make("tiny-llama", DType::kF32);
  const std::filesystem::path path = convert({.matrices = DType::kF32});
  const auto offset = GgufFile::open(path).value().find_tensor("blk.1.ffn_gate.weight")->offset;
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write("\xff\xff\xff\x7f", 4);
  file.close();
  ThreadPool pool(1);
  const auto weights = Weights::load(path, {}, kernel::best_kernels(), pool);
  ASSERT_FALSE(weights.ok());
  EXPECT_TRUE(holds(weights.error(), {"tensor 'blk.1.ffn_gate.weight' holds NaN"}))
      << weights.error().message;
}

TEST_F(GgufErrors, EveryCutOfAFileIsAnError) {
  make("tiny-llama", DType::kF16);
  const std::filesystem::path path = convert({.matrices = DType::kF16});
  const auto size = std::filesystem::file_size(path);
  for (const uintmax_t part : {1u, 3u, 9u, 40u, 90u, 97u, 99u}) {
    std::filesystem::resize_file(path, size * part / 100);
    EXPECT_FALSE(Checkpoint::open(path).ok()) << part;
    std::filesystem::remove(path);
    convert({.matrices = DType::kF16});
  }
  EXPECT_EQ(Checkpoint::open(folder_.path() / "absent.gguf").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace pando::model
