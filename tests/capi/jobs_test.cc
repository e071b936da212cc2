// Jobs of pando.h give what the C++ library gives, bit by bit, and end as they are told to.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "capi/handles.h"
#include "engine/tiny_engine.h"
#include "pando/batch.h"
#include "pando/embed.h"
#include "pando/rerank.h"
#include "pando/score.h"

namespace pando::testing {
namespace {

using nlohmann::json;

constexpr double kWait = 60;  // seconds

class CJobs : public ::testing::Test {
 protected:
  // Results until the end; `last` gets the status that ended them.
  std::vector<std::string> all(pando_job* job, pando_status& last) {
    std::vector<std::string> results;
    const char* text = nullptr;
    size_t size = 0;
    while ((last = pando_job_next(job, kWait, &text, &size)) == PANDO_OK)
      results.emplace_back(text, size);
    return results;
  }
  json only(const char* task, const json& body) {
    pando_job* job = nullptr;
    EXPECT_EQ(pando_job_open(&engine_, task, body.dump().c_str(), &job), PANDO_OK)
        << pando_last_error();
    pando_status last = PANDO_OK;
    const std::vector<std::string> results = all(job, last);
    EXPECT_EQ(last, PANDO_END) << pando_last_error();
    EXPECT_EQ(results.size(), 1u);
    pando_job_free(job);
    return results.empty() ? json() : json::parse(results[0]);
  }
  pando_job* batch(const char* options = nullptr) {
    pando_job* job = nullptr;
    EXPECT_EQ(pando_job_open(&engine_, "batch", options, &job), PANDO_OK) << pando_last_error();
    return job;
  }
  // The error of opening, or of the first result.
  pando_status open_and_wait(const char* task, const char* options) {
    pando_job* job = nullptr;
    const char* text = nullptr;
    pando_status status = pando_job_open(&engine_, task, options, &job);
    if (status == PANDO_OK) status = pando_job_next(job, kWait, &text, nullptr);
    pando_job_free(job);
    return status;
  }
  void refuse(const char* task, const char* options, const char* message, const char* place) {
    EXPECT_EQ(open_and_wait(task, options), PANDO_INVALID_ARGUMENT);
    EXPECT_STREQ(pando_last_error(), message);
    EXPECT_STREQ(pando_last_error_place(), place);
  }

  pando_engine engine_{open_tiny()};
};

TEST_F(CJobs, VectorsAreThoseOfTheLibrary) {
  const std::vector<std::string> texts = {"One text.", "Another.", "One text."};
  for (const int dimensions : {0, 5}) {
    const auto expected = embed(*open_tiny(), texts, {.dimensions = dimensions});
    ASSERT_TRUE(expected.ok());
    json body = {{"input", texts}};
    if (dimensions > 0) body["dimensions"] = dimensions;
    const json answer = only("embeddings", body);
    ASSERT_EQ(answer["data"].size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const auto found = answer["data"][i]["embedding"].get<std::vector<float>>();
      ASSERT_EQ(found.size(), (*expected)[i].size());
      EXPECT_EQ(std::memcmp(found.data(), (*expected)[i].data(), found.size() * sizeof(float)), 0);
    }
    EXPECT_EQ(answer["usage"]["prompt_tokens"], 9 + 8 + 9);
  }
}

TEST_F(CJobs, RankingsAreThoseOfTheLibrary) {
  const std::vector<std::string> documents = {"On rivers.", "On hats.", "On both."};
  const auto expected = rerank(*open_tiny(), "Rivers?", documents);
  ASSERT_TRUE(expected.ok());
  const std::vector<size_t> order = ranking(*expected);
  const json answer = only("rerank", {{"query", "Rivers?"}, {"documents", documents}});
  ASSERT_EQ(answer["results"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answer["results"][i]["index"], order[i]);
    EXPECT_EQ(answer["results"][i]["relevance_score"].get<double>(), (*expected)[order[i]]);
  }
}

TEST_F(CJobs, ScoresAreThoseOfTheLibrary) {
  const std::vector<std::string> texts = {"x", "yy", "zzz"};
  const auto expected = score(*open_tiny(), "A prefix:", texts);
  ASSERT_TRUE(expected.ok());
  const json answer = only("score", {{"prompt", "A prefix:"}, {"continuations", texts}});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answer["data"][i]["score"].get<double>(), (*expected)[i].logprob);
    EXPECT_EQ(answer["data"][i]["tokens"], (*expected)[i].n_tokens);
  }
}

TEST_F(CJobs, PerplexityIsThatOfTheLibrary) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "Some text of line " + std::to_string(i) + ". ";
  const auto expected = perplexity(*open_tiny(), text, {.window = 100, .stride = 30});
  ASSERT_TRUE(expected.ok());
  const json answer = only("perplexity", {{"text", text}, {"window", 100}, {"stride", 30}});
  EXPECT_EQ(answer["log_likelihood"].get<double>(), expected->log_likelihood);
  EXPECT_EQ(answer["perplexity"].get<double>(), expected->perplexity());
  EXPECT_EQ(answer["bits_per_byte"].get<double>(), expected->bits_per_byte());
  EXPECT_EQ(answer["tokens"], expected->n_tokens);
  EXPECT_EQ(answer["bytes"], text.size());
  EXPECT_EQ(answer["windows"], expected->n_windows);
}

constexpr const char* kLines =
    "{\"id\": \"a\", \"context\": \"A text.\", \"questions\": [\"One?\", \"Two?\"]}\n"
    "{\"id\": 7, \"prompt\": \"P\", \"logprobs\": true, \"n\": 2, \"temperature\": 1}\n"
    "{\"id\": \"c\", \"context\": \"A text.\", \"question\": \"Or?\", \"choices\": [\"x\", "
    "\"yes\"]}\n";
constexpr const char* kLineOptions =
    R"({"ordered": true, "max_tokens": 5, "ignore_eos": true, "logits_hash": true})";

std::vector<std::string> lines_of_library(BatchOptions options) {
  options.ordered = true;
  options.defaults.sampling.max_tokens = 5;
  options.defaults.sampling.ignore_eos = true;
  options.defaults.logits_hash = true;
  std::istringstream input(kLines);
  std::ostringstream output;
  EXPECT_TRUE(run_batch(*open_tiny(), input, 0, output, options).ok());
  std::vector<std::string> lines;
  std::istringstream written(output.str());
  for (std::string line; std::getline(written, line);) lines.push_back(line);
  return lines;
}

TEST_F(CJobs, LinesAreThoseOfTheBatchRunner) {
  std::vector<std::string> found;
  const auto keep = [](void* to, const char* text, size_t size) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(text, size);
    return 0;
  };
  ASSERT_EQ(pando_run_batch(&engine_, kLines, std::strlen(kLines), kLineOptions, keep, &found),
            PANDO_OK)
      << pando_last_error();
  ASSERT_EQ(found.size(), 6u);
  const json summary = json::parse(found.back())["summary"];
  EXPECT_EQ(summary["lines"], 3);
  EXPECT_EQ(summary["answers"], 5);
  EXPECT_EQ(summary["failed"], 0);
  found.pop_back();
  EXPECT_EQ(found, lines_of_library({}));
}

TEST_F(CJobs, ResultsComeBeforeTheInputEnds) {
  pando_job* job = batch(R"({"max_tokens": 2})");
  const char* text = nullptr;
  for (const char* id : {"1", "2"}) {
    const std::string line = json{{"id", id}, {"prompt", "P"}}.dump();  // without a line break
    ASSERT_EQ(pando_job_put(job, line.data(), line.size()), PANDO_OK);
    ASSERT_EQ(pando_job_next(job, kWait, &text, nullptr), PANDO_OK) << pando_last_error();
    EXPECT_EQ(json::parse(text)["id"], id);
  }
  EXPECT_EQ(pando_job_next(job, 0, &text, nullptr), PANDO_TIMEOUT);
  EXPECT_EQ(pando_job_put(job, nullptr, 0), PANDO_OK);
  EXPECT_EQ(pando_job_put(job, "{}", 2), PANDO_INVALID_ARGUMENT);
  EXPECT_STREQ(pando_last_error(), "the input of the batch has ended, expected no more lines");
  pando_status last = PANDO_OK;
  EXPECT_EQ(all(job, last).size(), 1u);
  EXPECT_EQ(last, PANDO_END);
  EXPECT_EQ(pando_job_next(job, kWait, &text, nullptr), PANDO_END);
  pando_job_free(job);
}

TEST_F(CJobs, FailuresAreToldByLineCodeAndPlace) {
  const std::string lines =
      "{\"id\": 1, \"prompt\": \"P\", \"top_p\": \"much\"}\n" +
      json{{"id", 2}, {"context", std::string(1000, 'x')}, {"questions", {"One?"}}}.dump();
  pando_job* job = batch();
  ASSERT_EQ(pando_job_put(job, lines.data(), lines.size()), PANDO_OK);
  ASSERT_EQ(pando_job_put(job, nullptr, 0), PANDO_OK);
  pando_status last = PANDO_OK;
  const std::vector<std::string> results = all(job, last);
  pando_job_free(job);
  ASSERT_EQ(results.size(), 3u);
  const json bad = json::parse(results[0])["failure"], late = json::parse(results[1])["failure"];
  EXPECT_EQ(bad["line"], 1);
  EXPECT_EQ(bad["code"], "invalid_argument");
  EXPECT_EQ(bad["place"]["field"], "top_p");
  EXPECT_FALSE(bad.contains("question_id"));
  EXPECT_EQ(late["line"], 2);
  EXPECT_EQ(late["question_id"], "0");
  EXPECT_EQ(late["code"], "too_long");
  EXPECT_EQ(json::parse(results[2])["summary"]["failed"], 1);
}

TEST_F(CJobs, OtherTasksAreBatchesToo) {
  pando_job* job = batch(R"({"task": "embed", "dimensions": 3})");
  const std::string line = R"({"id": "t", "text": "One text."})";
  ASSERT_EQ(pando_job_put(job, line.data(), line.size()), PANDO_OK);
  ASSERT_EQ(pando_job_put(job, nullptr, 0), PANDO_OK);
  pando_status last = PANDO_OK;
  const std::vector<std::string> results = all(job, last);
  pando_job_free(job);
  ASSERT_EQ(results.size(), 2u);
  const auto expected = embed(*open_tiny(), {"One text."}, {.dimensions = 3});
  EXPECT_EQ(json::parse(results[0])["embedding"].get<std::vector<float>>(), (*expected)[0]);
}

TEST_F(CJobs, FullInputTakesNothing) {
  pando_job* job = batch(R"({"max_tokens": 1})");
  const std::string line =
      json{{"prompt", "P"}, {"metadata", {{"note", std::string(1 << 19, 'x')}}}}.dump();
  pando_status status = PANDO_OK;
  int n_taken = 0;
  for (; n_taken < 64 && (status = pando_job_put(job, line.data(), line.size())) == PANDO_OK;)
    ++n_taken;
  EXPECT_EQ(status, PANDO_TIMEOUT);
  EXPECT_GE(n_taken, 2);
  pando_job_free(job);  // with all of that open
}

TEST_F(CJobs, CallbacksEndTheRun) {
  int n_calls = 0;
  const auto stop = [](void* n, const char*, size_t) -> int {
    return ++*static_cast<int*>(n) == 2;
  };
  const std::string lines(kLines);
  EXPECT_EQ(pando_run_batch(&engine_, lines.data(), lines.size(), kLineOptions, stop, &n_calls),
            PANDO_CANCELLED);
  EXPECT_EQ(n_calls, 2);
}

TEST_F(CJobs, CancelEndsWhoeverWaits) {
  pando_job* job = batch(R"({"max_tokens": 500, "ignore_eos": true})");
  const std::string line = R"({"prompt": "P", "n": 200, "temperature": 1})";
  ASSERT_EQ(pando_job_put(job, line.data(), line.size()), PANDO_OK);
  std::thread other([job] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    pando_job_cancel(job);
  });
  const char* text = nullptr;
  pando_status last = PANDO_OK;
  all(job, last);  // its input is open: only the cancel ends it
  EXPECT_EQ(last, PANDO_CANCELLED);
  other.join();
  EXPECT_EQ(pando_job_next(job, kWait, &text, nullptr), PANDO_CANCELLED);
  pando_job_free(job);

  std::string long_text;
  for (int i = 0; i < 20000; ++i) long_text += "word ";
  const std::string body = json{{"text", long_text}}.dump();
  ASSERT_EQ(pando_job_open(&engine_, "perplexity", body.c_str(), &job), PANDO_OK);
  pando_job_cancel(job);
  EXPECT_EQ(pando_job_next(job, kWait, &text, nullptr), PANDO_CANCELLED);
  pando_job_free(job);
}

TEST_F(CJobs, CancelEndsThePreparationOfTexts) {
  const std::string text(200, 'x');
  const std::string body = json{{"input", std::vector<std::string>(16000, text)}}.dump();
  pando_job* job = nullptr;
  const char* result = nullptr;
  Engine::Hold held = engine_.engine->hold();  // no vector is there before the cancel
  ASSERT_EQ(pando_job_open(&engine_, "embeddings", body.c_str(), &job), PANDO_OK);
  EXPECT_EQ(pando_job_next(job, 0, &result, nullptr), PANDO_TIMEOUT);
  pando_job_cancel(job);
  held.reset();
  EXPECT_EQ(pando_job_next(job, kWait, &result, nullptr), PANDO_CANCELLED);
  pando_job_free(job);
}

TEST_F(CJobs, EnginesMayBeFreedBefore) {
  auto* engine = new pando_engine{open_tiny()};
  pando_job* job = nullptr;
  ASSERT_EQ(pando_job_open(engine, "embeddings", R"({"input": "A"})", &job), PANDO_OK);
  pando_engine_free(engine);
  pando_status last = PANDO_OK;
  EXPECT_EQ(all(job, last).size(), 1u);
  EXPECT_EQ(last, PANDO_END);
  pando_job_free(job);
}

TEST_F(CJobs, WrongOptionsAreNamed) {
  refuse(
      "embedding", "{}",
      "the task 'embedding' is unknown, expected embeddings, rerank, classify, score, perplexity "
      "or batch",
      R"({"field":"task"})");
  refuse("embeddings", R"({"input": "A", "dimensions": 0})",
         "field 'dimensions' is 0, expected 1 to 64", R"({"field":"dimensions"})");
  refuse("perplexity", R"({"text": "A text.", "window": 1000})",
         "window is 1000 tokens, expected at least 2 tokens and at most the context of 640",
         R"({"option":"window"})");
  refuse("perplexity", "{}", "field 'text' is absent, expected a string", R"({"field":"text"})");
  refuse("batch", R"({"id": "a"})", "field 'id' belongs to a line, expected options of all lines",
         R"({"field":"id"})");
  refuse("batch", R"({"task": "embed", "too_long": "split"})",
         "field 'too_long' is split, which divides contexts of questions, expected error, skip or "
         "truncate_middle",
         R"({"field":"too_long"})");
  pando_job* job = nullptr;
  EXPECT_EQ(open_and_wait("rerank", R"({"query": "Q", "documents": ["a", 5]})"),
            PANDO_INVALID_ARGUMENT);
  EXPECT_STREQ(pando_last_error_place(), R"({"field":"documents[1]"})");
  EXPECT_EQ(pando_job_open(&engine_, "batch", R"({"with": ["answer"]})", &job),
            PANDO_INVALID_ARGUMENT);
  EXPECT_EQ(json::parse(pando_last_error_place())["field"], "with");
  EXPECT_EQ(pando_job_open(&engine_, "batch", R"({"task": "embed", "max_tokens": 3})", &job),
            PANDO_INVALID_ARGUMENT);
  EXPECT_EQ(json::parse(pando_last_error_place())["field"], "max_tokens");
  EXPECT_EQ(pando_job_open(nullptr, "batch", "{}", &job), PANDO_INVALID_ARGUMENT);
  EXPECT_EQ(pando_job_put(nullptr, "{}", 2), PANDO_INVALID_ARGUMENT);
  pando_job_cancel(nullptr);
  pando_job_free(nullptr);
  EXPECT_EQ(pando_job_descriptor(nullptr), -1);
}

// Waits for the descriptor alone, and takes what there is without waiting.
template <class Take>
pando_status drained(int descriptor, const Take& take) {
  for (;;) {
    pollfd watched{descriptor, POLLIN, 0};
    if (poll(&watched, 1, 60000) != 1) return PANDO_INTERNAL;
    pando_status status = PANDO_OK;
    while ((status = take()) == PANDO_OK) {
    }
    if (status != PANDO_TIMEOUT) return status;
  }
}

TEST_F(CJobs, DescriptorsTellOfNews) {
  const char* questions[] = {"One?", "Two?"};
  pando_stream* stream = nullptr;
  ASSERT_EQ(pando_ask(&engine_, "A text.", questions, 2, R"({"ignore_eos": true})", &stream),
            PANDO_OK);
  pando_event event;
  int n_complete = 0;
  const pando_status end = drained(pando_stream_descriptor(stream), [&] {
    const pando_status status = pando_next(stream, 0, &event);
    if (status == PANDO_OK && event.completion != nullptr) ++n_complete;
    return status;
  });
  EXPECT_EQ(end, PANDO_END);
  EXPECT_EQ(n_complete, 2);
  pando_stream_free(stream);

  pando_job* job = batch(kLineOptions);
  ASSERT_EQ(pando_job_put(job, kLines, std::strlen(kLines)), PANDO_OK);
  ASSERT_EQ(pando_job_put(job, nullptr, 0), PANDO_OK);
  const char* text = nullptr;
  int n_results = 0;
  EXPECT_EQ(drained(pando_job_descriptor(job),
                    [&] {
                      const pando_status status = pando_job_next(job, 0, &text, nullptr);
                      n_results += status == PANDO_OK;
                      return status;
                    }),
            PANDO_END);
  EXPECT_EQ(n_results, 6);
  pando_job_free(job);
}

// Runs in a child, which has none of the engine's threads. 0: all is as it should be.
int in_child(pando_engine* engine, pando_stream* stream, pando_job* job) {
  pando_event event;
  const char* text = nullptr;
  pando_job* other = nullptr;
  if (pando_next(stream, 0, &event) != PANDO_INVALID_ARGUMENT) return 1;
  if (pando_job_next(job, 0, &text, nullptr) != PANDO_INVALID_ARGUMENT) return 2;
  if (pando_job_open(engine, "batch", "{}", &other) != PANDO_INVALID_ARGUMENT) return 3;
  if (std::strstr(pando_last_error(), "open one after the fork") == nullptr) return 4;
  if (std::strcmp(pando_last_error_place(), R"({"field":"engine"})") != 0) return 5;
  if (pando_stream_descriptor(stream) != -1 || pando_job_descriptor(job) != -1) return 6;
  pando_cancel(stream);
  pando_job_cancel(job);
  pando_stream_free(stream);
  pando_job_free(job);
  pando_engine_free(engine);
  return 0;
}

TEST_F(CJobs, ForksAreRefused) {
  auto* engine = new pando_engine{open_tiny()};
  pando_stream* stream = nullptr;
  pando_job* job = nullptr;
  ASSERT_EQ(pando_prompt(engine, "P", R"({"max_tokens": 3, "ignore_eos": true})", &stream),
            PANDO_OK);
  ASSERT_EQ(pando_job_open(engine, "batch", "{}", &job), PANDO_OK);
  const pid_t child = fork();
  if (child == 0) _exit(in_child(engine, stream, job));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(pando_wait(stream, kWait), PANDO_OK);  // the parent's go on
  pando_stream_free(stream);
  pando_job_free(job);
  pando_engine_free(engine);
}

}  // namespace
}  // namespace pando::testing
