// Labels of texts, pairs and tokens against the transformers library. The models and what it says
// of texts are from tools/classifier_golden.py.
#include "pando/classify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "api/model_access.h"
#include "pando/label_spans.h"
#include "pando/rerank.h"

namespace pando::testing {
namespace {

using nlohmann::json;

std::filesystem::path classifier(const std::string& name) {
  return std::filesystem::path(PANDO_SOURCE_DIR) / "tests/task/data/classifiers" / name;
}

std::unique_ptr<Engine> open(const std::string& name) {
  auto model = Model::load(classifier(name), {.weights = WeightType::kF32, .threads = 1});
  if (!model) throw std::runtime_error(model.error().message());
  auto engine =
      Engine::open(*model, {.threads = 1, .kv_memory = size_t{64} << 20, .kv_type = KvType::kF32});
  if (!engine) throw std::runtime_error(engine.error().message());
  return std::move(*engine);
}

std::vector<json> expected(const std::string& name) {
  std::vector<json> lines;
  std::ifstream file(classifier(name) / "expected.jsonl");
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  return lines;
}

Completion classified(Engine& engine, const ClassifyOptions& options, const json& line) {
  const std::string second = line.value("text_pair", "");
  const bool is_pair = line.contains("text_pair");
  auto request = classify_request(engine.model(), options, line["text"].get<std::string>(),
                                  is_pair ? std::optional<std::string_view>(second) : std::nullopt);
  if (!request) throw std::runtime_error(request.error().message());
  if (line.contains("ids")) {
    EXPECT_EQ(request->tokens, line["ids"].get<std::vector<Token>>());
  }
  auto completions = engine.complete(std::move(*request));
  if (!completions) throw std::runtime_error(completions.error().message());
  return std::move((*completions)[0]);
}

// Notes name the parts of a file that are not read. A classifier reads all of these files.
TEST(Classify, NotesNameNoHeadThatIsRead) {
  for (const char* name : {"bert-three", "bert-tokens", "xlm-roberta-pairs", "distilbert-many",
                           "modernbert-number", "qwen2-score"})
    EXPECT_EQ(open(name)->model().info().notes, std::vector<std::string>()) << name;
}

constexpr const char* kOfTexts[] = {"bert-three", "xlm-roberta-pairs", "distilbert-many",
                                    "modernbert-number", "qwen2-score"};

TEST(Classify, LabelsOfTextsAndPairsAreThoseOfTransformers) {
  for (const char* name : kOfTexts) {
    SCOPED_TRACE(name);
    const std::unique_ptr<Engine> engine = open(name);
    for (const json& line : expected(name)) {
      const auto options =
          classify_options_for(engine->model(), {.max_tokens = line.value("limit", 0)});
      ASSERT_TRUE(options.ok()) << options.error().message();
      const Completion completion = classified(*engine, *options, line);
      const auto logits = line["logits"].get<std::vector<double>>();
      const auto scores = line["scores"].get<std::vector<double>>();
      const std::vector<float> found = label_logits(completion, *options);
      ASSERT_EQ(found.size(), logits.size());
      double most = 0;
      for (const double logit : logits) most = std::max(most, std::abs(logit));
      for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(found[i], logits[i], 1e-5 * most);
      const std::vector<LabelScore> labels = labels_of(completion, *options);
      const auto best = std::ranges::max_element(scores) - scores.begin();
      EXPECT_EQ(labels[0].label, line["labels"][static_cast<size_t>(best)]);
      EXPECT_NEAR(labels[0].score, scores[static_cast<size_t>(best)], 1e-5 * std::max(1.0, most));
    }
  }
}

TEST(Classify, EntitiesAreThoseOfThePipeline) {
  constexpr std::pair<const char*, Aggregation> kWays[] = {{"none", Aggregation::kNone},
                                                           {"simple", Aggregation::kSimple},
                                                           {"first", Aggregation::kFirst},
                                                           {"average", Aggregation::kAverage},
                                                           {"max", Aggregation::kMax}};
  for (const char* name : {"bert-tokens", "roberta-tokens"}) {
    const std::unique_ptr<Engine> engine = open(name);
    for (const json& line : expected(name))
      for (const auto& [way, aggregation] : kWays) {
        const auto options = classify_options_for(engine->model(), {.aggregation = aggregation});
        ASSERT_TRUE(options.ok()) << options.error().message();
        const std::string text = line["text"];
        SCOPED_TRACE(std::string(name) + " " + way + ": " + text);
        const std::vector<LabelledSpan> spans =
            label_spans(classified(*engine, *options, line), *options, engine->model(), text);
        const json& entities = line["entities"][way];
        ASSERT_EQ(spans.size(), entities.size());
        const auto n_characters = [&](size_t end) {
          return std::count_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end),
                               [](char c) { return (c & 0xC0) != 0x80; });
        };
        for (size_t i = 0; i < spans.size(); ++i) {
          EXPECT_EQ(spans[i].label, entities[i]["label"]);
          EXPECT_NEAR(spans[i].score, entities[i]["score"].get<double>(), 1e-5);
          EXPECT_EQ(n_characters(spans[i].begin), entities[i]["start"].get<int64_t>());
          EXPECT_EQ(n_characters(spans[i].end), entities[i]["end"].get<int64_t>());
        }
      }
  }
}

TEST(Classify, AnyCompanyGivesTheSameBits) {
  for (const char* name : kOfTexts) {
    const std::unique_ptr<Engine> engine = open(name);
    std::vector<std::string> texts;
    for (const json& line : expected(name)) texts.push_back(line["text"]);
    const auto together = classify(*engine, texts);
    ASSERT_TRUE(together.ok()) << together.error().message();
    for (size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ((*classify(*open(name), {texts[i]}))[0], (*together)[i]) << name;
  }
}

TEST(Classify, ACrossEncoderRanks) {
  const std::unique_ptr<Engine> engine = open("xlm-roberta-pairs");
  for (const json& line : expected("xlm-roberta-pairs")) {
    if (!line.contains("text_pair")) continue;
    const auto scores = rerank(*engine, line["text"], {line["text_pair"].get<std::string>()});
    ASSERT_TRUE(scores.ok()) << scores.error().message();
    EXPECT_NEAR((*scores)[0], line["scores"][0].get<double>(), 1e-5);
  }
  const auto instructed = rerank(*engine, "a", {"b"}, {.instruction = "Find it"});
  ASSERT_FALSE(instructed.ok());
  EXPECT_EQ(instructed.error().place.field, "instruction");
  const auto many = rerank(*open("bert-three"), "a", {"b"});
  ASSERT_FALSE(many.ok());
  EXPECT_NE(many.error().message().find("3 labels of texts, expected one"), std::string::npos)
      << many.error().message();
}

TEST(Classify, OptionsChooseScoresAndLabels) {
  const std::unique_ptr<Engine> engine = open("bert-three");
  const auto softmax = *classify(*engine, {"a page"});
  const auto sigmoid = *classify(*engine, {"a page"}, {.scores = LabelScores::kSigmoid, .top = 2});
  const auto logits = *classify(*engine, {"a page"}, {.scores = LabelScores::kLogits});
  ASSERT_EQ(softmax[0].size(), 3u);
  ASSERT_EQ(sigmoid[0].size(), 2u);
  double sum = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(softmax[0][i].label, logits[0][i].label);
    sum += softmax[0][i].score;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_DOUBLE_EQ(sigmoid[0][0].score, 1 / (1 + std::exp(-logits[0][0].score)));
  EXPECT_NEAR(softmax[0][0].score / softmax[0][2].score,
              std::exp(logits[0][0].score - logits[0][2].score), 1e-9);
}

TEST(Classify, OtherModelsAndPairsOfTokensAreRefused) {
  const std::unique_ptr<Engine> tokens = open("bert-tokens");
  const auto options = classify_options_for(tokens->model(), {});
  ASSERT_TRUE(options.ok()) << options.error().message();
  EXPECT_TRUE(labels_tokens(*options));
  const auto pair = classify_request(tokens->model(), *options, "a", "b");
  ASSERT_FALSE(pair.ok());
  EXPECT_EQ(pair.error().code, ErrorCode::kUnsupported);
  const std::string plain = PANDO_SOURCE_DIR "/tests/task/data/qwen3-embedding";
  const auto model = Model::load(plain, {.threads = 1});
  ASSERT_TRUE(model.ok()) << model.error().message();
  const auto none = classify_options_for(**model, {});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("no classifier"), std::string::npos);
}

// B-, I- and other labels of the same tag join as in the library.
TEST(LabelSpans, NeighboursOfOneTagAreJoined) {
  const std::vector<std::string> labels = {"O", "B-PER", "I-PER", "odd"};
  std::vector<ScoredToken> tokens;
  for (const size_t label : {1, 2, 1, 3, 3, 0, 2}) {
    std::vector<float> logits(4);
    logits[label] = 2;
    tokens.push_back({logits, tokens.size(), tokens.size() + 1});
  }
  const std::vector<LabelledSpan> spans = grouped_labels(tokens, labels, Aggregation::kSimple);
  std::vector<std::tuple<std::string, size_t, size_t>> found;
  for (const LabelledSpan& span : spans) found.emplace_back(span.label, span.begin, span.end);
  EXPECT_EQ(found, (std::vector<std::tuple<std::string, size_t, size_t>>{
                       {"PER", 0, 2}, {"PER", 2, 3}, {"odd", 3, 5}, {"PER", 6, 7}}));
  const double p = std::exp(2.0) / (std::exp(2.0) + 3);
  EXPECT_NEAR(spans[0].score, p, 1e-6);
}

}  // namespace
}  // namespace pando::testing
