// Models whose tokenizer has tokens that the model lacks. Gemma 3 has one such token.
#include <gtest/gtest.h>

#include "base/json.h"
#include "engine/tiny_engine.h"
#include "model/gguf_files.h"
#include "pando/rerank.h"
#include "text/byte_level.h"

namespace pando::testing {
namespace {

constexpr Token kRows = 257;

Json read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

// A tiny model, whose tokenizer has the tokens `more` after those of the model's vocabulary.
Result<std::shared_ptr<const Model>> load_with(const std::vector<std::string>& more,
                                               const std::string& end = "<|endoftext|>") {
  const TemporaryFolder folder;
  RandomModelOptions options;
  options.out = folder.path();
  options.max_positions = 128;
  EXPECT_TRUE(make_random_model(options).ok());
  Json tokenizer = read_file(folder.path() / "tokenizer.json"),
       config = read_file(folder.path() / "tokenizer_config.json"),
       shape = read_file(folder.path() / "config.json");
  for (size_t i = 0; i < more.size(); ++i)
    tokenizer["added_tokens"].push_back(
        {{"id", kRows + i}, {"content", more[i]}, {"special", more[i].starts_with("<")}});
  config["eos_token"] = end;
  if (end != "<|endoftext|>") shape["eos_token_id"] = nullptr;
  folder.write("tokenizer.json", tokenizer.dump());
  folder.write("tokenizer_config.json", config.dump());
  folder.write("config.json", shape.dump());
  return Model::load(folder.path());
}

std::unique_ptr<Engine> open_with(const std::vector<std::string>& more,
                                  const std::string& end = "<|endoftext|>") {
  const auto model = load_with(more, end);
  if (!model) throw std::runtime_error(model.error().message());
  return Engine::open(*model, tiny_options()).value();
}

constexpr const char* kRefused =
    "token 257 ('<image_soft_token>') is outside the model's vocabulary of 257";

TEST(ShortVocabulary, APromptWithSuchATokenIsRefusedByName) {
  const std::unique_ptr<Engine> engine = open_with({"<image_soft_token>"});
  EXPECT_EQ(engine->model().info().notes,
            std::vector<std::string>{"the tokenizer has 258 tokens and the model 257; prompts with "
                                     "one of the others are refused"});
  EXPECT_TRUE(engine->complete(tiny_request("a")).ok());
  Request tokens = tiny_request("");
  tokens.tokens = {'a', kRows};
  Request chat = tiny_request("");
  chat.messages = {{"user", "a<image_soft_token>"}};
  Request embedded = tiny_request("<image_soft_token>");
  embedded.pooling = Pooling::kLast;
  Request scored = tiny_request("a<image_soft_token>b");
  scored.prompt_logprobs_from = 1;
  for (const Request& request :
       {tiny_request("a<image_soft_token>b"), tokens, chat, embedded, scored}) {
    const auto refused = engine->complete(request);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(refused.error().message(), kRefused);
    EXPECT_EQ(refused.error().place.field, "prompt");
  }
  const auto reranked = rerank(
      *engine, "q", {"a document", "<image_soft_token>"},
      {.instruction = "i", .prompt_template = "{query}{document}", .yes = "yes", .no = "no"});
  ASSERT_FALSE(reranked.ok());
  EXPECT_EQ(reranked.error().message(), kRefused);
}

TEST(ShortVocabulary, OfGguf) {
  const TemporaryFolder folder;
  const auto made = model::make_model(
      {.shape = "tiny-qwen3", .out = folder.path(), .dtype = DType::kF32, .vocab = 50});
  ASSERT_TRUE(made.ok());
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 50; ++byte)
    tokens.push_back(byte_level_character(static_cast<unsigned char>(byte)));
  tokens.push_back("<image_soft_token>");
  const auto config = model::ModelConfig::load(folder.path()).value();
  const auto checkpoint = model::Checkpoint::open(folder.path()).value();
  folder.write("m.gguf", gguf_of(config, checkpoint, {.tokens = tokens}));
  const auto model = Model::load(folder.path() / "m.gguf");
  ASSERT_TRUE(model.ok()) << model.error().message();
  const auto engine = Engine::open(*model, tiny_options()).value();
  EXPECT_TRUE(engine->complete(tiny_request("1")).ok());
  EXPECT_EQ(engine->complete(tiny_request("1<image_soft_token>")).error().message(),
            "token 50 ('<image_soft_token>') is outside the model's vocabulary of 50");
}

TEST(ShortVocabulary, SamplingNamesOnlyTokensOfTheModel) {
  const std::unique_ptr<Engine> engine = open_with({"<image_soft_token>"});
  Request request = tiny_request("a");
  request.sampling.logit_bias = {{kRows, 1}};
  EXPECT_EQ(engine->complete(request).error().place.field, "logit_bias");
  request.sampling.logit_bias.clear();
  request.sampling.stop_tokens = {kRows};  // never drawn
  EXPECT_EQ(engine->complete(request)->at(0).tokens,
            engine->complete(tiny_request("a"))->at(0).tokens);
}

// A form may allow the text of such a token, but the token cannot be drawn.
TEST(ShortVocabulary, FormsAreWrittenWithTokensOfTheModel) {
  const std::unique_ptr<Engine> engine = open_with({"abab", "ab", "aba"});
  Request request = tiny_request("a", 40);
  request.sampling.n = 8;
  request.sampling.temperature = 1.5;
  request.sampling.form = {.kind = TextForm::Kind::kRegex, .text = "(ab){2,6}"};
  const auto answers = engine->complete(request);
  ASSERT_TRUE(answers.ok()) << answers.error().message();
  for (const Completion& answer : *answers) {
    EXPECT_EQ(answer.finish_reason, FinishReason::kStop);
    EXPECT_EQ(answer.text.size() % 2, 0u) << answer.text;
    for (const Token token : answer.tokens) EXPECT_LT(token, kRows);
  }
}

// The model lacks the end token, so an answer ends where its form does.
TEST(ShortVocabulary, AnEndTokenThatTheModelLacks) {
  const std::unique_ptr<Engine> engine = open_with({"<end>"}, "<end>");
  Request request = tiny_request("a", 5);
  request.sampling.ignore_eos = false;
  request.sampling.form = {.kind = TextForm::Kind::kRegex, .text = "b{3}"};
  Completion answer = engine->complete(request).value().at(0);
  EXPECT_EQ(answer.text, "bbb");
  EXPECT_EQ(answer.finish_reason, FinishReason::kStop);
  request.sampling.form->text = "b*";
  answer = engine->complete(request).value().at(0);
  EXPECT_EQ(answer.text, "bbbbb");
  EXPECT_EQ(answer.finish_reason, FinishReason::kLength);
}

TEST(ShortVocabulary, TheTokenizerOfAnotherModelIsRefused) {
  std::vector<std::string> many;
  for (int i = 0; i < 17; ++i) many.push_back("<" + std::to_string(i) + ">");
  const auto model = load_with(many);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, ErrorCode::kBadFile);
  EXPECT_NE(model.error().message().find("the tokenizer has 274 tokens, expected at most 273 for the "
                                       "model's vocabulary of 257"),
            std::string::npos)
      << model.error().message();
}

}  // namespace
}  // namespace pando::testing
