// Models that the transformers library saved, through loader and engine: the bits of the reference
// forward pass, which tests/model/reference_test.cc holds against the library's logits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/open_loop.h"
#include "exec/loaded_weights.h"
#include "model/test_files.h"
#include "reference/reference_forward.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;

class Fixtures : public ::testing::TestWithParam<std::string> {};

TEST_P(Fixtures, EngineGivesTheBitsOfTheReference) {
  const fs::path directory = fs::path(PANDO_SOURCE_DIR) / "tests/model/data" / GetParam();
  ThreadPool pool(1);
  const Result<LoadedModel> weights = load_model(directory, std::nullopt, pool);
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  const nlohmann::json golden = nlohmann::json::parse(std::ifstream(directory / "golden.json"));
  for (const int context : {130, weights->config.max_positions}) {
    LoopOptions options;
    options.engine.threads = 1;
    options.engine.kv_type = KvType::kF32;
    options.engine.kv_memory = size_t{16} << 20;
    options.engine.context = std::min(context, weights->config.max_positions);
    options.engine.step_rows = 17;
    auto loop = open_loop(*weights->weights, options);
    ASSERT_TRUE(loop.ok()) << loop.error().message();
    const auto reference =
        reference::Model::load(weights->config, weights->files->checkpoint,
                               {.kv_dtype = DType::kF32, .context = options.engine.context});
    ASSERT_TRUE(reference.ok()) << reference.error().message();
    RequestId id = 0;
    for (const nlohmann::json& sequence : golden["sequences"]) {
      Request request;
      request.tokens = sequence["tokens"].get<std::vector<Token>>();
      request.sampling.max_tokens = 1;
      const std::vector<float> expected =
          reference->logits(request.tokens, static_cast<int>(request.tokens.size()) - 1);
      bool seen = false;
      (*loop)->observe_logits([&](RequestId, int, uint32_t, std::span<const float> logits) {
        seen = true;
        ASSERT_EQ(logits.size(), expected.size());
        EXPECT_EQ(std::memcmp(logits.data(), expected.data(), logits.size_bytes()), 0);
      });
      ASSERT_TRUE((*loop)->submit(++id, request, [](const Event&) {}).ok());
      while ((*loop)->step()) (*loop)->deliver_events();
      EXPECT_TRUE(seen);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Fixtures, ::testing::ValuesIn(golden_models()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace pando::testing
