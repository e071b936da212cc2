#include "hub/choose_files.h"

#include <gtest/gtest.h>

namespace pando::hub {
namespace {

using Names = std::vector<std::string>;

Result<ChosenFiles> choose(const std::string& id, const Names& names, Need need = Need::kModel) {
  return choose_files(parse_model_id(id).value(), names, need);
}

std::string message(const Result<ChosenFiles>& chosen) {
  return chosen ? "none" : chosen.error().message();
}

TEST(ChooseFiles, TakesWhatIsReadAndNothingElse) {
  const auto chosen = choose(
      "a/b", {"README.md", "config.json", "generation_config.json", "merges.txt", "vocab.json",
              "model.safetensors", "model.safetensors.index.json", "consolidated.safetensors",
              "pytorch_model.bin", "training_args.bin", "rust_model.ot", "onnx/model.onnx",
              "onnx/config.json", "x.png", "2_Dense/model.safetensors", "2_Dense/pytorch_model.bin",
              "sentence_bert_config.json", "x-q8_0.gguf", "sub/model.safetensors"});
  ASSERT_TRUE(chosen) << message(chosen);
  EXPECT_EQ(chosen->small,
            (Names{"2_Dense/model.safetensors", "config.json", "generation_config.json",
                   "merges.txt", "sentence_bert_config.json", "vocab.json"}));
  EXPECT_EQ(chosen->weights, Names{"model.safetensors"});
  EXPECT_FALSE(chosen->has_index);
  EXPECT_TRUE(chosen->has_tokenizer);
}

// Pando reads some weights of modules in PyTorch's own format.
TEST(ChooseFiles, TakesHeadsOfTokensAndModulesWithoutSafetensors) {
  const auto chosen =
      choose("a/b", {"config.json", "model.safetensors", "pytorch_model.bin", "colbert_linear.pt",
                     "sparse_linear.pt", "optimizer.pt", "2_Dense/config.json",
                     "2_Dense/pytorch_model.bin", "onnx/sparse_linear.pt", "x/pytorch_model.bin"});
  ASSERT_TRUE(chosen) << message(chosen);
  EXPECT_EQ(chosen->small, (Names{"2_Dense/config.json", "2_Dense/pytorch_model.bin",
                                  "colbert_linear.pt", "config.json", "sparse_linear.pt"}));
  EXPECT_EQ(chosen->weights, Names{"model.safetensors"});
}

TEST(ChooseFiles, AnIndexComesBeforeItsShards) {
  const auto chosen = choose("a/b", {"config.json", kIndex, "model-00001-of-00001.safetensors"});
  ASSERT_TRUE(chosen) << message(chosen);
  EXPECT_EQ(chosen->small, (Names{"config.json", kIndex}));
  EXPECT_EQ(chosen->weights, Names());
  EXPECT_TRUE(chosen->has_index);
  EXPECT_FALSE(chosen->has_tokenizer);
  EXPECT_EQ(shards_of_index(R"({"weight_map": {"x": "b", "y": "a", "z": "b"}})", "i").value(),
            (Names{"a", "b"}));
  for (const char* bad : {R"({"weight_map": {"x": "../a"}})", R"({"weight_map": {"x": 1}})",
                          R"({"weight_map": []})", "{}", "x"})
    EXPECT_FALSE(shards_of_index(bad, "i")) << bad;
}

TEST(ChooseFiles, AQuantisationNamesOneGgufFile) {
  const Names names = {"config.json",
                       "x.Q4_K_M.gguf",
                       "x-Q4_K_S.gguf",
                       "x-UD-Q2_K.gguf",
                       "mmproj-x-Q4_K_M.gguf",
                       "Q8/x-Q8_0-00002-of-00002.gguf",
                       "Q8/x-Q8_0-00001-of-00002.gguf"};
  EXPECT_EQ(choose("a/b:q4_k_m", names)->weights, Names{"x.Q4_K_M.gguf"});
  EXPECT_EQ(choose("a/b:Q8_0", names)->weights,
            (Names{"Q8/x-Q8_0-00001-of-00002.gguf", "Q8/x-Q8_0-00002-of-00002.gguf"}));
  EXPECT_EQ(choose("a/b:UD-Q2_K", names)->weights, Names{"x-UD-Q2_K.gguf"});
  EXPECT_EQ(choose("a/b/x-Q4_K_S.gguf", names)->weights, Names{"x-Q4_K_S.gguf"});
  EXPECT_EQ(choose("a/b", {"config.json", "x-f16.gguf"})->weights, Names{"x-f16.gguf"});
  EXPECT_NE(message(choose("a/b:K_M", names)).find("'a/b' has no GGUF file 'K_M'"),
            std::string::npos)
      << "a part of a quantisation is none";
  EXPECT_EQ(choose("a/b", names).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      message(choose("a/b:Q8_0", {"x-Q8_0-00001-of-00002.gguf"})),
      "x-Q8_0-00002-of-00002.gguf: is absent, but it is a part of x-Q8_0-00001-of-00002.gguf");
}

TEST(ChooseFiles, SaysWhatARepositoryLacks) {
  EXPECT_EQ(message(choose("a/b", {"config.json", "pytorch_model.bin"})),
            "'a/b' has weights in PyTorch's own format (pytorch_model.bin), expected "
            "model.safetensors or a GGUF file");
  // The weights of the model, not those of a head.
  EXPECT_EQ(message(choose("a/b", {"colbert_linear.pt", "config.json", "pytorch_model.bin"})),
            message(choose("a/b", {"config.json", "pytorch_model.bin"})));
  EXPECT_EQ(message(choose("a/b", {"README.md"})),
            "'a/b' holds no model, expected config.json with model.safetensors, or a GGUF file");
  EXPECT_EQ(message(choose("a/b:Q8_0", {"config.json"})), "'a/b' has no GGUF file");
  EXPECT_EQ(message(choose("a/b", {"../x.gguf"})),
            "'../x.gguf' is a file's name in the repository, expected a path inside it");
}

TEST(ChooseFiles, ATokenizerNeedsNoWeights) {
  const Names names = {"config.json", "model.safetensors", "tekken.json", "x.gguf"};
  const auto chosen = choose("a/b", names, Need::kTokenizer);
  ASSERT_TRUE(chosen) << message(chosen);
  EXPECT_EQ(chosen->small, (Names{"config.json", "tekken.json"}));
  EXPECT_EQ(chosen->weights, Names());
  EXPECT_EQ(choose("a/b", {"x.gguf"}, Need::kTokenizer)->weights, Names{"x.gguf"});
  EXPECT_FALSE(choose("a/b", {"config.json"}, Need::kTokenizer));
}

}  // namespace
}  // namespace pando::hub
