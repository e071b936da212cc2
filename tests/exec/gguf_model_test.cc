// GGUF files and safetensors of one model are one model, to the bit.
#include "model/gguf_model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "exec/loaded_weights.h"
#include "model/family.h"
#include "model/safetensors.h"
#include "model/tiny_shapes.h"

namespace pando::model {
namespace {

using namespace exec;
using namespace testing;

TEST_F(GgufModel, FloatsAreThoseOfSafetensors) {
  for (const std::string& shape : tiny_shapes()) {
    if (named_shape(shape)->has_latent()) continue;  // tests/exec/latent_weights_test.cc has them
    if (named_shape(shape)->both_ways) continue;     // tests/exec/gguf_encoders_test.cc has them
    if (named_shape(shape)->family->gguf_architecture == nullptr) continue;
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const int n_layers = named_shape(shape)->has(Mixer::kNone) ? 6 : 2;  // one of each kind
      make(shape, dtype, n_layers);
      const LoadedWeights stored = load(folder_.path());
      for (const uint32_t version : {2, 3}) {
        const LoadedWeights gguf = load(convert({.matrices = dtype, .version = version}));
        expect_same(gguf, stored);
        EXPECT_EQ(gguf.files->config.to_json(dtype), as_gguf(stored.files->config).to_json(dtype))
            << shape;
        EXPECT_EQ(gguf.files->config, as_gguf(stored.files->config)) << shape;
        EXPECT_TRUE(std::ranges::equal(bytes_of(*gguf.embedding), bytes_of(*stored.embedding)));
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
      const LoadedWeights made = load(folder_.path(), type);
      const std::filesystem::path gguf = convert({.matrices = type});
      expect_same(load(gguf, type), made);
      const LoadedWeights as_stored = load(gguf);
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

// Older files of Qwen1.5-MoE have neither.
TEST_F(GgufModel, WidthsOfExpertsMayFollowFromThatOfDenseLayers) {
  make("tiny-qwen2-moe", DType::kF32);
  const std::filesystem::path path = convert({});
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  for (const std::string_view key :
       {"qwen2moe.expert_feed_forward_length", "qwen2moe.expert_shared_feed_forward_length"})
    bytes[bytes.find(key) + key.size() - 1] = '_';
  expect_same(load(folder_.write("older.gguf", bytes)), load(folder_.path()));
}

// Published files have either form.
TEST_F(GgufModel, FusedExpertsOfGgufAreThoseOfSingleTensors) {
  for (const char* shape : {"tiny-qwen3-moe", "tiny-gemma4-moe"}) {
    make(shape, DType::kF16);
    expect_same(load(convert({.matrices = DType::kF16, .fuses_experts = true})),
                load(folder_.path()));
  }
}

// As in published files of mixed types, where layers differ too.
TEST_F(GgufModel, MatricesOfExpertsMayHaveTypesOfTheirOwn) {
  ModelConfig config = named_shape("tiny-qwen3-moe").value();
  config.vocab = 50;
  config.d_model = config.experts.d_ff = 256;
  const DType types[2][3] = {{DType::kQ4_K, DType::kQ6_K, DType::kQ5_K},
                             {DType::kQ4_K, DType::kQ4_K, DType::kQ6_K}};
  const auto type_of = [&](std::string_view name) -> std::optional<DType> {
    constexpr std::string_view kParts[] = {".ffn_gate_exps.", ".ffn_up_exps.", ".ffn_down_exps."};
    for (int part = 0; part < 3; ++part)
      if (testing::has_part(name, kParts[part])) return types[name.starts_with("blk.1")][part];
    return std::nullopt;
  };
  const LoadedWeights weights =
      load(folder_.write("model.gguf", testing::random_gguf(config, 7, DType::kQ4_K, type_of)));
  for (const ExpertWeights& expert : weights.layers[0].experts) {
    ASSERT_EQ(expert.gate_up.size(), 2u);
    EXPECT_EQ(expert.gate_up[0].type(), DType::kQ4_K);
    EXPECT_EQ(expert.gate_up[1].type(), DType::kQ6_K);
    EXPECT_EQ(expert.down.type(), DType::kQ5_K);
  }
  for (const ExpertWeights& expert : weights.layers[1].experts) {
    ASSERT_EQ(expert.gate_up.size(), 1u);
    EXPECT_EQ(expert.gate_up[0].type(), DType::kQ4_K);
    EXPECT_EQ(expert.down.type(), DType::kQ6_K);
  }
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
    const auto refused = load_weights(cut.path(), std::nullopt, pool);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kBadFile);
    const char* name = all ? "tensor 'model.layers.0.mlp.experts.0.gate_proj.weight' is absent"
                           : "tensor 'model.layers.0.mlp.experts.2.up_proj.weight' is absent";
    EXPECT_NE(refused.error().message().find(name), std::string::npos) << refused.error().message();
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
  const auto refused = load_weights(mixed.path(), std::nullopt, pool);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  for (const char* word : {"experts.5.down_proj", "another type", "one type"})
    EXPECT_NE(refused.error().message().find(word), std::string::npos) << refused.error().message();
  EXPECT_TRUE(load_weights(mixed.path(), DType::kQ8_0, pool).ok());
}

TEST_F(GgufModel, PassesOverMultiTokenPrediction) {
  for (const char* shape : {"tiny-qwen3.5", "tiny-glm4-moe"}) {
    make(shape, DType::kF32);
    const LoadedWeights stored = load(folder_.path());
    EXPECT_TRUE(stored.files->passed_over.empty());
    const LoadedWeights gguf =
        load(convert({.mtp_tensors = {"blk.2.attn_norm.weight", "blk.2.nextn.eh_proj.weight"}}));
    expect_same(gguf, stored);
    EXPECT_EQ(gguf.files->config, stored.files->config);
    EXPECT_EQ(gguf.files->passed_over,
              std::vector<std::string>{"multi-token prediction (2 tensors)"});
    ThreadPool pool(1);
    const auto refused =
        load_weights(convert({.mtp_tensors = {"blk.1.nextn.eh_proj.weight"}}), std::nullopt, pool);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message().find("blk.1.nextn.eh_proj.weight"), std::string::npos);
  }
}

// Some writers keep keys and values that no layer reads.
TEST_F(GgufModel, PassesOverKeysOfLayersThatReadThoseOfOthers) {
  make("tiny-gemma4", DType::kF32, /*n_layers=*/5);
  const LoadedWeights stored = load(folder_.path());
  EXPECT_EQ(stored.files->config, named_shape_with_vocab("tiny-gemma4", 50));
  const LoadedWeights plain = load(convert({}));
  expect_same(plain, stored);
  EXPECT_EQ(plain.files->config, stored.files->config);
  const LoadedWeights gguf = load(convert(
      {.mtp_tensors = {"blk.3.attn_k.weight", "blk.4.attn_k_norm.weight"}, .declares_mtp = false}));
  expect_same(gguf, stored);
  EXPECT_EQ(gguf.files->passed_over,
            std::vector<std::string>{"keys of layers that read those of others (2 tensors)"});
  ThreadPool pool(1);
  const auto refused = load_weights(
      convert({.mtp_tensors = {"blk.1.attn_v.weight"}, .declares_mtp = false}), std::nullopt, pool);
  EXPECT_FALSE(refused.ok());  // or the keys would not be the values
}

// A block that the file does not count would be left out, and give another model.
TEST_F(GgufModel, RefusesBlocksThatAreNotCounted) {
  make("tiny-qwen3.5", DType::kF32);
  ThreadPool pool(1);
  const auto refused =
      load_weights(convert({.mtp_tensors = {"blk.2.attn_norm.weight"}, .declares_mtp = false}),
                   std::nullopt, pool);
  ASSERT_FALSE(refused.ok());
  for (const char* word : {"block_count", "is 2", "blk.2.attn_norm.weight"})
    EXPECT_NE(refused.error().message().find(word), std::string::npos) << refused.error().message();
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
  const LoadedWeights weights = load(folder_.write("model.gguf", out.bytes()));
  const auto types = [](const Stack& stack) {
    std::vector<DType> types;
    for (const kernel::PackedMatrix& matrix : stack) types.push_back(matrix.type());
    return types;
  };
  using Types = std::vector<DType>;
  EXPECT_EQ(types(weights.layers[0].qkv), (Types{DType::kQ8_0, DType::kQ4_0, DType::kQ8_0}));
  EXPECT_EQ(types(weights.layers[0].gate_up), (Types{DType::kQ8_0, DType::kQ4_0}));
  const LoadedWeights same = load(folder_.path() / "model.gguf", DType::kQ4_0);
  EXPECT_EQ(types(same.layers[0].qkv), Types{DType::kQ4_0});
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
  const LoadedWeights weights = load(write(7, 9));
  EXPECT_EQ(weights.files->passed_over,
            (std::vector<std::string>{"copy of rows of the LM head (1 tensor)"}));
  expect_same(weights, load(folder_.path()));
  const Result<OpenedModel> other = OpenedModel::open(write(9, 7));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(other.error().message().find("the row for 'yes' differs from that of the LM head") !=
              std::string::npos)
      << other.error().message();
}

}  // namespace
}  // namespace pando::model
