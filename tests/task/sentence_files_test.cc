// A model's files for sentence-transformers: prompts that the mean leaves out, and texts that are
// cut. The models are from tools/retrieval_golden.py; the tokenizer of the embedding model ends
// texts with a special token.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/test_files.h"
#include "pando/embed.h"
#include "pando/rerank.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Tokens = std::vector<Token>;

class SentenceFiles : public ::testing::Test {
 protected:
  void copy(const char* name) {
    fs::copy(fs::path(PANDO_SOURCE_DIR) / "tests/task/data" / name, at_,
             fs::copy_options::recursive);
  }
  void change(const char* name, const json& fields) {
    const fs::path path = at_ / name;
    json object = json::object();
    if (fs::exists(path)) object = json::parse(std::ifstream(path));
    object.update(fields);
    std::ofstream(path) << object;
  }
  std::unique_ptr<Engine> open() const {
    auto model = Model::load(at_, {.weights = WeightType::kF32, .threads = 1});
    if (!model) throw std::runtime_error(model.error().message());
    auto engine = Engine::open(
        *model, {.threads = 1, .kv_memory = size_t{64} << 20, .kv_type = KvType::kF32});
    if (!engine) throw std::runtime_error(engine.error().message());
    return std::move(*engine);
  }
  // The mean of the hidden states of tokens from `first` on, added one by one.
  static std::vector<float> mean(Engine& engine, const Tokens& tokens, size_t first) {
    std::vector<float> sum;
    for (size_t n = first + 1; n <= tokens.size(); ++n) {
      Request request;
      request.tokens.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n));
      request.pooling = Pooling::kLast;
      const auto last = engine.complete(request);
      if (!last) throw std::runtime_error(last.error().message());
      const std::vector<float>& hidden = (*last)[0].embedding;
      sum.resize(hidden.size());
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += hidden[i];
    }
    for (float& value : sum) value *= 1.0F / static_cast<float>(tokens.size() - first);
    return sum;
  }
  static std::vector<float> vector(Engine& engine, const std::string& text, EmbedOptions options) {
    options.normalise = false;
    const auto vectors = embed(engine, {text}, options);
    if (!vectors) throw std::runtime_error(vectors.error().message());
    return (*vectors)[0];
  }
  // The engine's answer to the request of a text.
  static Completion asked(Engine& engine, const std::string& text) {
    const Result<EmbedOptions> options = embed_options_for(engine.model(), {});
    if (!options) throw std::runtime_error(options.error().message());
    return (*engine.complete(embed_request(*options, text)))[0];
  }

  const TemporaryFolder folder_;
  const fs::path at_ = folder_.path() / "m";
};

// The library's own vectors (tools/sentence_golden.py), with other files beside the model.
TEST_F(SentenceFiles, VectorsAreTheLibrarys) {
  const json golden = json::parse(
      std::ifstream(fs::path(PANDO_SOURCE_DIR) / "tests/task/data/sentence-transformers.json"));
  ASSERT_EQ(golden.size(), 14u);
  for (const json& one : golden) {
    fs::remove_all(at_);
    copy("qwen3-embedding");
    for (const auto& [name, fields] : one["files"].items()) change(name.c_str(), fields);
    EmbedOptions options;
    if (one["prompt"].is_string()) options.input_type = one["prompt"];
    const auto vectors = embed(*open(), {one["text"].get<std::string>()}, options);
    ASSERT_TRUE(vectors.ok()) << one << vectors.error().message();
    const auto expected = one["vector"].get<std::vector<float>>();
    ASSERT_EQ((*vectors)[0].size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR((*vectors)[0][i], expected[i], 1e-5) << one["files"] << ", " << i;
  }
}

// The prompt counts the tokens that it has by itself, without the end token.
TEST_F(SentenceFiles, APromptIsLeftOutOfTheMean) {
  copy("qwen3-embedding");
  const std::string prompt = "Query: ", text = "What is the capital of China?";
  change("1_Pooling/config.json", {{"pooling_mode", "mean"}, {"include_prompt", false}});
  change("config_sentence_transformers.json",
         {{"prompts", {{"query", prompt}, {"document", ""}}}, {"default_prompt_name", nullptr}});
  const auto engine = open();
  const Model& model = engine->model();
  const Tokens whole = *model.encode(prompt + text), plain = *model.encode(text);
  const size_t n_prompt = model.encode(prompt)->size() - 1;
  ASSERT_EQ(n_prompt, model.encode(prompt, /*add_bos=*/false)->size());
  ASSERT_GE(n_prompt, 2u);
  EXPECT_EQ(vector(*engine, text, {.input_type = "query"}), mean(*engine, whole, n_prompt));
  EXPECT_NE(vector(*engine, text, {.input_type = "query"}), mean(*engine, whole, 0));
  EXPECT_EQ(vector(*engine, text, {.input_type = "document"}), mean(*engine, plain, 0));
  EXPECT_EQ(vector(*engine, text, {}), mean(*engine, plain, 0));
  EXPECT_EQ(vector(*engine, text, {.prompt = prompt}), mean(*engine, whole, n_prompt));
  EXPECT_EQ(vector(*engine, text, {.pooling = Pooling::kLast, .prompt = prompt}),
            mean(*engine, whole, whole.size() - 1));

  // The part of a template before the text is the prompt.
  const std::string before = "Instruct: Find it\nQuery:";
  EXPECT_EQ(vector(*engine, text, {.instruction = "Find it"}),
            mean(*engine, *model.encode(before + text), model.encode(before)->size() - 1));

  const auto nothing = embed(*engine, {""}, {.prompt = prompt, .prompt_template = "{text}"});
  EXPECT_FALSE(nothing.ok());

  change("config_sentence_transformers.json", {{"default_prompt_name", "query"}});
  EXPECT_EQ(vector(*open(), text, {}), mean(*engine, whole, n_prompt));
  change("1_Pooling/config.json", {{"include_prompt", true}});
  EXPECT_EQ(vector(*open(), text, {}), mean(*engine, whole, 0));
}

// The bits are the same in pieces, with others and from a cache.
TEST_F(SentenceFiles, TheMeanBehindAPromptIsThatOfTheTextAlone) {
  copy("qwen3-embedding");
  change("1_Pooling/config.json", {{"pooling_mode", "mean"}, {"include_prompt", false}});
  const std::vector<std::string> texts = {"What is it?", "What is that?", "What is it?", "x"};
  const EmbedOptions query = {.input_type = "query"};
  std::vector<std::vector<float>> alone;
  for (const std::string& text : texts) alone.push_back((*embed(*open(), {text}, query))[0]);
  const auto engine = open();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(*embed(*engine, texts, query), alone);
  const auto model = Model::load(at_, {.weights = WeightType::kF32, .threads = 1});
  ASSERT_TRUE(model.ok());
  for (const char* sharing : {"tree", "packed"}) {
    const auto pieces = Engine::open(*model, {.sharing = sharing,
                                              .threads = 2,
                                              .kv_memory = size_t{64} << 20,
                                              .kv_type = KvType::kF32,
                                              .step_rows = 5});
    ASSERT_TRUE(pieces.ok());
    EXPECT_EQ(*embed(**pieces, texts, query), alone) << sharing;
  }
}

TEST_F(SentenceFiles, ATextThatIsNothingButItsPromptIsRefused) {
  copy("qwen3-embedding");
  change("1_Pooling/config.json", {{"include_prompt", false}});
  change("sentence_bert_config.json", {{"max_seq_length", 8}});
  const auto vectors = embed(*open(), {"text"}, {.input_type = "query"});
  ASSERT_TRUE(vectors.ok());  // vectors of the end token, which is not in the prompt
  change("tokenizer.json", {{"post_processor", nullptr}});
  const auto none = embed(*open(), {"text"}, {.input_type = "query"});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(none.error().message().find("behind its prompt of 8 tokens"), std::string::npos)
      << none.error().message();
  EXPECT_NE(none.error().message().find("'include_prompt' is false"), std::string::npos);
}

TEST_F(SentenceFiles, TextsAreCutAsTheFilesSay) {
  copy("qwen3-embedding");
  const std::string text =
      "Gravity attracts bodies, and a text of more tokens than the files let it have loses its end";
  const auto engine = open();
  const Tokens whole = *engine->model().encode(text);
  const int n = static_cast<int>(whole.size());
  ASSERT_GT(n, 20);
  const auto of = [&](const Tokens& tokens) {
    Request request;
    request.tokens = tokens;
    request.pooling = Pooling::kLast;
    return (*engine->complete(request))[0].embedding;
  };
  const auto expect = [&](int n_kept, bool at_end) {
    const auto cut = open();
    const Completion completion = asked(*cut, text);
    EXPECT_EQ(completion.prompt_tokens, n_kept);
    EXPECT_EQ(completion.cut_tokens, n - n_kept);
    Tokens kept = at_end ? Tokens(whole.begin(), whole.begin() + n_kept - 1)
                         : Tokens(whole.end() - n_kept, whole.end() - 1);
    kept.push_back(whole.back());
    EXPECT_EQ(completion.embedding, of(kept));
  };
  expect(n, true);
  change("sentence_bert_config.json", {{"max_seq_length", 12}, {"do_lower_case", false}});
  expect(12, true);
  // The library takes only the direction of the truncation in tokenizer.json.
  change(
      "tokenizer.json",
      {{"truncation",
        {{"direction", "Left"}, {"max_length", 5}, {"strategy", "LongestFirst"}, {"stride", 0}}}});
  expect(12, false);
  change("tokenizer_config.json", {{"truncation_side", "right"}, {"model_max_length", 9}});
  expect(12, true);
  change("sentence_bert_config.json", {{"max_seq_length", nullptr}});
  expect(9, true);
  change("tokenizer_config.json", {{"model_max_length", 1e30}});
  expect(n, true);
  change("config.json", {{"max_position_embeddings", 16}});
  expect(16, true);

  // Without modules.json, longer texts are refused.
  fs::remove(at_ / "modules.json");
  const auto plain = open();
  EXPECT_EQ(embed(*plain, {text}).error().code, ErrorCode::kTooLong);
  // The files of embedding models never cut prompts of generation.
  Request request;
  request.prompt = text;
  request.pooling = Pooling::kLast;
  EXPECT_EQ(plain->complete(request).error().code, ErrorCode::kTooLong);
  change("config.json", {{"max_position_embeddings", 1024}});
  EXPECT_EQ((*open()->complete(request))[0].prompt_tokens, n);
}

TEST_F(SentenceFiles, TokensAreTakenAsTheyAre) {
  copy("qwen3-embedding");
  change("sentence_bert_config.json", {{"max_seq_length", 4}});
  const auto engine = open();
  Request request;
  request.tokens = {1, 2, 3, 4, 5, 6};
  request.pooling = Pooling::kLast;
  EXPECT_EQ((*engine->complete(request))[0].prompt_tokens, 6);
}

TEST_F(SentenceFiles, OtherDimensionsAreRefused) {
  copy("qwen3-embedding");
  change("1_Pooling/config.json", {{"word_embedding_dimension", 33}});
  const auto vectors = embed(*open(), {"text"});
  ASSERT_FALSE(vectors.ok());
  EXPECT_NE(vectors.error().message().find("dimension 33, expected 32"), std::string::npos)
      << vectors.error().message();
}

// As in a cross encoder of the library, the part of the template after the document stays.
TEST_F(SentenceFiles, PromptsOfARerankerAreCutBeforeTheirEnd) {
  copy("qwen3-reranker");
  const std::string query = "explain gravity",
                    document = "Gravity attracts bodies, and a document is longer than that.";
  const auto whole = open();
  const RerankOptions usual = *rerank_options_for(whole->model(), {});
  EXPECT_EQ(usual.max_tokens, 1024);
  const auto requests = rerank_requests(whole->model(), usual, query, document);
  ASSERT_TRUE(requests.ok());
  const Tokens& all = (*requests)[0].tokens;
  const int n_prompt = *(*requests)[0].prompt_logprobs_from;
  const std::string end(rerank_end(usual));
  EXPECT_TRUE(end.starts_with("<|im_end|>\n"));
  const auto n_end =
      static_cast<std::ptrdiff_t>(whole->model().encode(end, /*add_bos=*/false)->size());
  change("sentence_bert_config.json", {{"max_seq_length", n_prompt - 7}});
  const auto cut = open();
  const RerankOptions shorter = *rerank_options_for(cut->model(), {});
  EXPECT_EQ(shorter.max_tokens, n_prompt - 7);
  const auto fewer = rerank_requests(cut->model(), shorter, query, document);
  ASSERT_TRUE(fewer.ok());
  Tokens expected = all;
  const auto behind = expected.begin() + n_prompt - n_end;
  expected.erase(behind - 7, behind);
  EXPECT_EQ((*fewer)[0].tokens, expected);
  EXPECT_EQ((*fewer)[0].cut_tokens, 7);
  EXPECT_EQ(*(*fewer)[0].prompt_logprobs_from, n_prompt - 7);
  EXPECT_NE(*rerank(*cut, query, {document}), *rerank(*whole, query, {document}));
  EXPECT_EQ(*rerank(*cut, query, {"x"}), *rerank(*whole, query, {"x"}));
}

}  // namespace
}  // namespace pando::testing
