// A document that many prompts begin with is encoded once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/model_access.h"
#include "ask/parsed_line.h"
#include "batch/engine_requests.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

constexpr size_t kDocument = 100'000;  // bytes
constexpr int kQuestions = 37;

class SharedText : public ::testing::Test {
 protected:
  SharedText() {
    RandomModelOptions options;
    options.shape = "tiny-qwen3";
    options.out = folder_.path() / "model";
    options.max_positions = 1 << 18;
    if (Status status = make_random_model(options); !status)
      throw std::runtime_error(status.error().message());
    Result<std::shared_ptr<const Model>> loaded = Model::load(options.out);
    if (!loaded) throw std::runtime_error(loaded.error().message());
    model_ = std::move(*loaded);
    for (int i = 0; document_.size() < kDocument; ++i)
      document_ += fmt::format("Sentence {} is about river {}.\n", i, i * 7919 % 1000);
    for (int i = 0; i < kQuestions; ++i)
      questions_.push_back(fmt::format("What does sentence {} say, and why?", i * 31));
  }

  // Makes the requests of a line as a batch does. Returns the bytes that were encoded.
  size_t n_encoded(const std::string& line, const AnswerOptions& options = {}) const {
    const Result<std::unique_ptr<ask::Line>> parsed = parse_line(line, 1, options);
    EXPECT_TRUE(parsed.ok());
    EngineOptions engine;
    engine.context = 1 << 18;
    const Tokenizer& tokenizer = *tokenizer_of(*model_);
    const size_t before = tokenizer.n_bytes_encoded();
    for (const ask::Question& question : (*parsed)->questions) {
      const auto requests = engine_requests(*model_, engine, **parsed, question);
      EXPECT_TRUE(requests.ok()) << (requests.ok() ? "" : requests.error().message());
    }
    return tokenizer.n_bytes_encoded() - before;
  }

  std::string line() const {
    return nlohmann::json({{"context", document_}, {"questions", questions_}}).dump();
  }

  size_t n_question_bytes() const {
    size_t n = 0;
    for (const std::string& question : questions_) n += question.size();
    return n;
  }

  const TemporaryFolder folder_;
  std::shared_ptr<const Model> model_;
  std::string document_;
  std::vector<std::string> questions_;
};

TEST_F(SharedText, OfManyQuestionsIsEncodedOnce) {
  EXPECT_LE(n_encoded(line()), document_.size() * 11 / 10 + n_question_bytes());
  EXPECT_LE(n_encoded(line()), document_.size() / 10 + n_question_bytes());  // the line once more
}

TEST_F(SharedText, OfAConversationTemplateToo) {
  AnswerOptions options;
  options.chat = true;
  EXPECT_LE(n_encoded(line(), options), document_.size() * 11 / 10 + n_question_bytes());
}

TEST_F(SharedText, BehindTheQuestionIsNotShared) {
  AnswerOptions options;
  options.prompt_template = "{question}\n{context}";
  EXPECT_GT(n_encoded(line(), options), document_.size() * kQuestions);
}

}  // namespace
}  // namespace pando::testing
