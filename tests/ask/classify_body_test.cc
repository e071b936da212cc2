// Bodies and lines of texts to be classified, with the models of tools/classifier_golden.py.
#include <cmath>
#include <filesystem>

#include "ask/line.h"
#include "ask/tei_body.h"
#include "door_testing.h"

namespace pando::ask {
namespace {

std::shared_ptr<const Model> classifier(const std::string& name) {
  const std::string folder = PANDO_SOURCE_DIR "/tests/task/data/classifiers/";
  return Model::load(folder + name, {.weights = WeightType::kF32, .threads = 1}).value();
}

// Returns what an engine gives for a request of the model: rows of `n` alike hidden states.
Completion hidden(const Model& model, int n, float value) {
  const auto n_values = static_cast<size_t>(model.info().d_model * n);
  return {.embedding = std::vector<float>(n_values, value), .prompt_tokens = n};
}

class ClassifyBodies : public Doors {
 protected:
  std::unique_ptr<Body> of_model(ReadBody* reader, const char* json, const Model& model) {
    auto made = read(reader, json, model);
    EXPECT_TRUE(made.ok()) << made.error().message();
    return std::move(*made);
  }
  std::string refused(ReadBody* reader, const char* json, const Model& model) {
    const auto made = read(reader, json, model);
    EXPECT_FALSE(made.ok()) << json;
    return made.ok() ? "" : made.error().message();
  }
};

TEST_F(ClassifyBodies, AnswerAsVllm) {
  const auto model = classifier("bert-three");
  const auto body = of_model(read_classify_body, R"({"input": ["a page", "rows"]})", *model);
  ASSERT_EQ(body->requests.size(), 2u);
  EXPECT_EQ(body->requests[0].pooling, Pooling::kFirst);
  EXPECT_EQ(body->place(1), "input[1]");
  Completion first = hidden(*model, 1, 0.5F), second = hidden(*model, 1, -0.5F);
  first.prompt_tokens = 4;
  second.prompt_tokens = 3;
  const Json answer = answered(*body, {first, second});
  EXPECT_EQ(answer["object"], "list");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 7);
  ASSERT_EQ(answer["data"].size(), 2u);
  for (const Json& data : answer["data"]) {
    EXPECT_EQ(data["num_classes"], 3);
    double sum = 0, most = 0;
    for (const Json& p : data["probs"]) {
      sum += p.get<double>();
      most = std::max(most, p.get<double>());
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_EQ(data["score"], most);
    EXPECT_EQ(data["labels"][0]["label"], data["label"]);
    EXPECT_EQ(data["labels"].size(), 3u);
  }
}

TEST_F(ClassifyBodies, PredictTakesTextsAndPairs) {
  const auto model = classifier("bert-three");
  const auto one = of_model(read_tei_predict_body, R"({"inputs": "a page"})", *model);
  const Json labels = answered(*one, {hidden(*model, 1, 1)});
  ASSERT_EQ(labels.size(), 3u);
  EXPECT_GE(labels[0]["score"].get<double>(), labels[1]["score"].get<double>());
  const auto pair = of_model(read_tei_predict_body, R"({"inputs": ["a", "page"]})", *model);
  ASSERT_EQ(pair->requests.size(), 1u);
  EXPECT_EQ(pair->requests[0].token_types.back(), 1);
  const auto list = of_model(read_tei_predict_body,
                             R"({"inputs": [["a"], ["a", "page"]], "raw_scores": true})", *model);
  ASSERT_EQ(list->requests.size(), 2u);
  EXPECT_TRUE(list->requests[0].token_types.empty());
  const Json lists = answered(*list, {hidden(*model, 1, 1), hidden(*model, 1, 1)});
  EXPECT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[0], lists[1]);
  EXPECT_NEAR(std::exp(lists[0][0]["score"].get<double>() - lists[0][1]["score"].get<double>()),
              labels[0]["score"].get<double>() / labels[1]["score"].get<double>(), 1e-9);
}

TEST_F(ClassifyBodies, TokensGiveEntities) {
  const auto model = classifier("bert-tokens");
  const auto body = of_model(read_classify_body,
                             R"({"input": "É page", "aggregation_strategy": "none"})", *model);
  EXPECT_EQ(body->requests[0].pooling, Pooling::kRows);
  const auto n = static_cast<int>(body->requests[0].tokens.size());
  const Json data = answered(*body, {hidden(*model, n, 1)})["data"][0];
  EXPECT_FALSE(data.contains("label"));
  ASSERT_TRUE(data.contains("entities"));
  for (const Json& entity : data["entities"]) {
    EXPECT_LT(entity["start"].get<int>(), entity["end"].get<int>());
    EXPECT_LE(entity["end"].get<int>(), 6);  // in characters
  }
}

TEST_F(ClassifyBodies, NameWhatIsWrong) {
  const auto model = classifier("bert-three");
  EXPECT_NE(refused(read_classify_body, "{}", *model).find("input"), std::string::npos);
  EXPECT_NE(refused(read_classify_body, R"({"input": []})", *model).find("no texts"),
            std::string::npos);
  EXPECT_NE(refused(read_classify_body, R"({"input": "a", "activation": "relu"})", *model)
                .find("'relu', expected model, softmax, sigmoid or logits"),
            std::string::npos)
      << refused(read_classify_body, R"({"input": "a", "activation": "relu"})", *model);
  EXPECT_NE(refused(read_classify_body, R"({"input": "a", "top_k": 0})", *model).find("top_k"),
            std::string::npos);
  EXPECT_NE(refused(read_tei_predict_body, R"({"inputs": ["a", "b", "c"]})", *model)
                .find("one or two texts"),
            std::string::npos);
  EXPECT_NE(
      refused(read_tei_predict_body, R"({"inputs": "a", "truncation_direction": "up"})", *model)
          .find("truncation_direction"),
      std::string::npos);
  EXPECT_EQ(error(read_classify_body, R"({"input": "a"})").code, ErrorCode::kUnsupported);
  const auto tokens = classifier("bert-tokens");
  EXPECT_NE(
      refused(read_tei_predict_body, R"({"inputs": ["a", "b"]})", *tokens).find("labels tokens"),
      std::string::npos);
}

TEST_F(ClassifyBodies, ACrossEncoderRanks) {
  const auto model = classifier("xlm-roberta-pairs");
  const auto body = of_model(read_rerank_body,
                             R"({"query": "page", "documents": ["a", "a page of rows"]})", *model);
  ASSERT_EQ(body->requests.size(), 2u);
  const Json answer = answered(*body, {hidden(*model, 1, 0.1F), hidden(*model, 1, -0.1F)});
  ASSERT_EQ(answer["results"].size(), 2u);
  EXPECT_FALSE(answer["results"][0].contains("mass"));
  EXPECT_GT(answer["results"][0]["relevance_score"].get<double>(),
            answer["results"][1]["relevance_score"].get<double>());
  const auto raw = of_model(read_rerank_body,
                            R"({"query": "page", "texts": ["a"], "raw_scores": true})", *model);
  const auto scaled = of_model(read_rerank_body, R"({"query": "page", "texts": ["a"]})", *model);
  const double logit = answered(*raw, {hidden(*model, 1, 0.1F)})[0]["score"];
  const double p = answered(*scaled, {hidden(*model, 1, 0.1F)})[0]["score"];
  EXPECT_NEAR(p, 1 / (1 + std::exp(-logit)), 1e-12);
}

// Requests longer than the context are left to the engine, which refuses them.
TEST_F(ClassifyBodies, TextsAreCutToTheContextOnlyIfAsked) {
  context_ = 7;
  const auto pairs = classifier("xlm-roberta-pairs"), three = classifier("bert-three");
  const auto length = [](const std::unique_ptr<Body>& body) {
    return body->requests[0].tokens.size();
  };
  const auto whole = of_model(
      read_rerank_body, R"({"query": "page", "documents": ["a page of rows and rows"]})", *pairs);
  EXPECT_GT(length(whole), 7u);
  const auto cut = of_model(
      read_rerank_body,
      R"({"query": "page", "documents": ["a page of rows and rows"], "truncate": true})", *pairs);
  EXPECT_EQ(length(cut), 7u);
  EXPECT_GT(cut->requests[0].cut_tokens, 0);
  for (ReadBody* reader : {read_classify_body, read_tei_predict_body}) {
    const std::string field = reader == read_classify_body ? "input" : "inputs",
                      text = "{\"" + field + "\": \"a page of rows and plans and rows\"";
    const auto as_it_is = of_model(reader, (text + "}").c_str(), *three);
    EXPECT_GT(length(as_it_is), 7u);
    const auto end = of_model(reader, (text + ", \"truncate\": true}").c_str(), *three);
    const auto start = of_model(reader, (text + ", \"truncate\": \"START\"}").c_str(), *three);
    ASSERT_EQ(length(end), 7u);
    ASSERT_EQ(length(start), 7u);
    const auto& all = as_it_is->requests[0].tokens;
    EXPECT_EQ(end->requests[0].tokens[1], all[1]);
    EXPECT_EQ(start->requests[0].tokens[5], all[all.size() - 2]);
  }
}

TEST_F(ClassifyBodies, ListsHaveTextsAndPairs) {
  const auto model = classifier("bert-three");
  const auto body = of_model(read_classify_body, R"({"input": ["a page", ["a", "page"]]})", *model);
  ASSERT_EQ(body->requests.size(), 2u);
  EXPECT_TRUE(body->requests[0].token_types.empty());
  EXPECT_EQ(body->requests[1].token_types.back(), 1);
  EXPECT_EQ(body->place(1), "input[1]");
  for (const char* wrong : {R"({"input": [["a"]]})", R"({"input": [["a", "b", "c"]]})",
                            R"({"input": [["a", 5]]})", R"({"input": 5})"})
    EXPECT_NE(refused(read_classify_body, wrong, *model).find("a list of texts and pairs of texts"),
              std::string::npos)
        << wrong;
}

TEST(ClassifyLines, HaveLabels) {
  const auto model = classifier("distilbert-many");
  BatchOptions options;
  options.task = BatchTask::kClassify;
  options.classify = classify_options_for(*model, {.top = 2}).value();
  const Result<EmbedOptions> embed = EmbedOptions();
  const LineContext context{.number = 4, .options = options, .embed = embed};
  const auto line = read_classify_line(
      Json::parse(R"({"text": "a", "text_pair": "b", "metadata": {"k": 1}})"), context);
  ASSERT_TRUE(line.ok()) << line.error().message();
  const auto requests = (*line)->requests_of(*model, (*line)->questions[0]);
  ASSERT_TRUE(requests.ok()) << requests.error().message();
  EXPECT_EQ((*requests)[0].id, "4");
  EXPECT_TRUE((*requests)[0].token_types.empty());  // DistilBERT has none
  const std::vector<std::vector<Completion>> answers = {{hidden(*model, 1, 0.25F)}};
  const auto written = (*line)->written({.question = &(*line)->questions[0], .answers = answers},
                                        {.model = *model, .options = options});
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0]["labels"].size(), 2u);
  EXPECT_EQ(written[0]["label"], written[0]["labels"][0]["label"]);
  EXPECT_EQ(written[0]["metadata"]["k"], 1);
  const auto lacking = read_classify_line(Json::parse(R"({"id": "x"})"), context);
  ASSERT_FALSE(lacking.ok());
  EXPECT_NE(lacking.error().message().find("no 'text'"), std::string::npos);
}

}  // namespace
}  // namespace pando::ask
