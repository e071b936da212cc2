// Requests that can never work are refused; the message says what was found and what was expected.
#include "engine/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "engine/tiny_engine.h"
#include "exec/cpu/kernel/isa.h"
#include "pando/stream.h"

namespace pando::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct BadRequest {
  std::function<void(Request&)> spoil;
  std::string message;
  ErrorCode code = ErrorCode::kInvalidArgument;
};

const std::vector<BadRequest>& bad_requests() {
  static const std::vector<BadRequest> all = {
      {[](Request& r) { r.prompt.clear(); }, "the prompt is empty, expected at least one token"},
      {[](Request& r) {
         r.tokens = {1, 257};
       },
       "token 257 is outside the model's vocabulary of 257"},
      {[](Request& r) { r.tokens = {-1}; }, "token -1 is outside the model's vocabulary of 257"},
      {[](Request& r) { r.prompt = std::string(640, 'x'); },
       "the prompt has 640 tokens and needs room for an answer; this model's maximum context "
       "length is 640 tokens",
       ErrorCode::kTooLong},
      {[](Request& r) { r.sampling.max_tokens = 0; },
       "max_tokens is 0, expected at least 1, or 0 where the prompt is scored"},
      {[](Request& r) { r.sampling.max_tokens = -3; },
       "max_tokens is -3, expected at least 1, or 0 where the prompt is scored"},
      {[](Request& r) { r.sampling.temperature = -0.5; },
       "temperature is -0.5, expected 0 or more"},
      {[](Request& r) { r.sampling.temperature = kNaN; }, "temperature is nan, expected 0 or more"},
      {[](Request& r) { r.sampling.temperature = kInfinity; },
       "temperature is inf, expected 0 or more"},
      {[](Request& r) { r.sampling.top_k = -1; }, "top_k is -1, expected 0 (off) or more"},
      {[](Request& r) { r.sampling.top_p = -0.5; }, "top_p is -0.5, expected 0 to 1"},
      {[](Request& r) { r.sampling.top_p = 1.5; }, "top_p is 1.5, expected 0 to 1"},
      {[](Request& r) { r.sampling.top_p = kNaN; }, "top_p is nan, expected 0 to 1"},
      {[](Request& r) { r.sampling.n = 0; }, "n is 0, expected 1 to 4096"},
      {[](Request& r) { r.sampling.n = -1; }, "n is -1, expected 1 to 4096"},
      {[](Request& r) { r.sampling.n = std::numeric_limits<int>::max(); },
       "n is 2147483647, expected 1 to 4096"},
      {[](Request& r) {
         r.sampling.max_tokens = -1;
         r.prompt_logprobs_from = 1;
       },
       "max_tokens is -1, expected at least 1, or 0 where the prompt is scored"},
      {[](Request& r) { r.prompt_logprobs_from = 0; },
       "prompt_logprobs_from is 0, expected 1 to 8 for a prompt of 8 tokens"},
      {[](Request& r) {
         r.prompt_logprobs_from = 8;
         r.sampling.max_tokens = 0;
       },
       "prompt_logprobs_from is 8, expected 1 to 7 for a prompt of 8 tokens"},
      {[](Request& r) {
         r.alternatives = {1, 2};
       },
       "alternatives are 2, which need max_tokens 0, prompt_logprobs_from and a prompt of at least "
       "2 tokens"},
      {[](Request& r) {
         r.prompt_logprobs_from = 7;
         r.alternatives = {1};
       },
       "alternatives are 1, which need max_tokens 0, prompt_logprobs_from and a prompt of at least "
       "2 tokens"},
      {[](Request& r) {
         r.tokens = {97};
         r.prompt_logprobs_from = 1;
         r.sampling.max_tokens = 0;
         r.alternatives = {98};
       },
       "alternatives are 1, which need max_tokens 0, prompt_logprobs_from and a prompt of at least "
       "2 tokens"},
      {[](Request& r) { r.alternatives = {257}; },
       "token 257 is outside the model's vocabulary of 257"},
      {[](Request& r) { r.sampling.top_logprobs = -1; },
       "top_logprobs is -1, expected 0 (none) or more"},
      {[](Request& r) { r.sampling.top_logprobs = 2; },
       "top_logprobs is 2, which needs logprobs or log-probabilities of the prompt"},
      {[](Request& r) { r.sampling.min_p = 1.5; }, "min_p is 1.5, expected 0 to 1"},
      {[](Request& r) { r.sampling.repetition_penalty = 0; },
       "repetition_penalty is 0, expected more than 0"},
      {[](Request& r) { r.sampling.presence_penalty = kNaN; },
       "presence_penalty is nan, expected a number"},
      {[](Request& r) { r.sampling.frequency_penalty = kInfinity; },
       "frequency_penalty is inf, expected a number"},
      {[](Request& r) {
         r.sampling.logit_bias = {{257, 1}};
       },
       "logit_bias has 1 for token 257, expected numbers for tokens below the vocabulary size 257"},
      {[](Request& r) {
         r.sampling.stop = {"fine", ""};
       },
       "a stop string is empty, expected at least one character"},
  };
  return all;
}

TEST(Options, BadRequestsAreRefusedAtOnce) {
  const std::unique_ptr<Engine> engine = open_tiny();
  for (const BadRequest& bad : bad_requests()) {
    Request request = tiny_request("a prompt");
    bad.spoil(request);
    const Result<RequestId> id =
        engine->submit(request, [](const Event&) { FAIL() << "no events"; });
    ASSERT_FALSE(id.ok()) << bad.message;
    EXPECT_EQ(id.error().message(), bad.message);
    EXPECT_EQ(id.error().code, bad.code);
    const auto completions = engine->complete(request);
    ASSERT_FALSE(completions.ok());
    EXPECT_EQ(completions.error().message(), bad.message);
  }
  EXPECT_TRUE(engine->complete(tiny_request("a prompt")).ok());
}

TEST(Options, APromptOfOneTokenHasNothingToScore) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Request request;
  request.tokens = {97};
  request.prompt_logprobs_from = 1;
  for (const int max_tokens : {0, 2, 0}) {  // the last time its row is cached
    request.sampling.max_tokens = max_tokens;
    request.sampling.ignore_eos = true;
    const auto completions = engine->complete(request);
    ASSERT_TRUE(completions.ok()) << completions.error().message();
    const Completion& completion = completions->at(0);
    EXPECT_EQ(completion.prompt_tokens, 1);
    EXPECT_TRUE(completion.prompt_logprobs.empty());
    EXPECT_EQ(completion.tokens.size(), static_cast<size_t>(max_tokens));
    EXPECT_EQ(completion.finish_reason, FinishReason::kLength);
  }
}

TEST(Options, TextThatIsNotUtf8IsRefused) {
  const auto completions = open_tiny()->complete(tiny_request("abc\xff"));
  ASSERT_FALSE(completions.ok());
  EXPECT_EQ(completions.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(completions.error().message().find('3'), std::string::npos)
      << completions.error().message();
}

TEST(Options, TheLargestPromptAndTheLeastValuesAreTaken) {
  Request request = tiny_request(std::string(639, 'x'), std::numeric_limits<int>::max());
  request.sampling.temperature = std::numeric_limits<double>::denorm_min();
  request.sampling.top_p = 0;
  request.sampling.top_k = std::numeric_limits<int>::max();
  const auto completions = open_tiny()->complete(request);
  ASSERT_TRUE(completions.ok()) << completions.error().message();
  EXPECT_EQ(completions->at(0).tokens.size(), 1u);
}

TEST(Options, ALongDefaultContextIsRefusedBeforeItsTableIsMade) {
  constexpr int kPositions = 1 << 30;
  EngineOptions options;
  const Status status = fill_in(options, kPositions);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported) << "it is the model's";
  EXPECT_EQ(status.error().message(), "context is 1073741824, expected at most 4194304");
  options.context = 4096;
  EXPECT_TRUE(fill_in(options, kPositions).ok());
}

TEST(Options, MemoryOfADevice) {
  constexpr size_t kGiB = size_t{1} << 30, kAll = size_t{1} << 50;  // no machine has it
  EngineOptions options;
  ASSERT_TRUE(fill_in(options, /*max_positions=*/100, DeviceMemory{kAll, kAll - kGiB}).ok());
  EXPECT_EQ(options.kv_memory, (kAll - kGiB) / 2);
  EngineOptions full;
  ASSERT_TRUE(fill_in(full, /*max_positions=*/100, DeviceMemory{kGiB, 0}).ok());
  EXPECT_EQ(full.kv_memory, size_t{64} << 20);
  const Status status = fill_in(options, /*max_positions=*/100, DeviceMemory{kGiB, kGiB});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(status.error().message().ends_with(
      "expected at most the 1073741824 bytes (1.0 GiB) that the device has"))
      << status.error().message();
}

TEST(Options, MoreMemoryThanTheMachineHas) {
  EngineOptions options;
  options.kv_memory = size_t{1} << 60;
  const Status status = fill_in(options, /*max_positions=*/100);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(status.error().message().starts_with(
      "kv_memory is 1152921504606846976 bytes (1073741824.0 GiB), expected at most the "))
      << status.error().message();
}

TEST(Options, BadEngineOptions) {
  struct BadOptions {
    std::function<void(EngineOptions&)> spoil;
    std::string message;
  };
  const BadOptions all[] = {
      {[](EngineOptions& o) { o.threads = -1; },
       "threads is -1, expected 0 (one per fast processor) to 1024"},
      {[](EngineOptions& o) { o.threads = 1025; },
       "threads is 1025, expected 0 (one per fast processor) to 1024"},
      {[](EngineOptions& o) { o.context = -1; },
       "context is -1, expected at most the model's 640 positions"},
      {[](EngineOptions& o) { o.context = 641; },
       "context is 641, expected at most the model's 640 positions"},
      {[](EngineOptions& o) { o.step_rows = 0; }, "step_rows is 0, expected at least 1"},
      {[](EngineOptions& o) { o.nice = -1; }, "nice is -1, expected 0 to 19"},
      {[](EngineOptions& o) { o.nice = 20; }, "nice is 20, expected 0 to 19"},
      {[](EngineOptions& o) { o.max_running = 0; }, "max_running is 0, expected at least 1"},
      {[](EngineOptions& o) { o.max_open = 0; }, "max_open is 0, expected at least 1"},
      {[](EngineOptions& o) { o.isa = "mmx"; },
#if defined(__aarch64__)
       "instruction set 'mmx' is not available here: expected portable, neon, dotprod or i8mm, as "
       "far as this processor has them and PANDO_ISA allows"},
#else
       "instruction set 'mmx' is not available here: expected portable, avx2, avxvnni, avx512, "
       "avx512bf16 or amx, as far as "
       "this processor has them and PANDO_ISA allows"},
#endif
  };
  for (const BadOptions& bad : all) {
    EngineOptions options = tiny_options();
    bad.spoil(options);
    const auto engine = Engine::open(tiny_model(), options);
    ASSERT_FALSE(engine.ok()) << bad.message;
    EXPECT_EQ(engine.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(engine.error().message(), bad.message);
  }
  EngineOptions options = tiny_options();
  options.sharing = "magic";
  const auto engine = Engine::open(tiny_model(), options);
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.error().message().find("magic"), std::string::npos);
}

TEST(Options, DefaultsAreFilledIn) {
  EngineOptions options = tiny_options();
  options.threads = 0;
  const std::unique_ptr<Engine> engine = open_tiny(options);
  EXPECT_GE(engine->options().threads, 1);
  EXPECT_EQ(engine->options().context, 640);
  EXPECT_FALSE(engine->options().isa.empty());
  EXPECT_EQ(engine->options().max_running, 256);
}

TEST(Options, KernelsByName) {
  EXPECT_EQ((*kernel::kernels_by_name("portable"))->name, "portable");
  EXPECT_EQ(*kernel::kernels_by_name(""), &kernel::best_kernels());
  EXPECT_FALSE(kernel::kernels_by_name("Portable").ok());
}

TEST(Options, StatsSinceSubtractsEverythingButThePeak) {
  const std::unique_ptr<Engine> engine = open_tiny();
  ASSERT_TRUE(engine->complete(tiny_request("one")).ok());
  const EngineStats before = engine->stats();
  ASSERT_TRUE(engine->complete(tiny_request("two!", 3)).ok());
  const EngineStats stats = engine->stats().since(before);
  EXPECT_EQ(stats.requests, 1u);
  EXPECT_EQ(stats.prompt_tokens, 4u);
  EXPECT_EQ(stats.generated_tokens, 3u);
  EXPECT_EQ(stats.prefill_rows, 4u);
  EXPECT_EQ(stats.decode_rows, 2u);
  EXPECT_EQ(stats.steps, 3u);
  EXPECT_GE(stats.kv_bytes_peak, before.kv_bytes_peak);
  EXPECT_GT(stats.step_s, 0);
  EXPECT_GT(stats.linear_flops, 0);
}

}  // namespace
}  // namespace pando::testing
