#include "model/make_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "base/half.h"
#include "base/numbers/weight_types.h"
#include "model/checkpoint.h"
#include "model/test_files.h"
#include "model/tiny_shapes.h"
#include "model/weight_specs.h"
#include "reference/reference_forward.h"

namespace pando::model {
namespace {

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Published numbers of parameters, embeddings counted once where they are tied.
TEST(NamedShapes, HaveTheirPublishedSizes) {
  const std::pair<const char*, int64_t> sizes[] = {{"qwen3-0.6b", 596'049'920},
                                                   {"qwen3-1.7b", 1'720'574'976},
                                                   {"qwen3-4b", 4'022'468'096},
                                                   {"qwen3-8b", 8'190'735'360},
                                                   {"llama-2-7b", 6'738'415'616},
                                                   {"llama-2-13b", 13'015'864'320},
                                                   {"sheared-llama-1.3b", 1'345'423'360},
                                                   {"llama-3-8b", 8'030'261'248},
                                                   {"llama-3.2-1b", 1'235'814'400},
                                                   {"codellama-13b", 13'016'028'160},
                                                   {"stablelm-2-1.6b", 1'644'515'328},
                                                   {"dots.llm1", 142'774'381'696},
                                                   {"minimax-m2", 228'689'764'864},
                                                   {"gemma-2b", 2'506'172'416},
                                                   {"command-r", 34'980'831'232},
                                                   {"command-r-plus", 103'810'674'688},
                                                   {"glm-4-9b-chat", 9'399'951'360},
                                                   {"qwen3-vl-30b-a3b", 30'532'122'624},
                                                   {"qwen2.5-vl-3b", 3'085'938'688},
                                                   {"qwen3-vl-4b", 4'022'468'096},
                                                   {"qwen2.5-7b", 7'615'616'512},
                                                   {"mistral-7b", 7'241'732'096},
                                                   {"olmo-2-7b", 7'298'617'344},
                                                   {"qwen3.5-0.8b", 752'393'024},
                                                   {"qwen3.5-4b", 4'205'751'296},
                                                   {"lfm2-350m", 354'483'968},
                                                   {"granite-4.0-h-350m", 340'332'224},
                                                   {"smollm3-3b", 3'075'098'624},
                                                   {"granite-3.1-2b", 2'533'531'648},
                                                   {"olmo-3-7b", 7'298'011'136},
                                                   {"ministral-3-3b", 3'429'006'336},
                                                   {"command-r7b", 8'028'033'024},
                                                   {"glm-4.1v-9b", 9'400'279'040},
                                                   {"glm-4.5v", 106'852'251'264},
                                                   {"glm-4-9b", 9'400'279'040},
                                                   {"seed-oss-36b", 36'151'104'512},
                                                   {"gemma-2-2b", 2'614'341'888},
                                                   {"gemma-3-4b", 3'880'263'168},
                                                   {"qwen3-30b-a3b", 30'532'122'624},
                                                   {"mixtral-8x7b", 46'702'792'704},
                                                   {"olmoe-1b-7b", 6'919'161'856},
                                                   {"granite-3.1-1b-a400m", 1'334'628'352},
                                                   {"qwen3.5-35b-a3b", 34'660'610'688},
                                                   {"deepseek-v2-lite", 15'706'484'224},
                                                   {"deepseek-v3", 671'026'419'200},
                                                   {"glm-4.7-flash", 29'943'393'920},
                                                   {"exaone-4.0-1.2b", 1'279'391'488},
                                                   {"exaone-4.0-32b", 32'003'216'384},
                                                   {"ernie-4.5-0.3b", 360'748'032},
                                                   {"hunyuan-1.8b", 1'791'080'448},
                                                   {"gemma-4-e2b", 4'628'569'379},
                                                   {"gemma-4-e4b", 7'463'013'418},
                                                   {"gemma-4-31b", 30'697'345'340},
                                                   {"lfm2-8b-a1b", 8'339'930'560},
                                                   {"glm-4.5-air", 106'852'251'264},
                                                   {"ernie-4.5-21b-a3b", 21'825'437'888},
                                                   {"qwen1.5-moe-a2.7b", 14'315'784'192},
                                                   {"hunyuan-a13b", 80'393'183'232},
                                                   {"gemma-4-26b-a4b", 25'233'141'790},
                                                   {"nemotron-nano-9b-v2", 8'888'227'328},
                                                   {"nemotron-3-nano-30b-a3b", 31'577'940'288},
                                                   {"olmo-hybrid-7b", 7'430'870'688},
                                                   {"pythia-1.4b", 1'414'647'808},
                                                   {"starcoder2-3b", 3'030'371'328},
                                                   {"phi-2", 2'779'683'840}};
  for (const auto& [name, n_parameters] : sizes)
    EXPECT_EQ(named_shape(name)->n_parameters(), n_parameters) << name;
  for (const std::string_view name : shape_names())
    EXPECT_TRUE(named_shape(name)->validate(name).ok()) << name;
}

// The error lists a few names, the smallest first among equally near ones.
TEST(NamedShapes, AnErrorHasTheNearestName) {
  const Error error = named_shape("qwen3-0.6").error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message(),
            "shape is 'qwen3-0.6', expected the name of a shape (hint: 'qwen3-0.6b'?)");
  EXPECT_EQ(named_shape("no-such-shape").error().message(),
            "shape is 'no-such-shape', expected the name of a shape");
}

TEST(RandomWeights, AreTheSameEverywhere) {
  float first[4], later[3];
  const WeightSpec embedding = {"model.embed_tokens.weight", {3, 5}};
  random_weights(7, embedding, 0, first);
  random_weights(7, embedding, 1, later);
  EXPECT_EQ(std::memcmp(first + 1, later, sizeof later), 0);
  // These bits must not change: benchmarks of other machines ran on them.
  const uint32_t bits[] = {0x3c7b5baf, 0x3e607bac, 0xbd834235, 0xbe65c8c6};
  EXPECT_EQ(std::memcmp(first, bits, sizeof bits), 0)
      << fmt::format("{:#010x} {:#010x} {:#010x} {:#010x}", std::bit_cast<uint32_t>(first[0]),
                     std::bit_cast<uint32_t>(first[1]), std::bit_cast<uint32_t>(first[2]),
                     std::bit_cast<uint32_t>(first[3]));
  float other[4];
  random_weights(8, embedding, 0, other);
  EXPECT_NE(std::memcmp(first, other, sizeof other), 0);
  random_weights(7, {"model.norm.weight", {3, 5}}, 0, other);
  EXPECT_NE(std::memcmp(first, other, sizeof other), 0);
}

TEST(RandomWeights, HaveTheirMeanAndDeviation) {
  std::vector<float> values(1 << 18);
  const auto moments = [&](std::vector<int64_t> shape) {
    random_weights(1, {"w", shape}, 0, values);
    double sum = 0.0, squares = 0.0;
    for (const float value : values) sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const float value : values) squares += (value - mean) * (value - mean);
    return std::pair(mean, std::sqrt(squares / static_cast<double>(values.size())));
  };
  const auto [mean, deviation] = moments({1 << 14, 16});
  EXPECT_NEAR(mean, 0.0, 0.002);
  EXPECT_NEAR(deviation, 0.25, 0.002);
  const auto [norm_mean, norm_deviation] = moments({1 << 18});
  EXPECT_NEAR(norm_mean, 1.0, 0.002);
  EXPECT_NEAR(norm_deviation, 0.1, 0.001);
}

TEST(RandomWeights, BiasesAreNearZero) {
  std::vector<float> values(1 << 12);
  random_weights(1, {"model.layers.0.self_attn.q_proj.bias", {1 << 12}}, 0, values);
  double sum = 0.0;
  for (const float value : values) sum += value;
  EXPECT_NEAR(sum / (1 << 12), 0.0, 0.01);
}

// A state that forgets at once, or never, would hide faults of its handling.
TEST(RandomWeights, StatesFadeOverSomeTokens) {
  for (const char* shape :
       {"tiny-qwen3.5", "tiny-qwen3-next", "tiny-granite", "tiny-nemotron-h", "tiny-olmo-hybrid"}) {
    const ModelConfig config = named_shape(shape).value();
    for (const WeightSpec& spec : weight_specs(config)) {
      if (spec.stored != Stored::kLogDecay) continue;
      std::vector<float> log_decays(spec.shape[0]);
      random_weights(1, spec, 0, log_decays);
      for (const float x : log_decays) {
        const double kept = std::exp(-std::exp(x) * std::log(2.0));  // at a step of softplus(0)
        EXPECT_GT(kept, 0.6) << spec.name;
        EXPECT_LT(kept, 0.99) << spec.name;
      }
    }
  }
}

TEST(RandomWeights, NormsThatAreStoredLessOneAreNearZero) {
  std::vector<float> values(1 << 12);
  random_weights(1, {.name = "w", .shape = {1 << 12}, .stored = Stored::kOneLess}, 0, values);
  double sum = 0.0;
  for (const float value : values) sum += value;
  EXPECT_NEAR(sum / (1 << 12), 0.0, 0.01);
}

class MakeModelTest : public ::testing::Test {
 protected:
  std::filesystem::path make(const char* name, MakeModelOptions options) const {
    options.out = folder_.path() / name;
    std::filesystem::remove_all(options.out);
    const Status status = make_model(options);
    EXPECT_TRUE(status.ok()) << status.error().message();
    return options.out;
  }

  const TemporaryFolder folder_;
};

TEST_F(MakeModelTest, WritesTheWeightsOfItsConfiguration) {
  for (const std::string& shape : tiny_shapes()) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const auto out = make("m", {.shape = shape, .dtype = dtype, .seed = 3});
      const auto config = ModelConfig::load(out);
      ASSERT_TRUE(config.ok()) << config.error().message();
      EXPECT_EQ(*config, *named_shape(shape));
      const auto checkpoint = Checkpoint::open(out);
      ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
      EXPECT_EQ(checkpoint->names().size(), checkpoint_specs(*config).size());
      for (const WeightSpec& spec : checkpoint_specs(*config)) {
        const auto view = checkpoint->tensor(spec.name, spec.checkpoint_shape());
        ASSERT_TRUE(view.ok()) << view.error().message();
        ASSERT_EQ(view->dtype, dtype);
        std::vector<float> expected(view->n_bytes / dtype_size(dtype));
        random_weights(3, spec, 0, expected);
        for (size_t i = 0; i < expected.size(); i += 97) {
          const uint16_t half = reinterpret_cast<const uint16_t*>(view->data)[i];
          if (dtype == DType::kF32)
            ASSERT_EQ(reinterpret_cast<const float*>(view->data)[i], expected[i]);
          else
            ASSERT_EQ(half,
                      dtype == DType::kF16 ? f32_to_f16(expected[i]) : f32_to_bf16(expected[i]));
        }
      }
    }
  }
}

TEST_F(MakeModelTest, SameBytesFromAnyNumberOfThreads) {
  const auto one = make("one", {.shape = "tiny-llama", .dtype = DType::kF32, .vocab = 20000});
  const auto four =
      make("four", {.shape = "tiny-llama", .dtype = DType::kF32, .vocab = 20000, .n_threads = 4});
  EXPECT_EQ(bytes_of(one / "model.safetensors"), bytes_of(four / "model.safetensors"));
}

TEST_F(MakeModelTest, OverridesCutTheSameModel) {
  const auto all = Checkpoint::open(make("all", {.shape = "tiny-llama"}));
  const auto out =
      make("cut", {.shape = "tiny-llama", .n_layers = 1, .vocab = 2, .max_positions = 9});
  const auto cut = Checkpoint::open(out);
  const auto config = ModelConfig::load(out);
  EXPECT_EQ(config->n_layers(), 1);
  EXPECT_EQ(config->max_positions, 9);
  EXPECT_EQ(config->bos_id, 1);
  EXPECT_TRUE(config->eos_ids.empty());  // 2 is outside the vocabulary
  for (const WeightSpec& spec : weight_specs(*config)) {
    const auto part = cut->tensor(spec.name, spec.shape);
    std::vector<int64_t> shape = spec.shape;
    if (shape[0] == 2) shape[0] = 1024;
    const auto whole = all->tensor(spec.name, shape);
    ASSERT_TRUE(part.ok() && whole.ok()) << spec.name;
    EXPECT_EQ(std::memcmp(part->data, whole->data, part->n_bytes), 0) << spec.name;
  }
}

// The layers that read the keys of others depend on the number of layers; the last layer sees all.
TEST_F(MakeModelTest, LayersAreThoseOfTheirNumber) {
  const auto layers = [&](int n) {
    const auto out = make(fmt::format("of{}", n).c_str(), {.shape = "tiny-gemma4", .n_layers = n});
    const ModelConfig config = ModelConfig::load(out).value();
    EXPECT_EQ(Checkpoint::open(out)->names().size(), weight_specs(config).size());
    std::vector<std::pair<bool, int>> all;  // of each layer: has a window, keys_back
    for (const LayerConfig& layer : config.layers)
      all.emplace_back(layer.window > 0, layer.keys_back);
    return all;
  };
  using Layers = std::vector<std::pair<bool, int>>;
  EXPECT_EQ(layers(1), (Layers{{false, 0}}));
  EXPECT_EQ(layers(3), (Layers{{true, 0}, {false, 0}, {false, 0}}));
  EXPECT_EQ(layers(4), (Layers{{true, 0}, {false, 0}, {true, 0}, {false, 2}}));
  EXPECT_EQ(layers(6),
            (Layers{{true, 0}, {false, 0}, {true, 0}, {true, 1}, {false, 3}, {false, 4}}));
}

TEST_F(MakeModelTest, RefusesWhatCannotBe) {
  const auto code = [&](MakeModelOptions options) {
    options.out = folder_.path() / "bad";
    return make_model(options).error().code;
  };
  EXPECT_EQ(code({.shape = "none"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.dtype = DType::kQ8_0}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.n_layers = 0}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.vocab = -5}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.max_positions = INT32_MAX}), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "bad"));
  folder_.write("file", "x");
  EXPECT_EQ(make_model({.out = folder_.path() / "file"}).error().code, ErrorCode::kIo);
}

// A model whose greedy output is one token for ever would hide most mistakes of an engine.
TEST_F(MakeModelTest, GreedyOutputVaries) {
  for (const std::string& shape : tiny_shapes()) {
    if (named_shape(shape)->both_ways) continue;  // it has no output
    const auto out = make("m", {.shape = shape});
    const auto model =
        reference::Model::load(ModelConfig::load(out).value(), Checkpoint::open(out).value(), {});
    ASSERT_TRUE(model.ok()) << model.error().message();
    std::vector<int32_t> tokens = {1, 5, 17};
    for (int i = 0; i < 32; ++i) {
      const auto logits = model->logits(tokens, static_cast<int>(tokens.size()) - 1);
      tokens.push_back(
          static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    }
    EXPECT_GE(std::set<int32_t>(tokens.begin(), tokens.end()).size(), 12u) << shape;
  }
}

TEST_F(MakeModelTest, AModelIsNeverOverwritten) {
  const std::filesystem::path out = make("kept", {});
  const Status again = make_model({.out = out, .seed = 9});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message(), (out / "config.json").string() +
                                         " exists already, expected a directory without a model");
}

}  // namespace
}  // namespace pando::model
