// The reference forward pass against results that others computed: the transformers library
// (fixtures in data/) and a double-precision pass over small trained models.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "model/test_files.h"
#include "reference/reference_forward.h"

namespace pando::reference {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Opened {
  model::ModelConfig config;
  model::Checkpoint checkpoint;
};

Opened open_model(const fs::path& directory) {
  auto config = model::ModelConfig::load(directory);
  EXPECT_TRUE(config.ok()) << config.error().message();
  auto checkpoint = model::Checkpoint::open(directory, config->quantization);
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.error().message();
  return {std::move(config).value(), std::move(checkpoint).value()};
}

// Bound relative to the largest logit: both sides round in f32.
constexpr double kGoldenBound = 1e-5;

Model load(const Opened& opened, const Options& options = {}) {
  auto model = Model::load(opened.config, opened.checkpoint, options);
  EXPECT_TRUE(model.ok()) << model.error().message();
  return std::move(model).value();
}

json read_json(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

// Largest |difference| of two rows, and largest |value| of the second.
struct Difference {
  double most = 0.0, scale = 0.0;
  bool has_states = false;   // of recurrent layers
  bool has_experts = false;  // whose choice may change when anything is rounded otherwise

  void add(const float* found, const std::vector<double>& expected) {
    for (size_t i = 0; i < expected.size(); ++i) {
      const double difference = std::abs(found[i] - expected[i]);
      if (!(difference <= most)) most = difference;  // keeps a NaN
      scale = std::max(scale, std::abs(expected[i]));
    }
  }
};

// Over all rows of a fixture. The library fixes rotation by the length of each sequence, the engine
// by its context: here they are the same.
Difference compare(const std::string& name, Options options) {
  const fs::path directory = fs::path(PANDO_SOURCE_DIR) / "tests/model/data" / name;
  const Opened opened = open_model(directory);
  Difference difference;
  difference.has_experts = opened.config.has(model::FeedForward::kExperts);
  difference.has_states = opened.config.n_recurrent_layers() > 0;
  if (opened.config.quantization)
    options.weights = DType::kF32;  // the library rounds no activations
  const json golden = read_json(directory / "golden.json");
  for (const json& sequence : golden["sequences"]) {
    const auto tokens = sequence["tokens"].get<std::vector<int32_t>>();
    options.context = static_cast<int>(tokens.size());
    const std::vector<float> logits = load(opened, options).logits(tokens);
    for (const json& row : sequence["rows"])
      difference.add(&logits[row["position"].get<size_t>() * opened.config.vocab],
                     row["logits"].get<std::vector<double>>());
  }
  return difference;
}

class Fixtures : public ::testing::TestWithParam<std::string> {};

TEST_P(Fixtures, EqualTheTransformersLibrary) {
  const Difference difference = compare(GetParam(), {});
  EXPECT_GT(difference.scale, 1.0);
  EXPECT_LE(difference.most, kGoldenBound * difference.scale);
  RecordProperty("relative_difference", fmt::format("{:.2e}", difference.most / difference.scale));
}

// The order of operations differs, the mathematics does not.
TEST_P(Fixtures, SmallTilesAndSpansChangeRoundingOnly) {
  const Difference difference = compare(GetParam(), {.tile_len = 4, .span_len = 8});
  EXPECT_LE(difference.most, kGoldenBound * difference.scale);
}

TEST_P(Fixtures, RoundedKeysAndValuesStayNear) {
  const Difference f16 = compare(GetParam(), {.kv_dtype = DType::kF16});
  EXPECT_LE(f16.most, f16.has_experts ? f16.scale : 0.02);
  const Difference bf16 = compare(GetParam(), {.kv_dtype = DType::kBF16});
  EXPECT_LE(bf16.most, bf16.has_experts ? bf16.scale : 0.15);
}

TEST_P(Fixtures, EightBitWeightsStayNear) {
  const Difference difference = compare(GetParam(), {.weights = DType::kQ8_0});
  // States add up what each row rounds.
  const double share = difference.has_experts ? 1.0 : difference.has_states ? 0.3 : 0.15;
  EXPECT_LE(difference.most, share * difference.scale);
  // Experts of four bits stay as they are, and little else is in so small a model.
  if (GetParam() != "gpt_oss-mxfp4") {
    EXPECT_GT(difference.most, kGoldenBound * difference.scale);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Fixtures, ::testing::ValuesIn(golden_models()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Q8_0 of rows that are not whole groups: within the rounding of two 8-bit factors.
TEST(Reference, EightBitProductsStayWithinTheirRounding) {
  const int n = 5, k = 70;
  std::vector<float> w(n * k), x(k);
  for (int i = 0; i < n * k; ++i) w[i] = std::sin(0.7f * static_cast<float>(i));
  for (int i = 0; i < k; ++i) x[i] = 3.0f * std::cos(1.1f * static_cast<float>(i));
  const std::vector<float> exact = Matrix(w, n, k, {}).times(x, 1);
  const std::vector<float> rounded = Matrix(w, n, k, DType::kQ8_0).times(x, 1);
  for (int row = 0; row < n; ++row) {
    double bound = 0.0;  // |x| dw + |w| dx, with steps of max / 127 and a scale in f16
    for (int i = 0; i < k; ++i) bound += std::abs(x[i]) * 0.005 + std::abs(w[row * k + i]) * 0.013;
    EXPECT_LE(std::abs(exact[row] - rounded[row]), bound);
    EXPECT_NE(exact[row], rounded[row]);
  }
  EXPECT_EQ(Matrix(std::vector<float>(n * k), n, k, DType::kQ8_0).times(x, 1),
            std::vector<float>(n));
}

// The last tokens of a sequence change nothing before them, and `first` only selects rows.
TEST(Reference, RowsDependOnTheirOwnPathOnly) {
  const Opened opened = open_model(fs::path(PANDO_SOURCE_DIR) / "tests/model/data/qwen3-tied");
  const Model model = load(opened, {.tile_len = 8, .span_len = 16});
  const std::vector<int32_t> tokens = {5, 90, 17, 3,  3,  44, 60, 61, 62, 63, 64, 65, 8,
                                       9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  const std::vector<float> all = model.logits(tokens);
  const size_t vocab = static_cast<size_t>(opened.config.vocab);
  const std::vector<float> head = model.logits(std::span(tokens).first(19));
  EXPECT_TRUE(std::equal(head.begin(), head.end(), all.begin()));
  const std::vector<float> tail = model.logits(tokens, 20);
  ASSERT_EQ(tail.size(), 5 * vocab);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), all.begin() + 20 * vocab));
}

// Trained models; expected-greedy.json says how its figures were computed.
class Stories : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const fs::path data = fs::path(PANDO_SHARED_DATA) / "weights";
    if (!fs::exists(data / "expected-greedy.json")) GTEST_SKIP() << "no trained weights here";
    if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "no python3 here";
    const std::string tool = std::string(PANDO_SOURCE_DIR) + "/tools/convert_llama2c.py";
    const std::string command = fmt::format("python3 '{}' '{}' '{}'", tool,
                                            (data / GetParam()).string(), folder_.path().string());
    ASSERT_EQ(std::system(command.c_str()), 0);
    opened_.emplace(open_model(folder_.path()));
    expected_ = read_json(data / "expected-greedy.json")["models"][GetParam()];
  }

  const TemporaryFolder folder_;
  std::optional<Opened> opened_;
  json expected_;
};

TEST_P(Stories, GreedyTokensAreTheExpectedOnes) {
  const Model model = load(*opened_);
  const int vocab = opened_->config.vocab;
  for (const char* group : {"prompts", "shared_prefix_group"}) {
    for (const json& prompt : expected_[group]) {
      auto tokens = prompt["prompt_ids"].get<std::vector<int32_t>>();
      const auto greedy = prompt["greedy_ids"].get<std::vector<int32_t>>();
      const int first = static_cast<int>(tokens.size()) - 1;
      tokens.insert(tokens.end(), greedy.begin(), greedy.end());
      // One pass over prompt and answer: row i depends on tokens 0..i only, so this is decoding.
      const std::vector<float> logits = model.logits(tokens, first);
      for (size_t i = 0; i < greedy.size(); ++i) {
        const float* row = &logits[i * vocab];
        EXPECT_EQ(std::max_element(row, row + vocab) - row, greedy[i])
            << group << ", token " << i << ", margin " << prompt["top2_margin"][i];
      }
      if (!prompt.contains("logits_after_prompt")) continue;
      Difference difference;
      difference.add(logits.data(), prompt["logits_after_prompt"].get<std::vector<double>>());
      EXPECT_LE(difference.most, 1e-5 * difference.scale);
    }
  }
}

TEST_P(Stories, MeanLossIsTheExpectedOne) {
  const json& expected = expected_["mean_nll"];
  const auto tokens = expected["ids"].get<std::vector<int32_t>>();
  const int vocab = opened_->config.vocab;
  const std::vector<float> logits = load(*opened_).logits(tokens);
  double total = 0.0;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    const float* row = &logits[i * vocab];
    double sum = 0.0;
    for (int j = 0; j < vocab; ++j) sum += std::exp(static_cast<double>(row[j]));
    total += std::log(sum) - row[tokens[i + 1]];
  }
  const double mean = total / static_cast<double>(tokens.size() - 1);
  EXPECT_NEAR(mean, expected["mean_nll"].get<double>(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Models, Stories,
                         ::testing::Values("stories260K.bin", "stories3M-q80.bin",
                                           "babyllama-tok105.bin"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name.substr(0, name.find_first_of("-."));
                         });

}  // namespace
}  // namespace pando::reference
