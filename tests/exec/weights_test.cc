// Loads weights, and refuses others by name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/numbers/blocks.h"
#include "exec/loaded_weights.h"
#include "model/make_model.h"
#include "model/safetensors.h"
#include "model/test_files.h"

namespace pando::model {
namespace {

using namespace exec;
using namespace testing;

class WeightsTest : public ::testing::Test {
 protected:
  // A tiny model, Llama of one layer if nothing else is said, with these tensors more, and each
  // name passed through `rename`.
  std::filesystem::path write(const std::vector<std::string>& more,
                              const std::function<std::string(std::string)>& rename = {}) const {
    ModelConfig config = named_shape(shape_).value();
    config.layers.resize(n_layers_);
    config.vocab = 8;
    config.tied_embeddings = tied_;
    std::vector<SafetensorsWriter::Tensor> tensors;
    for (const WeightSpec& spec : weight_specs(config))
      tensors.push_back({rename ? rename(spec.name) : spec.name, DType::kF32, spec.shape});
    for (const std::string& name : more) tensors.push_back({name, DType::kF32, {8, 64}});
    auto writer = SafetensorsWriter::create(folder_.path() / "model.safetensors", tensors);
    EXPECT_TRUE(writer.ok()) << writer.error().message();
    for (const auto& tensor : tensors) {
      int64_t n = 4;
      for (const int64_t size : tensor.shape) n *= size;
      EXPECT_TRUE(writer->append(std::vector<std::byte>(n)).ok());
    }
    EXPECT_TRUE(writer->finish().ok());
    folder_.write("config.json", config.to_json(DType::kF32));
    return folder_.path();
  }

  static Result<LoadedWeights> load(const std::filesystem::path& directory) {
    ThreadPool pool(1);
    return load_weights(directory, std::nullopt, pool);
  }

  const TemporaryFolder folder_;
  const char* shape_ = "tiny-llama";
  int n_layers_ = 1;
  bool tied_ = false;
};

TEST_F(WeightsTest, RefusesATensorThatNobodyReads) {
  for (const char* name :
       {"model.layers.0.self_attn.q_proj.bias", "model.layers.0.self_attn.q_norm.weight",
        "model.layers.1.input_layernorm.weight", "scores.weight"}) {
    const Result<LoadedWeights> weights = load(write({name}));
    ASSERT_FALSE(weights.ok()) << name;
    EXPECT_EQ(weights.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(weights.error().message().find(name), std::string::npos) << weights.error().message();
  }
  EXPECT_TRUE(load(write({})).ok());
}

TEST_F(WeightsTest, RefusesWeightsThatNoScaleReaches) {
  const std::filesystem::path folder = write({});
  const auto load_q8 = [&] {
    ThreadPool pool(1);
    return load_weights(folder, DType::kQ8_0, pool);
  };
  ASSERT_TRUE(load_q8().ok());
  const float large = 1e7f;  // the last four bytes of the file are a weight
  std::fstream file(folder / "model.safetensors",
                    std::ios::binary | std::ios::in | std::ios::out | std::ios::ate);
  file.seekp(-4, std::ios::end);
  file.write(reinterpret_cast<const char*>(&large), 4);
  file.close();
  EXPECT_TRUE(load(folder).ok());
  const Result<LoadedWeights> weights = load_q8();
  ASSERT_FALSE(weights.ok());
  EXPECT_EQ(weights.error().code, ErrorCode::kUnsupported);
  for (const char* word : {"model.safetensors", "lm_head.weight", "q8_0"})
    EXPECT_NE(weights.error().message().find(word), std::string::npos) << weights.error().message();
}

// Every tensor, at its first and last element, whatever the weights are kept as.
TEST_F(WeightsTest, RefusesWeightsThatAreNotFinite) {
  const std::filesystem::path folder = write({});
  const Safetensors file = Safetensors::open(folder / "model.safetensors").value();
  std::fstream stream(folder / "model.safetensors",
                      std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](size_t offset, float value) {
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.write(reinterpret_cast<const char*>(&value), sizeof value).flush();
  };
  ThreadPool pool(1);
  for (const auto& [name, entry] : file.tensors()) {
    for (const size_t offset : {entry.offset, entry.offset + entry.n_bytes - 4})
      for (const float value : {NAN, INFINITY, -INFINITY}) {
        put(offset, value);
        for (const auto type : {std::optional<DType>(), std::optional(DType::kI8)}) {
          const auto weights = load_weights(folder, type, pool);
          ASSERT_FALSE(weights.ok()) << name;
          EXPECT_EQ(weights.error().code, ErrorCode::kBadFile);
          EXPECT_NE(weights.error().message().find(fmt::format("tensor '{}' holds NaN", name)),
                    std::string::npos)
              << weights.error().message();
        }
        put(offset, 0);
      }
  }
  EXPECT_TRUE(load(folder).ok());
}

TEST_F(WeightsTest, PassesOverWhatSaysNothingNew) {
  EXPECT_TRUE(load(write({"model.layers.0.self_attn.rotary_emb.inv_freq"})).ok());
  tied_ = true;
  EXPECT_TRUE(load(write({"lm_head.weight"})).ok());
}

// Otherwise the file would say one thing and its weights another.
TEST_F(WeightsTest, RefusesAHeadThatDiffersFromTiedEmbeddings) {
  tied_ = true;
  const std::filesystem::path path = write({"lm_head.weight"}) / "model.safetensors";
  std::ifstream file(path, std::ios::binary);
  const std::string same(std::istreambuf_iterator<char>(file), {});
  const size_t entry = same.find("\"lm_head.weight\"");
  ASSERT_NE(entry, std::string::npos);
  const auto changed = [&](std::string_view found, std::string_view other) {
    std::string bytes = same;
    const size_t at = bytes.find(found, entry);
    EXPECT_NE(at, std::string::npos) << found;
    return bytes.replace(at, found.size(), other);
  };
  std::string other_value = same;
  other_value.back() = 1;  // of the head, which is last
  for (const std::string& bytes :
       {other_value, changed("[8,64]", "[64,8]"), changed("\"F32\"", "\"I32\"")}) {
    folder_.write("model.safetensors", bytes);
    const Result<LoadedWeights> weights = load(folder_.path());
    ASSERT_FALSE(weights.ok());
    EXPECT_EQ(weights.error().code, ErrorCode::kBadFile);
    EXPECT_TRUE(weights.error().message().ends_with(
        "model.safetensors: tensor 'lm_head.weight' differs from tensor "
        "'model.embed_tokens.weight', expected a copy of it, because 'tie_word_embeddings' is "
        "true"))
        << weights.error().message();
  }
  folder_.write("model.safetensors", same);
  EXPECT_TRUE(load(folder_.path()).ok());
}

// A text model that no file describes as a part has no other parts.
TEST_F(WeightsTest, PassesOverOtherPartsOnlyOfAWrapper) {
  const std::filesystem::path folder = write({"model.connector.weight"});
  const Result<LoadedWeights> refused = load(folder);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message().find("tensor 'model.connector.weight' is unknown"),
            std::string::npos)
      << refused.error().message();
  std::ifstream file(folder / "config.json");
  const nlohmann::json text = nlohmann::json::parse(file);
  folder_.write("config.json",
                nlohmann::json{{"model_type", "idefics3"}, {"text_config", text}}.dump());
  const Result<LoadedWeights> weights = load(folder);
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  EXPECT_EQ(weights->files->passed_over, std::vector<std::string>{"projector (1 tensor)"});
}

// As a model that reads images too is saved.
TEST_F(WeightsTest, PassesOverPartsThatTextDoesNotNeed) {
  shape_ = "tiny-qwen3.5";
  n_layers_ = 2;
  const auto language = [](std::string name) {
    return name.starts_with("model.") ? "model.language_model." + name.substr(6) : name;
  };
  const Result<LoadedWeights> weights =
      load(write({"model.visual.pos_embed.weight", "mtp.fc.weight", "mtp.norm.weight"}, language));
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  EXPECT_EQ(
      weights->files->passed_over,
      (std::vector<std::string>{"multi-token prediction (2 tensors)", "vision tower (1 tensor)"}));
  for (const char* name : {"model.audio.w", "model.language_model.layers.2.input_layernorm.weight",
                           "model.layers.0.input_layernorm.weight"}) {
    const Result<LoadedWeights> refused = load(write({name}, language));
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  }
}

// As Mistral Small 3.1 is published.
TEST_F(WeightsTest, PassesOverPartsByTheirOlderNames) {
  shape_ = "tiny-ministral3";
  n_layers_ = 2;
  const auto language = [](const std::string& name) {
    return name.starts_with("model.") ? "language_model." + name : name;
  };
  const Result<LoadedWeights> weights = load(
      write({"vision_tower.patch_conv.weight", "multi_modal_projector.norm.weight"}, language));
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  EXPECT_EQ(weights->files->passed_over,
            (std::vector<std::string>{"projector (1 tensor)", "vision tower (1 tensor)"}));
  EXPECT_FALSE(load(write({"adapter.norm.weight"}, language)).ok());
  // Two names of one tensor.
  const char* other = "model.language_model.layers.0.input_layernorm.weight";
  const Result<LoadedWeights> twice = load(write({other}, language));
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().message().find(other), std::string::npos) << twice.error().message();
}

// The file holds zeros: w of 1 + w, and A_log of -exp(A_log).
TEST_F(WeightsTest, ReadsWhatANumberStandsFor) {
  shape_ = "tiny-qwen3.5";
  n_layers_ = 2;
  const Result<LoadedWeights> weights = load(write({}));
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  const LayerWeights &delta = weights->layers[0], &attention = weights->layers[1];
  EXPECT_EQ(delta.attention_norm, std::vector<float>(64, 1.0f));
  EXPECT_EQ(attention.q_norm, std::vector<float>(16, 1.0f));
  EXPECT_EQ(weights->final_norm, std::vector<float>(64, 1.0f));
  EXPECT_EQ(delta.state_norm, std::vector<float>(36, 0.0f));
  EXPECT_EQ(delta.decay, std::vector<float>(4, -1.0f));
  EXPECT_EQ(delta.dt_bias, std::vector<float>(4, 0.0f));
  EXPECT_EQ(delta.conv.size(), 4u * (2 * 40 + 144));
  EXPECT_EQ(attention.conv.size(), 0u);
}

// The configuration of the kinds of layers is another than the weights'.
TEST_F(WeightsTest, RefusesTensorsOfAnotherKindOfLayer) {
  shape_ = "tiny-qwen3.5";
  n_layers_ = 4;
  const std::filesystem::path folder = write({});
  std::ifstream file(folder / "config.json");
  nlohmann::json config = nlohmann::json::parse(file);
  config.erase("layer_types");  // then every fourth layer has attention
  folder_.write("config.json", config.dump());
  const Result<LoadedWeights> weights = load(folder);
  ASSERT_FALSE(weights.ok());
  EXPECT_EQ(weights.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(weights.error().message().find(
                "tensor 'model.layers.1.self_attn.k_norm.weight' is unknown, expected those of "),
            std::string::npos)
      << weights.error().message();
}

TEST_F(WeightsTest, SaysHowManyBytesItNeeds) {
  for (const auto type : {std::optional<DType>(), std::optional(DType::kQ8_0),
                          std::optional(DType::kI8), std::optional(DType::kBF16Dot)}) {
    ThreadPool pool(1);
    const Result<LoadedWeights> weights = load_weights(write({}), type, pool);
    ASSERT_TRUE(weights.ok()) << weights.error().message();
    const auto taken = static_cast<double>(weights->bytes());
    EXPECT_NEAR(static_cast<double>(bytes_needed(weights->spec, *weights->files, type)), taken,
                0.1 * taken);
  }
}

// Some writers do not pad the header, so that tensors lie at any byte.
TEST_F(WeightsTest, ReadsTensorsAtAnyByte) {
  for (const DType type : {DType::kF32, DType::kBF16}) {
    const TemporaryFolder even, odd;
    const MakeModelOptions options = {
        .shape = "tiny-qwen3", .out = even.path(), .dtype = type, .n_layers = 1, .vocab = 40};
    ASSERT_TRUE(make_model(options).ok());
    std::filesystem::copy_file(even.path() / "config.json", odd.path() / "config.json");
    std::ifstream file(even.path() / "model.safetensors", std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    bytes.insert(bytes.find("}}") + 2, " ");  // one space more behind the header
    bytes[0] = static_cast<char>(bytes[0] + 1);
    odd.write("model.safetensors", bytes);
    const Result<LoadedWeights> a = load(even.path()), b = load(odd.path());
    ASSERT_TRUE(a.ok() && b.ok()) << b.error().message();
    EXPECT_NE(reinterpret_cast<uintptr_t>(b->embedding->in_place()) % 2, 0u);
    EXPECT_EQ(a->final_norm, b->final_norm);
    const auto same = [](const kernel::PackedMatrix& x, const kernel::PackedMatrix& y) {
      return x.bytes() == y.bytes() && std::memcmp(x.data(), y.data(), x.bytes()) == 0;
    };
    EXPECT_TRUE(same(a->head, b->head));
    EXPECT_TRUE(same(a->layers[0].qkv[0], b->layers[0].qkv[0]));
    EXPECT_TRUE(same(a->layers[0].down, b->layers[0].down));
    std::vector<float> row(a->files->config.d_model), other(row.size());
    read_weights(type, a->embedding->in_place(), row.size(), row.data());
    read_weights(type, b->embedding->in_place(), row.size(), other.data());
    EXPECT_EQ(row, other);
  }
}

// As embedding models are saved: no prefix, no head.
TEST_F(WeightsTest, ReadsAModelWithoutItsHead) {
  const auto bare = [](std::string name) {
    return name.starts_with("model.") ? name.substr(6) : name;
  };
  tied_ = true;
  const Result<LoadedWeights> tied = load(write({}, bare));
  ASSERT_TRUE(tied.ok()) << tied.error().message();
  EXPECT_FALSE(tied->files->has_no_head);
  const Result<LoadedWeights> refused = load(write({"dense.weight"}, bare));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("dense.weight"), std::string::npos);
  tied_ = false;
  Result<LoadedWeights> headed = load(write({}, bare));  // with a head, which counts
  ASSERT_TRUE(headed.ok()) << headed.error().message();
  EXPECT_FALSE(headed->files->config.tied_embeddings);
  EXPECT_FALSE(headed->files->has_no_head);
}

}  // namespace
}  // namespace pando::model
