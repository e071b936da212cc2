// If a device finds the largest logit, rows that only need its token read no logits.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/open_loop.h"
#include "engine/exactness_forms.h"
#include "engine/exactness_models.h"
#include "engine/in_flight_cases.h"

namespace pando::testing {
namespace {

// Counts of rows that an executor returned.
struct RowsRead {
  bool finds_largest = true;  // false: it gives logits alone
  size_t n_logits = 0, n_largest = 0;
};

class ReadExecutor final : public StageExecutor {
 public:
  ReadExecutor(std::unique_ptr<StageExecutor> inner, RowsRead& read)
      : inner_(std::move(inner)), read_(read) {}

  const ExecutorFacts& facts() const override { return inner_->facts(); }
  void submit(StepPlan plan) override { inner_->submit(std::move(plan)); }
  void finish() override { inner_->finish(); }
  const float* hidden(uint32_t first, uint32_t n) override { return inner_->hidden(first, n); }
  void logits(uint32_t first, uint32_t n, float* out) override {
    read_.n_logits += n;
    inner_->logits(first, n, out);
  }
  bool logits_or_largest(uint32_t first, const std::vector<bool>& is_wanted, float* out,
                         Token* largest) override {
    if (!read_.finds_largest) return Executor::logits_or_largest(first, is_wanted, out, largest);
    const auto n_wanted = static_cast<size_t>(std::ranges::count(is_wanted, true));
    read_.n_logits += n_wanted;
    read_.n_largest += is_wanted.size() - n_wanted;
    std::fill_n(out, is_wanted.size() * facts().vocab, std::numeric_limits<float>::quiet_NaN());
    return inner_->logits_or_largest(first, is_wanted, out, largest);
  }
  const float* compute(const StepPlan& plan, RowRange own, const float* before) override {
    return inner_->compute(plan, own, before);
  }
  void logits_of(const float* hidden, uint32_t n, float* out) override {
    inner_->logits_of(hidden, n, out);
  }
  bool prepare(size_t n, size_t n_windows) override { return inner_->prepare(n, n_windows); }
  size_t ready_bytes(size_t n, size_t n_windows) const override {
    return inner_->ready_bytes(n, n_windows);
  }
  size_t kv_bytes(size_t n_used) const override { return inner_->kv_bytes(n_used); }
  PhaseTimes times() const override { return inner_->times(); }

 private:
  std::unique_ptr<StageExecutor> inner_;
  RowsRead& read_;
};

// A model whose executors count these rows.
class ReadModel final : public DeviceModel {
 public:
  ReadModel(const DeviceModel& inner, RowsRead& read) : inner_(inner), read_(read) {}

  const Device& device() const override { return inner_.device(); }
  const model::ModelSpec& spec() const override { return inner_.spec(); }
  const ModelShare& share() const override { return inner_.share(); }
  std::string weight_type() const override { return inner_.weight_type(); }
  size_t weight_bytes() const override { return inner_.weight_bytes(); }
  std::unique_ptr<StageExecutor> open(const ExecutorOptions& options, const KvRoom& room,
                                      ThreadPool& pool) const override {
    return std::make_unique<ReadExecutor>(inner_.open(options, room, pool), read_);
  }

 private:
  const DeviceModel& inner_;
  RowsRead& read_;
};

constexpr int kAnswerLen = 6, kPromptLen = 9;  // tokens

Request greedy_request(int seed = 0) {
  Request request;
  for (int i = 0; i < kPromptLen; ++i) request.tokens.push_back((seed + i * 7) % kCaseVocab);
  request.sampling.max_tokens = kAnswerLen;
  request.sampling.ignore_eos = true;
  return request;
}

Request sampled_request(SamplingOptions options) {
  Request request = greedy_request();
  options.max_tokens = kAnswerLen;
  options.ignore_eos = true;
  options.seed = 3;
  request.sampling = std::move(options);
  return request;
}

struct RequestKind {
  const char* name;
  Request request;
  size_t n_logits, n_largest;  // rows of them that it needs if it is alone
};

std::vector<RequestKind> request_kinds() {
  std::vector<RequestKind> kinds = {
      {"greedy", greedy_request(), 0, kAnswerLen},
      {"another prompt", greedy_request(1), 0, kAnswerLen},
      {"the likeliest of one", sampled_request({.temperature = 1, .top_k = 1}), 0, kAnswerLen},
      {"min_tokens", sampled_request({.min_tokens = 4}), 4, kAnswerLen - 4},
      {"temperature", sampled_request({.temperature = 1}), kAnswerLen, 0},
      {"logit_bias", sampled_request({.logit_bias = {{5, 9.0}}}), kAnswerLen, 0},
      {"repetition", sampled_request({.repetition_penalty = 2}), kAnswerLen, 0},
      {"presence", sampled_request({.presence_penalty = 2}), kAnswerLen, 0},
      {"frequency", sampled_request({.frequency_penalty = 2}), kAnswerLen, 0},
      {"logprobs", sampled_request({.logprobs = true, .top_logprobs = 2}), kAnswerLen, 0}};
  kinds.push_back({"hash", greedy_request(), kAnswerLen, 0});
  kinds.back().request.logits_hash = true;
  kinds.push_back({"prompt_logprobs", greedy_request(), kPromptLen - 2, kAnswerLen});
  kinds.back().request.prompt_logprobs_from = 2;
  // Each letter is one token, and the first of them forces the others.
  kinds.push_back({"form", greedy_request(), 1, 2});
  kinds.back().request.sampling.form =
      TextForm{.kind = TextForm::Kind::kChoices, .choices = {"cut", "nut"}};
  return kinds;
}

std::vector<HeardInFlight> answers_on(const DeviceModel& weights,
                                      const std::vector<Request>& requests) {
  LoopOptions options = tiny_loop_options();
  options.engine.context = 100;
  const CaseTokenizer tokenizer;
  grammar::FormCache forms(tokenizer);
  const std::unique_ptr<EngineLoop> loop =
      std::move(open_loop(weights, options, &tokenizer, &forms).value());
  std::vector<HeardInFlight> heard(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const Status status = loop->submit(i + 1, requests[i], listener_of(heard[i]));
    EXPECT_TRUE(status.ok()) << status.error().message();
  }
  while (loop->step()) loop->deliver_events();
  loop->deliver_events();
  return heard;
}

using TokenValues = std::vector<std::pair<Token, float>>;

TokenValues token_values(const std::vector<TokenLogprob>& logprobs) {
  TokenValues values;
  for (const TokenLogprob& logprob : logprobs) {
    values.emplace_back(logprob.token, logprob.logprob);
    values.insert(values.end(), logprob.top.begin(), logprob.top.end());
  }
  return values;
}

void expect_same_answer(const HeardInFlight& found, const HeardInFlight& expected) {
  ASSERT_FALSE(found.error) << found.error->message();
  ASSERT_EQ(found.completions.size(), 1u);
  const Completion &a = found.completions.at(0), &b = expected.completions.at(0);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.logits_hash, b.logits_hash);
  EXPECT_EQ(token_values(a.logprobs), token_values(b.logprobs));
  EXPECT_EQ(token_values(a.prompt_logprobs), token_values(b.prompt_logprobs));
}

class GreedyRows : public ::testing::Test {
 protected:
  // Compares answers with those of the same device if it gives logits alone, and with the CPU's.
  // Returns the rows that came back, and those of a device that gives logits alone.
  std::pair<RowsRead, RowsRead> read_of(const std::vector<Request>& requests) {
    const CaseModel model{.shape = "tiny-llama"};
    RowsRead read, all{.finds_largest = false};
    const auto found = answers_on(ReadModel(emulated_.weights(model), read), requests);
    const auto without = answers_on(ReadModel(emulated_.weights(model), all), requests);
    const auto on_cpu = answers_on(cpu_.weights(model), requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      expect_same_answer(found[i], without[i]);
      expect_same_answer(found[i], on_cpu[i]);
    }
    return {read, all};
  }

 private:
  CaseModels cpu_{CaseWeights::kBF16}, emulated_{CaseWeights::kBF16, CaseDevice::kEmulated};
};

TEST_F(GreedyRows, AloneReadLogitsOnlyIfOptionsNeedThem) {
  for (const RequestKind& kind : request_kinds()) {
    SCOPED_TRACE(kind.name);
    const auto [read, all] = read_of({kind.request});
    EXPECT_EQ(read.n_logits, kind.n_logits);
    EXPECT_EQ(read.n_largest, kind.n_largest);
    EXPECT_EQ(all.n_logits, kind.n_logits + kind.n_largest);
    EXPECT_EQ(all.n_largest, 0u);
  }
}

// Equal prompts share rows: a row has logits if one of its answers needs them.
TEST_F(GreedyRows, TogetherTheyReadFewerLogits) {
  std::vector<Request> requests;
  for (const RequestKind& kind : request_kinds()) requests.push_back(kind.request);
  const auto [read, all] = read_of(requests);
  EXPECT_EQ(read.n_logits + read.n_largest, all.n_logits);
  EXPECT_GE(read.n_largest, size_t{kAnswerLen});  // those of the other prompt
  EXPECT_LT(read.n_logits, all.n_logits);
}

}  // namespace
}  // namespace pando::testing
