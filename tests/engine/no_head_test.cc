// Models that were saved without their heads, as LlamaModel and not as LlamaForCausalLM.
#include <gtest/gtest.h>

#include <cstring>

#include "model/make_model.h"
#include "model/test_files.h"
#include "pando/engine.h"

namespace pando {
namespace {

// The model of `directory` as the transformers library saves its class without a head.
void write_without_head(const std::filesystem::path& directory, const char* architecture,
                        const TemporaryFolder& folder) {
  std::ifstream file(directory / "model.safetensors", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  nlohmann::json header = nlohmann::json::parse(bytes.substr(8, length)), bare;
  std::string data;
  for (auto& [name, entry] : header.items()) {
    if (name.starts_with("lm_head.")) continue;
    if (name != "__metadata__") {
      const size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
      entry["data_offsets"] = {data.size(), data.size() + end - begin};
      data += bytes.substr(8 + length + begin, end - begin);
    }
    bare[name.starts_with("model.") ? name.substr(6) : name] = entry;
  }
  folder.write("model.safetensors", safetensors_bytes(bare.dump(), data));
  std::ifstream config_file(directory / "config.json");
  nlohmann::json config = nlohmann::json::parse(config_file);
  config["architectures"] = {architecture};
  folder.write("config.json", config.dump());
}

void expect_embeddings_alone(const char* shape, int n_layers, const char* architecture) {
  SCOPED_TRACE(shape);
  const TemporaryFolder whole, bare;
  ASSERT_TRUE(model::make_model({.shape = shape, .out = whole.path(), .n_layers = n_layers}).ok());
  write_without_head(whole.path(), architecture, bare);
  std::vector<std::vector<float>> hidden;
  for (const auto& path : {whole.path(), bare.path()}) {
    const auto model = Model::load(path);
    ASSERT_TRUE(model.ok()) << model.error().message();
    const auto engine = Engine::open(*model, {.kv_memory = 1 << 20, .context = 64});
    ASSERT_TRUE(engine.ok()) << engine.error().message();
    Request request{.tokens = {1, 2, 3}, .sampling = {.max_tokens = 2}};
    const auto answer = (*engine)->complete(request);
    EXPECT_EQ(answer.ok(), path == whole.path());
    if (!answer) {
      EXPECT_EQ(answer.error().code, ErrorCode::kUnsupported);
      EXPECT_NE(answer.error().message().find("no lm_head.weight"), std::string::npos);
    }
    request.pooling = Pooling::kLast;
    const auto embedded = (*engine)->complete(request);
    ASSERT_TRUE(embedded.ok()) << embedded.error().message();
    hidden.push_back((*embedded)[0].embedding);
  }
  EXPECT_EQ(hidden[0], hidden[1]);
}

TEST(NoHead, GivesEmbeddingsAndNoAnswers) {
  expect_embeddings_alone("tiny-llama", 1, "LlamaModel");
}

// Their tables of embeddings have other names.
TEST(NoHead, GivesEmbeddingsOfNemotronH) {
  expect_embeddings_alone("tiny-nemotron-h", 3, "NemotronHModel");
}
TEST(NoHead, GivesEmbeddingsOfGptNeoX) {
  expect_embeddings_alone("tiny-gpt-neox", 1, "GPTNeoXModel");
}

// Phi's head has a bias.
TEST(NoHead, GivesEmbeddingsOfPhi) { expect_embeddings_alone("tiny-phi", 1, "PhiModel"); }

}  // namespace
}  // namespace pando
