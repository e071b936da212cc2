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

// A model of the library sentence-transformers brings files that say how its vectors are made.
TEST(Embed, FollowsTheModelsFilesWhereNothingElseIsSaid) {
  const TemporaryFolder folder;
  RandomModelOptions made;
  made.shape = "tiny-qwen3";
  made.out = folder.path() / "m";
  made.max_positions = kTinyContext;
  ASSERT_TRUE(make_random_model(made).ok());
  std::filesystem::create_directories(made.out / "1_Pooling");
  folder.write("m/modules.json",
               R"([{"path": "", "type": "sentence_transformers.models.Transformer"},)"
               R"({"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
  folder.write("m/1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  folder.write("m/config_sentence_transformers.json",
               R"({"prompts": {"query": "query: "}, "default_prompt_name": "query"})");
  const auto model = Model::load(made.out);
  ASSERT_TRUE(model.ok()) << model.error().message();
  const auto engine = Engine::open(*model, tiny_options());
  ASSERT_TRUE(engine.ok()) << engine.error().message();
  std::vector<std::string> prompted;
  for (const std::string& text : kTexts) prompted.push_back("query: " + text);
  EXPECT_EQ(
      embedded(**engine, kTexts, {}),
      embedded(**engine, prompted, {.pooling = Pooling::kMean, .normalise = false, .prompt = ""}));
  EXPECT_EQ(
      embedded(**engine, kTexts, {.pooling = Pooling::kLast, .normalise = true}),
      embedded(**engine, prompted, {.pooling = Pooling::kLast, .normalise = true, .prompt = ""}));

  // Two poolings joined, and a module behind them that the vectors do not fit.
  folder.write("m/1_Pooling/config.json", R"({"pooling_mode": ["mean", "lasttoken"]})");
  const auto joined = Model::load(made.out);
  ASSERT_TRUE(joined.ok()) << joined.error().message();
  const auto with_two = Engine::open(*joined, tiny_options());
  const auto last =
      embedded(**engine, prompted, {.pooling = Pooling::kLast, .normalise = false, .prompt = ""});
  const auto mean =
      embedded(**engine, prompted, {.pooling = Pooling::kMean, .normalise = false, .prompt = ""});
  const auto both = embedded(**with_two, kTexts, {});
  for (size_t i = 0; i < both.size(); ++i) {
    std::vector<float> expected = mean[i];
    expected.insert(expected.end(), last[i].begin(), last[i].end());
    EXPECT_EQ(both[i], expected);
  }
  folder.write("m/1_Pooling/config.json", R"({"pooling_mode": "most"})");
  const auto other = Model::load(made.out);
  ASSERT_TRUE(other.ok()) << other.error().message();
  const auto vectors = embed(**Engine::open(*other, tiny_options()), kTexts);
  ASSERT_FALSE(vectors.ok());
  EXPECT_EQ(vectors.error().code, ErrorCode::kBadFile);
  EXPECT_NE(vectors.error().message().find("most"), std::string::npos);
}

// As in sentence-transformers, whose Normalize comes first; numbers that are asked for come before.
TEST(Embed, TheFilesDimensionsAreKeptAfterScaling) {
  const TemporaryFolder folder;
  RandomModelOptions made;
  made.shape = "tiny-qwen3";
  made.out = folder.path() / "m";
  made.max_positions = kTinyContext;
  ASSERT_TRUE(make_random_model(made).ok());
  std::filesystem::create_directories(made.out / "1_Pooling");
  folder.write("m/modules.json",
               R"([{"path": "", "type": "sentence_transformers.models.Transformer"},)"
               R"({"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},)"
               R"({"path": "2", "type": "sentence_transformers.models.Normalize"}])");
  folder.write("m/1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  folder.write("m/config_sentence_transformers.json", R"({"truncate_dim": 8})");
  const auto model = Model::load(made.out);
  ASSERT_TRUE(model.ok()) << model.error().message();
  const auto engine = Engine::open(*model, tiny_options());
  ASSERT_TRUE(engine.ok()) << engine.error().message();
  const int all = (*model)->info().d_model;
  std::vector<float> whole = embedded(**engine, {kTexts[0]}, {.dimensions = all})[0];
  whole.resize(8);
  EXPECT_EQ(embedded(**engine, {kTexts[0]}, {})[0], whole);
  const std::vector<float> asked = embedded(**engine, {kTexts[0]}, {.dimensions = 8})[0];
  EXPECT_NE(asked, whole);
  EXPECT_EQ(embedded(**engine, {kTexts[0]}, {.normalise = true})[0], asked);
}

// The length of vectors before a module is known from the model alone if no file states it.
TEST(Embed, RefusesModulesThatDoNotFitTheModel) {
  const TemporaryFolder folder;
  RandomModelOptions made;
  made.shape = "tiny-qwen3";
  made.out = folder.path() / "m";
  made.max_positions = kTinyContext;
  ASSERT_TRUE(make_random_model(made).ok());
  for (const char* module : {"1_Pooling", "3"})
    std::filesystem::create_directories(made.out / module);
  folder.write("m/modules.json",
               R"([{"path": "", "type": "sentence_transformers.models.Transformer"},)"
               R"({"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},)"
               R"({"path": "2", "type": "sentence_transformers.models.Normalize"},)"
               R"({"path": "3", "type": "sentence_transformers.models.LayerNorm"}])");
  folder.write("m/1_Pooling/config.json", R"({"pooling_mode": "mean"})");
  folder.write("m/3/config.json", R"({"dimension": 3})");
  const std::vector<float> ones(3, 1.0F);
  const std::vector<model::SafetensorsWriter::Tensor> tensors = {
      {.name = "norm.weight", .shape = {3}}, {.name = "norm.bias", .shape = {3}}};
  auto writer = model::SafetensorsWriter::create(made.out / "3/model.safetensors", tensors);
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(writer->append(std::as_bytes(std::span(ones))).ok());
  ASSERT_TRUE(writer->finish().ok());
  const auto model = Model::load(made.out);
  ASSERT_TRUE(model.ok()) << model.error().message();
  const auto options = embed_options_for(**model, {});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.error().message(),
            "there are vectors of " + std::to_string((*model)->info().d_model) +
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
