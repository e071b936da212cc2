// Loading a model opens each of its files once, whatever is read from it.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/model_path.h"
#include "base/open_counter.h"
#include "model/gguf_files.h"
#include "model/make_model.h"
#include "model/test_files.h"
#include "pando/generation_config.h"
#include "pando/model.h"
#include "text/byte_level.h"

namespace pando {
namespace {

namespace fs = std::filesystem;
using testing::OpenCounter;
using Counts = std::map<std::string, int>;

// Counts the opens of a load with sampling defaults, as the program does it.
Counts opened_by(const fs::path& folder, const fs::path& model, const ModelOptions& options = {}) {
  OpenCounter counter(folder);
  EXPECT_TRUE(counter.ok());
  {
    const ModelPath path(model);
    const auto defaults = read_generation_config(path);
    EXPECT_TRUE(defaults.ok()) << defaults.error().message();
    const auto loaded = Model::load(path, options);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_TRUE(loaded && (*loaded)->has_tokenizer());
  }
  return counter.counts();
}

TEST(OpenedOnce, ADirectory) {
  const TemporaryFolder folder;
  fs::copy(PANDO_SOURCE_DIR "/models/demo", folder.path());
  fs::remove(folder.path() / "README.md");
  fs::create_directory(folder.path() / "1_Pooling");
  folder.write("1_Pooling/config.json", R"({"pooling_mode": "mean"})");
  folder.write("config_sentence_transformers.json", R"({"prompts": {"query": "q: "}})");
  folder.write("modules.json",
               R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                   {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])");
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 64})");
  Counts all;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file()) all[fs::relative(entry.path(), folder.path()).string()] = 1;
  ASSERT_EQ(all.size(), 10U);
  EXPECT_EQ(opened_by(folder.path(), folder.path()), all);
  EXPECT_EQ(opened_by(folder.path(), folder.path(),
                      {.tokenizer = folder.path() / "tokenizer.json",
                       .chat_template = (folder.path() / "chat_template.jinja").string()}),
            all);
}

TEST(OpenedOnce, AGgufFile) {
  const TemporaryFolder folder;
  ASSERT_TRUE(model::make_model(
                  {.shape = "tiny-llama", .out = folder.path(), .dtype = DType::kF32, .vocab = 256})
                  .ok());
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.push_back(byte_level_character(static_cast<unsigned char>(byte)));
  const fs::path file = folder.write(
      "m.gguf", testing::gguf_of(model::ModelConfig::load(folder.path()).value(),
                                 model::Checkpoint::open(folder.path()).value(),
                                 {.more = {{"general.sampling.temp", 0.7F}}, .tokens = tokens}));
  EXPECT_EQ(opened_by(folder.path(), file), (Counts{{"m.gguf", 1}}));
  EXPECT_EQ(opened_by(folder.path(), file, {.tokenizer = file}), (Counts{{"m.gguf", 1}}));
}

}  // namespace
}  // namespace pando
