// Embeddings: pooling against prefixes one by one, in company, with a warm cache, in pieces.
#include "pando/embed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "engine/tiny_engine.h"
#include "model/safetensors.h"

namespace pando::testing {
namespace {

using Vectors = std::vector<std::vector<float>>;

const std::vector<std::string> kTexts = {"A tree is a root and its branches.", "A tree is a root",
                                         "Something else", "A tree is a root and its leaves.",
                                         "A tree is a root"};

Vectors embedded(Engine& engine, const std::vector<std::string>& texts,
                 const EmbedOptions& options) {
  const auto vectors = embed(engine, texts, options);
  if (!vectors) throw std::runtime_error(vectors.error().message());
  return *vectors;
}

TEST(Embed, LastIsThatOfTheLastTokenWhateverStandsBehindIt) {
  const EmbedOptions plain{.normalise = false};
  const std::unique_ptr<Engine> engine = open_tiny();
  const auto vectors = embedded(*engine, kTexts, plain);
  EXPECT_EQ(vectors[0].size(), static_cast<size_t>(engine->model().info().d_model));
  EXPECT_EQ(vectors[1], vectors[4]);
  EXPECT_NE(vectors[0], vectors[3]);
  for (size_t i = 0; i < kTexts.size(); ++i)
    EXPECT_EQ(vectors[i], embedded(*open_tiny(), {kTexts[i]}, plain)[0]);
}

// The model is causal, so the last state of a beginning is the state of that token.
TEST(Embed, MeanIsTheSumOfTheLastOnesOfAllBeginnings) {
  const std::string text = kTexts[0];
  std::vector<std::string> beginnings;
  for (size_t n = 1; n <= text.size(); ++n) beginnings.push_back(text.substr(0, n));
  std::vector<float> mean;
  for (const auto& of_token : embedded(*open_tiny(), beginnings, {.normalise = false})) {
    mean.resize(of_token.size());
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += of_token[i];
  }
  for (float& value : mean) value *= 1.0F / static_cast<float>(text.size());
  const EmbedOptions by_mean{.pooling = Pooling::kMean, .normalise = false};
  EXPECT_EQ(embedded(*open_tiny(), {text}, by_mean)[0], mean);
}

TEST(Embed, TheSameBitsInPiecesInCompanyAndWithAWarmCache) {
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean}) {
    const EmbedOptions options{.pooling = pooling};
    Vectors alone;
    for (const std::string& text : kTexts)
      alone.push_back(embedded(*open_tiny(), {text}, options)[0]);
    EngineOptions pieces = tiny_options();
    pieces.step_rows = 7;
    pieces.threads = 2;
    const std::unique_ptr<Engine> engine = open_tiny(pieces);
    EXPECT_EQ(embedded(*engine, kTexts, options), alone);
    EXPECT_EQ(embedded(*engine, kTexts, options), alone);
    EngineOptions packed = tiny_options();
    packed.sharing = "packed";
    EXPECT_EQ(embedded(*open_tiny(packed), kTexts, options), alone);
  }
}

TEST(Embed, HashesAreOfHiddenStates) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Request request = embed_request({.pooling = Pooling::kMean}, kTexts[0]);
  request.logits_hash = true;
  const auto first = engine->complete(request), again = engine->complete(request);
  request.prompt = kTexts[3];
  const auto other = engine->complete(request);
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_NE((*first)[0].logits_hash, 0u);
  EXPECT_EQ((*first)[0].logits_hash, (*again)[0].logits_hash);
  EXPECT_NE((*first)[0].logits_hash, (*other)[0].logits_hash);
  EXPECT_TRUE((*first)[0].tokens.empty());
  EXPECT_TRUE((*first)[0].prompt_logprobs.empty());
}

TEST(Embed, FirstDimensionsAreScaledAfterTheCut) {
  const std::unique_ptr<Engine> engine = open_tiny();
  const std::vector<float> whole = embedded(*engine, {kTexts[0]}, {.normalise = false})[0],
                           cut = embedded(*engine, {kTexts[0]}, {.dimensions = 8})[0];
  ASSERT_EQ(cut.size(), 8u);
  double length = 0, of_cut = 0;
  for (size_t i = 0; i < 8; ++i) length += double{whole[i]} * whole[i];
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_FLOAT_EQ(cut[i], static_cast<float>(whole[i] / std::sqrt(length)));
    of_cut += double{cut[i]} * cut[i];
  }
  EXPECT_NEAR(of_cut, 1, 1e-6);
}

TEST(Embed, AnInstructionIsSharedAndStandsBeforeTheText) {
  const EmbedOptions options{.instruction = "Find what is meant"};
  EXPECT_EQ(embed_request(options, "{text}").prompt, "Instruct: Find what is meant\nQuery:{text}");
  EXPECT_EQ(embed_request({}, "as it is").prompt, "as it is");
  EXPECT_EQ(embed_request({.prompt_template = "passage: {text}"}, "T").prompt, "passage: T");
  EXPECT_EQ(embed_request({.prompt_template = "{instruction} {text}"}, "T").prompt, "T");
  const std::unique_ptr<Engine> engine = open_tiny();
  embedded(*engine, {"one", "two"}, options);
  const std::string common = "Instruct: Find what is meant\nQuery:";
  EXPECT_EQ(engine->stats().prefill_rows, common.size() + 6);
}

// A tiny model with sentence-transformers files, which say how vectors are made.
class EmbedFiles : public ::testing::Test {
 protected:
  EmbedFiles() {
    RandomModelOptions made;
    made.shape = "tiny-qwen3";
    made.out = path();
    made.max_positions = kTinyContext;
    if (!make_random_model(made).ok()) throw std::runtime_error("no random model");
  }

  std::filesystem::path path() const { return folder_.path() / "m"; }
  // Writes a file of the model.
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((path() / name).parent_path());
    folder_.write("m/" + name, text);
  }
  // Writes modules.json with a Transformer, a Pooling in "1_Pooling", and then `others` in the
  // folders "2", "3" and so on.
  void write_modules(const std::vector<std::string>& others = {}) {
    const auto module = [](const std::string& folder, const std::string& kind) {
      return R"({"path": ")" + folder + R"(", "type": "sentence_transformers.models.)" + kind +
             R"("})";
    };
    std::string list = module("", "Transformer") + ", " + module("1_Pooling", "Pooling");
    for (size_t i = 0; i < others.size(); ++i)
      list += ", " + module(std::to_string(i + 2), others[i]);
    write("modules.json", "[" + list + "]");
  }
  std::shared_ptr<const Model> load() const {
    auto model = Model::load(path());
    if (!model) throw std::runtime_error(model.error().message());
    return *model;
  }
  std::unique_ptr<Engine> open() const {
    auto engine = Engine::open(load(), tiny_options());
    if (!engine) throw std::runtime_error(engine.error().message());
    return std::move(*engine);
  }

 private:
  const TemporaryFolder folder_;
};

TEST_F(EmbedFiles, AreFollowedWhereNothingElseIsSaid) {
  write_modules();
  write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  write("config_sentence_transformers.json",
        R"({"prompts": {"query": "query: "}, "default_prompt_name": "query"})");
  const std::unique_ptr<Engine> engine = open();
  std::vector<std::string> prompted;
  for (const std::string& text : kTexts) prompted.push_back("query: " + text);
  EXPECT_EQ(
      embedded(*engine, kTexts, {}),
      embedded(*engine, prompted, {.pooling = Pooling::kMean, .normalise = false, .prompt = ""}));
  EXPECT_EQ(
      embedded(*engine, kTexts, {.pooling = Pooling::kLast, .normalise = true}),
      embedded(*engine, prompted, {.pooling = Pooling::kLast, .normalise = true, .prompt = ""}));

  // Two poolings joined.
  write("1_Pooling/config.json", R"({"pooling_mode": ["mean", "lasttoken"]})");
  const std::unique_ptr<Engine> with_two = open();
  const auto last =
      embedded(*engine, prompted, {.pooling = Pooling::kLast, .normalise = false, .prompt = ""});
  const auto mean =
      embedded(*engine, prompted, {.pooling = Pooling::kMean, .normalise = false, .prompt = ""});
  const auto both = embedded(*with_two, kTexts, {});
  for (size_t i = 0; i < both.size(); ++i) {
    std::vector<float> expected = mean[i];
    expected.insert(expected.end(), last[i].begin(), last[i].end());
    EXPECT_EQ(both[i], expected);
  }
  write("1_Pooling/config.json", R"({"pooling_mode": "most"})");
  const auto vectors = embed(*open(), kTexts);
  ASSERT_FALSE(vectors.ok());
  EXPECT_EQ(vectors.error().code, ErrorCode::kBadFile);
  EXPECT_NE(vectors.error().message().find("most"), std::string::npos);
}

// As in sentence-transformers, whose Normalize comes first; numbers that are asked for come before.
TEST_F(EmbedFiles, DimensionsAreKeptAfterScaling) {
  write_modules({"Normalize"});
  write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  write("config_sentence_transformers.json", R"({"truncate_dim": 8})");
  const std::unique_ptr<Engine> engine = open();
  const int all = engine->model().info().d_model;
  std::vector<float> whole = embedded(*engine, {kTexts[0]}, {.dimensions = all})[0];
  whole.resize(8);
  EXPECT_EQ(embedded(*engine, {kTexts[0]}, {})[0], whole);
  const std::vector<float> asked = embedded(*engine, {kTexts[0]}, {.dimensions = 8})[0];
  EXPECT_NE(asked, whole);
  EXPECT_EQ(embedded(*engine, {kTexts[0]}, {.normalise = true})[0], asked);
}

// The length of vectors before a module is known from the model alone if no file states it.
TEST_F(EmbedFiles, ModulesFitTheModel) {
  write_modules({"Normalize", "LayerNorm"});
  write("1_Pooling/config.json", R"({"pooling_mode": "mean"})");
  write("3/config.json", R"({"dimension": 3})");
  const std::vector<float> ones(3, 1.0F);
  const std::vector<model::SafetensorsWriter::Tensor> tensors = {
      {.name = "norm.weight", .shape = {3}}, {.name = "norm.bias", .shape = {3}}};
  auto writer = model::SafetensorsWriter::create(path() / "3/model.safetensors", tensors);
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(writer->append(std::as_bytes(std::span(ones))).ok());
  ASSERT_TRUE(writer->finish().ok());
  const auto model = load();
  const auto options = embed_options_for(*model, {});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.error().message(), "there are vectors of " +
                                           std::to_string(model->info().d_model) +
                                           " values, expected 3 for the model's next module");
}

TEST(Embed, AnInputTypeNamesAPromptOfTheModel) {
  EmbedOptions options{.prompts = {{"query", "query: "}, {"passage", "passage: "}}};
  EXPECT_EQ(*prompt_for(options, "query"), "query: ");
  EXPECT_EQ(*prompt_for(options, "search_query"), "query: ");
  EXPECT_EQ(*prompt_for(options, "document"), "passage: ");
  EXPECT_EQ(*prompt_for(options, "search_document"), "passage: ");
  EXPECT_EQ(prompt_for(options, "code"), nullptr);
  EXPECT_TRUE(take_prompt_for("query", options).ok());
  EXPECT_EQ(options.prompt, "query: ");
  EXPECT_EQ(take_prompt_for("code", options).error().message(),
            "input_type is 'code', expected a prompt of the model's files: passage or query");
  const auto none = embed(*open_tiny(), {"text"}, {.input_type = "query"});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message(), "input_type is 'query', but the model's files name no prompts");
}

TEST(Embed, RefusesWhatTheModelCannotFollow) {
  const auto refused = [](const EmbedOptions& options) {
    const auto vectors = embed(*open_tiny(), {"text"}, options);
    return vectors ? "" : vectors.error().message();
  };
  EXPECT_EQ(refused({.dimensions = 100000}), "dimensions is 100000, expected at most the model's " +
                                                 std::to_string(tiny_model()->info().d_model) +
                                                 ", or 0 for all");
  EXPECT_EQ(refused({.instruction = "I", .prompt_template = "{text}"}),
            "the template is '{text}', expected {instruction} and {text} in it");
  EXPECT_EQ(refused({.prompt_template = "passage: "}),
            "the template is 'passage: ', expected {text} in it");
  EXPECT_EQ(refused({.instruction = "I", .prompt_template = "{text} {instuction}"}),
            "the template is '{text} {instuction}', expected {instruction} and {text} in it");
}

}  // namespace
}  // namespace pando::testing
