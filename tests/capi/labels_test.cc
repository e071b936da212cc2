// Labelling jobs of pando.h give the C++ library's results, bit by bit.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "capi/handles.h"
#include "pando/classify.h"

namespace pando::testing {
namespace {

using nlohmann::json;

// Opens an engine with a classifier of tools/classifier_golden.py.
std::unique_ptr<Engine> open_classifier(const std::string& name) {
  const std::string folder = PANDO_SOURCE_DIR "/tests/task/data/classifiers/";
  const auto model = Model::load(folder + name, {.threads = 1}).value();
  auto engine = Engine::open(model, {.threads = 1, .kv_memory = size_t{64} << 20});
  return std::move(*engine);
}

// The first result of a job; null and a status for an error. A batch job gets `lines`.
json first_result(pando_engine& engine, const char* task, const json& options, pando_status& status,
                  const std::string& lines = "") {
  pando_job* job = nullptr;
  const char* text = nullptr;
  status = pando_job_open(&engine, task, options.dump().c_str(), &job);
  if (status == PANDO_OK && !lines.empty()) status = pando_job_put(job, lines.data(), lines.size());
  if (status == PANDO_OK && !lines.empty()) status = pando_job_put(job, nullptr, 0);
  if (status == PANDO_OK) status = pando_job_next(job, /*timeout_s=*/60, &text, nullptr);
  json result = status == PANDO_OK ? json::parse(text) : json();
  pando_job_free(job);
  return result;
}

TEST(CLabels, AreThoseOfTheLibrary) {
  const std::vector<std::string> texts = {"a page", "rows and plans"};
  const auto expected = classify(*open_classifier("bert-three"), texts);
  ASSERT_TRUE(expected.ok()) << expected.error().message();
  pando_engine engine{open_classifier("bert-three")};
  const json pair = {"a", "page"};
  pando_status status = PANDO_OK;
  const json answer =
      first_result(engine, "classify", {{"input", {texts[0], texts[1], pair}}}, status);
  ASSERT_EQ(status, PANDO_OK) << pando_last_error();
  const json& data = answer["data"];
  ASSERT_EQ(data.size(), 3u);
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(data[i]["labels"].size(), (*expected)[i].size());
    for (size_t k = 0; k < (*expected)[i].size(); ++k) {
      EXPECT_EQ(data[i]["labels"][k]["label"], (*expected)[i][k].label);
      EXPECT_EQ(data[i]["labels"][k]["score"].get<double>(), (*expected)[i][k].score);
    }
  }
  const json line = first_result(engine, "batch", {{"task", "classify"}, {"top", 1}}, status,
                                 R"({"text": "a", "text_pair": "page"})");
  ASSERT_EQ(status, PANDO_OK) << pando_last_error();
  EXPECT_EQ(line["labels"], json::array({data[2]["labels"][0]}));
}

TEST(CLabels, ClassifiersOfTokensGiveEntities) {
  pando_engine engine{open_classifier("bert-tokens")};
  pando_status status = PANDO_OK;
  const json body = {{"input", "Alice flew to New York"}, {"aggregation_strategy", "none"}};
  const json answer = first_result(engine, "classify", body, status);
  ASSERT_EQ(status, PANDO_OK) << pando_last_error();
  const json& entities = answer["data"][0]["entities"];
  ASSERT_FALSE(entities.empty());
  for (const json& one : entities) EXPECT_LT(one["start"].get<int>(), one["end"].get<int>());
}

TEST(CLabels, WrongOptionsAreNamed) {
  pando_engine engine{open_classifier("bert-tokens")};
  const auto refuse = [&](const char* task, const json& options, const char* field,
                          const char* message) {
    pando_status status = PANDO_OK;
    first_result(engine, task, options, status);
    EXPECT_EQ(status, PANDO_INVALID_ARGUMENT);
    EXPECT_NE(std::string(pando_last_error()).find(message), std::string::npos)
        << pando_last_error();
    EXPECT_EQ(json::parse(pando_last_error_place())["field"], field);
  };
  refuse("classify", {{"input", "a"}, {"aggregation_strategy", "most"}}, "aggregation_strategy",
         "'aggregation_strategy' is 'most', expected none, simple, first, average or max");
  refuse("batch", {{"task", "classify"}, {"scores", "relu"}}, "scores",
         "'scores' is 'relu', expected model, softmax, sigmoid or logits");
  refuse("batch", {{"task", "classify"}, {"top", 0}}, "top", "'top' is 0, expected 1 or more");
}

}  // namespace
}  // namespace pando::testing
