// Quantised checkpoints through the whole engine: the logits of plain models with the same values.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/quantized_files.h"
#include "pando/stream.h"

namespace pando {
namespace {

uint64_t hash_of_answer(const std::filesystem::path& path, WeightType weights) {
  const Result<std::shared_ptr<const Model>> model =
      Model::load(path, {.weights = weights, .threads = 1});
  if (!model) {
    ADD_FAILURE() << model.error().message();
    return 0;
  }
  const std::unique_ptr<Engine> engine =
      Engine::open(*model, {.threads = 1, .kv_memory = size_t{4} << 20}).value();
  Request request;
  for (Token token = 1; token <= 20; ++token) request.tokens.push_back(token * 7 % 24);
  request.sampling.max_tokens = 12;
  request.sampling.ignore_eos = true;
  request.logits_hash = true;
  Stream stream = Stream::open(*engine, request).value();
  while (const auto event = stream.next())
    if (event->completion) return event->completion->logits_hash;
  ADD_FAILURE() << "no answer";
  return 0;
}

struct QuantizedCase {
  const char* name;
  WeightType own;  // of the model, before it was quantised
  bool is_kept;    // as integers
};

class QuantizedEngine : public ::testing::TestWithParam<QuantizedCase> {};

TEST_P(QuantizedEngine, LogitsAreThoseOfThePlainModel) {
  const auto& [name, own, is_kept] = GetParam();
  const std::filesystem::path directory = model::quantized_fixture(name);
  const TemporaryFolder wide, narrow;
  const auto plain = model::write_plain(name, DType::kF32, wide);
  EXPECT_EQ(hash_of_answer(directory, WeightType::kF32),
            hash_of_answer(plain, WeightType::kAsStored));
  const DType type = own == WeightType::kF16 ? DType::kF16 : DType::kBF16;
  const uint64_t expected = hash_of_answer(model::write_plain(name, type, narrow), own);
  EXPECT_EQ(hash_of_answer(directory, own), expected);
  const uint64_t stored = hash_of_answer(directory, WeightType::kAsStored);
  if (!is_kept)
    EXPECT_EQ(stored, expected);
  else
    EXPECT_NE(stored, expected);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, QuantizedEngine,
    ::testing::Values(QuantizedCase{"fp8-blocks", WeightType::kBF16, false},
                      QuantizedCase{"compressed-int8", WeightType::kBF16, true},
                      QuantizedCase{"compressed-words4", WeightType::kBF16, true},
                      QuantizedCase{"awq", WeightType::kF16, true},
                      QuantizedCase{"gptq-ordered", WeightType::kF16, false}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(QuantizedModel, SaysThatActivationsAreNotQuantised) {
  const auto warnings = [](const char* name) {
    return Model::load(model::quantized_fixture(name), {.threads = 1}).value()->info().warnings;
  };
  const std::vector<std::string> found = warnings("fp8-blocks");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("the quantisation of activations is ignored"), std::string::npos)
      << found[0];
  EXPECT_EQ(warnings("awq"), std::vector<std::string>());
}

}  // namespace
}  // namespace pando
