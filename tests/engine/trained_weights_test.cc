// Trained models through the whole engine: prompts together, with and without sharing, give the
// greedy tokens that an independent double-precision forward pass gives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "pando/stream.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

struct Trained {
  const char* file;
  const char* sharing;
};

class TrainedWeights : public ::testing::TestWithParam<Trained> {
 protected:
  void SetUp() override {
    const fs::path data = fs::path(PANDO_SHARED_DATA) / "weights";
    if (!fs::exists(data / "expected-greedy.json")) GTEST_SKIP() << "no trained weights here";
    if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "no python3 here";
    std::string pattern = (fs::temp_directory_path() / "pando-trained-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const std::string command =
        fmt::format("python3 '{}/tools/convert_llama2c.py' '{}' '{}'", PANDO_SOURCE_DIR,
                    (data / GetParam().file).string(), folder_.string());
    ASSERT_EQ(std::system(command.c_str()), 0);
    expected_ =
        Json::parse(std::ifstream(data / "expected-greedy.json"))["models"][GetParam().file];
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  // Null if the model cannot be loaded, which fails the test.
  std::unique_ptr<Engine> open() const {
    const auto model = Model::load(folder_);
    EXPECT_TRUE(model.ok()) << model.error().message();
    if (!model) return nullptr;
    EngineOptions options;
    options.sharing = GetParam().sharing;
    options.kv_type = KvType::kF32;
    options.kv_memory = size_t{256} << 20;
    auto engine = Engine::open(*model, options);
    EXPECT_TRUE(engine.ok()) << engine.error().message();
    return engine ? std::move(*engine) : nullptr;
  }

  fs::path folder_;
  Json expected_;
};

TEST_P(TrainedWeights, GreedyTokensAreTheExpectedOnes) {
  const std::unique_ptr<Engine> engine = open();
  ASSERT_NE(engine, nullptr);

  std::vector<Stream> streams;
  std::vector<std::vector<Token>> expected;
  for (const char* group : {"prompts", "shared_prefix_group"}) {
    for (const Json& prompt : expected_[group]) {
      Request request;
      request.tokens = prompt["prompt_ids"].get<std::vector<Token>>();
      expected.push_back(prompt["greedy_ids"].get<std::vector<Token>>());
      request.sampling.max_tokens = static_cast<int>(expected.back().size());
      request.sampling.ignore_eos = true;
      auto stream = Stream::open(*engine, std::move(request));
      ASSERT_TRUE(stream.ok()) << stream.error().message();
      streams.push_back(std::move(*stream));
    }
  }
  ASSERT_GT(streams.size(), 5u);
  for (size_t i = 0; i < streams.size(); ++i) {
    std::vector<Token> tokens;
    while (const auto event = streams[i].next()) {
      ASSERT_FALSE(event->error.has_value()) << event->error->message();
      if (event->completion) tokens = event->completion->tokens;
    }
    EXPECT_EQ(tokens, expected[i]) << "prompt " << i;
  }
}

TEST_P(TrainedWeights, TheMeanLossOfATextIsTheExpectedOne) {
  const std::unique_ptr<Engine> engine = open();
  ASSERT_NE(engine, nullptr);
  Request request;
  request.tokens = expected_["mean_nll"]["ids"].get<std::vector<Token>>();
  request.sampling.max_tokens = 0;
  request.prompt_logprobs_from = 1;
  const auto completions = engine->complete(request);
  ASSERT_TRUE(completions.ok()) << completions.error().message();
  const std::vector<TokenLogprob>& scored = (*completions)[0].prompt_logprobs;
  ASSERT_EQ(scored.size(), request.tokens.size() - 1);
  double sum = 0;
  for (const TokenLogprob& token : scored) sum -= token.logprob;
  const double mean_nll = expected_["mean_nll"]["mean_nll"];
  EXPECT_NEAR(sum / static_cast<double>(scored.size()), mean_nll, 2e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Models, TrainedWeights,
    ::testing::Values(Trained{"stories260K.bin", "tree"}, Trained{"stories260K.bin", "packed"},
                      Trained{"stories3M-q80.bin", "tree"}, Trained{"babyllama-tok105.bin", "tree"},
                      Trained{"babyllama-tok105.bin", "prefix_cached"}),
    [](const auto& info) {
      const std::string file = info.param.file;
      return file.substr(0, file.find_first_of("-.")) + "_" + info.param.sharing;
    });

}  // namespace
}  // namespace pando
