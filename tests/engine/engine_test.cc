// The engine as a caller sees it: threads, ends of answers, errors, shutting down.
#include "pando/engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <future>
#include <mutex>
#include <thread>

#include "engine/tiny_engine.h"
#include "pando/stream.h"

namespace pando::testing {
namespace {

Completion complete_one(Engine& engine, const Request& request) {
  Result<std::vector<Completion>> completions = engine.complete(request);
  if (!completions) throw std::runtime_error(completions.error().message());
  EXPECT_EQ(completions->size(), 1u);
  return completions->at(0);
}

// Everything that one request is told.
struct Ear {
  std::mutex mutex;
  std::vector<Event> events;

  Listener listener() {
    return [this](const Event& event) {
      std::lock_guard lock(mutex);
      events.push_back(event);
    };
  }
  size_t n_heard() {
    std::lock_guard lock(mutex);
    return events.size();
  }
};

// Returns once the engine refuses because it closes. It has to be full, so that it refuses all.
void wait_for_closing(Engine& engine) {
  for (;;) {
    const Result<RequestId> late = engine.submit(tiny_request("too late"), [](const Event&) {});
    if (!late && late.error().message() == "the engine is shutting down") return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string prompt_of(int i) {
  return "A shared beginning, question " + std::to_string(i % 6) + "?";
}

TEST(Engine, WhatIsAskedTogetherIsPlannedTogether) {
  EngineOptions options = tiny_options();
  options.step_rows = 1 << 16;
  std::vector<Request> requests;
  for (int i = 0; i < 250; ++i)
    requests.push_back(tiny_request(fmt::format("{}{}", std::string(400, 'x'), i), 2));
  for (int repetition = 0; repetition < 5; ++repetition) {
    const std::unique_ptr<Engine> engine = open_tiny(options);
    ASSERT_TRUE(engine->complete_all(requests));
    EXPECT_EQ(engine->stats().steps, 2u);
  }
}

TEST(Engine, AnswersAreEqualForAnyNumberOfThreadsAndCallers) {
  std::vector<Completion> expected;
  for (int i = 0; i < 12; ++i)
    expected.push_back(complete_one(*open_tiny(), tiny_request(prompt_of(i), 8)));
  for (const int n_threads : {1, 2}) {
    EngineOptions options = tiny_options();
    options.threads = n_threads;
    const std::unique_ptr<Engine> engine = open_tiny(options);
    std::vector<std::future<Completion>> callers;
    for (int i = 0; i < 12; ++i)
      callers.push_back(std::async(std::launch::async, [&, i] {
        return complete_one(*engine, tiny_request(prompt_of(i), 8));
      }));
    for (int i = 0; i < 12; ++i) {
      const Completion completion = callers[i].get();
      EXPECT_EQ(completion.tokens, expected[i].tokens);
      EXPECT_EQ(completion.logits_hash, expected[i].logits_hash);
      EXPECT_EQ(completion.text, expected[i].text);
    }
    EXPECT_EQ(engine->stats().requests, 12u);
  }
}

TEST(Engine, ChoicesComeInOrder) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Request request = tiny_request("choices", 20);
  request.sampling.n = 9;
  request.sampling.temperature = 2;
  request.sampling.ignore_eos = false;
  request.sampling.stop_tokens = bytes_of("abcdefghijklmnopqrstuvwxyz");  // some end early
  const Result<std::vector<Completion>> completions = engine->complete(request);
  ASSERT_TRUE(completions.ok());
  ASSERT_EQ(completions->size(), 9u);
  for (int i = 0; i < 9; ++i) EXPECT_EQ((*completions)[i].choice, i);
}

TEST(Engine, TextAndItsTokensAreTheSamePrompt) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Request text = tiny_request("über"), tokens = tiny_request("");
  tokens.tokens = bytes_of("über");
  const Completion a = complete_one(*engine, text), b = complete_one(*engine, tokens);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.prompt_tokens, 5);
  EXPECT_EQ(b.prompt_tokens, 5);
}

TEST(Engine, MaxTokensEndAnAnswer) {
  const Completion completion = complete_one(*open_tiny(), tiny_request("a prompt", 7));
  EXPECT_EQ(completion.tokens.size(), 7u);
  EXPECT_EQ(completion.finish_reason, FinishReason::kLength);
  EXPECT_TRUE(completion.logprobs.empty());
}

TEST(Engine, StopStringsAreNoPartOfTheAnswer) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Request request = tiny_request("a prompt", 30);
  request.sampling.temperature = 1;
  request.sampling.seed = 4;
  const Completion whole = complete_one(*engine, request);
  for (size_t from = 1; from + 3 <= whole.text.size(); ++from) {
    const std::string stop = whole.text.substr(from, 3);
    request.sampling.stop = {"no such text", stop};
    const Completion cut = complete_one(*engine, request);
    EXPECT_EQ(cut.finish_reason, FinishReason::kStop);
    EXPECT_EQ(cut.text, whole.text.substr(0, whole.text.find(stop)));
    EXPECT_EQ(cut.stop_text, stop);
    ASSERT_LE(cut.tokens.size(), whole.tokens.size());
    EXPECT_TRUE(std::equal(cut.tokens.begin(), cut.tokens.end(), whole.tokens.begin()));
  }
}

TEST(Engine, StopTokensEndAnAnswer) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Request request = tiny_request("a prompt", 12);
  request.sampling.temperature = 3;
  request.sampling.seed = 8;
  const Completion whole = complete_one(*engine, request);
  for (const Token stop : whole.tokens) {
    request.sampling.stop_tokens = {stop};
    const Completion cut = complete_one(*engine, request);
    const auto end = std::find(whole.tokens.begin(), whole.tokens.end(), stop) + 1;
    EXPECT_EQ(cut.tokens, std::vector<Token>(whole.tokens.begin(), end));
    EXPECT_EQ(cut.finish_reason, FinishReason::kStop);
    EXPECT_EQ(cut.text, *engine->model().decode({cut.tokens.data(), cut.tokens.size() - 1}));
  }
}

TEST(Engine, TheModelsEndTokenEndsAnAnswerUnlessIgnored) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Request request = tiny_request("a prompt", 25);
  request.sampling.n = 80;
  request.sampling.temperature = 8;
  const std::vector<Completion> whole = *engine->complete(request);
  request.sampling.ignore_eos = false;
  const std::vector<Completion> ended = *engine->complete(request);
  int n_ended = 0;
  for (int i = 0; i < 80; ++i) {
    EXPECT_EQ(whole[i].tokens.size(), 25u);
    const auto end = std::find(whole[i].tokens.begin(), whole[i].tokens.end(), 256);
    const bool ends = end != whole[i].tokens.end();
    EXPECT_EQ(ended[i].finish_reason, ends ? FinishReason::kStop : FinishReason::kLength);
    EXPECT_EQ(ended[i].tokens, std::vector<Token>(whole[i].tokens.begin(), ends ? end + 1 : end));
    EXPECT_EQ(ended[i].text.find("endoftext"), std::string::npos);
    n_ended += ends;
  }
  EXPECT_GT(n_ended, 0);
  EXPECT_LT(n_ended, 80);
}

// Whatever rounding the caller's thread uses: configurations are read, tables made and rows
// computed under the default.
TEST(Engine, TheCallersRoundingModeChangesNothing) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "model";
  ASSERT_TRUE(make_random_model({.shape = "tiny-qwen3", .out = path}).ok());
  nlohmann::json config = nlohmann::json::parse(std::ifstream(path / "config.json"));
  config["rms_norm_eps"] = 0.1;  // no float, and large enough for its last bit to be seen
  std::ofstream(path / "config.json") << config;
  const auto answer = [&] {
    const Result<std::unique_ptr<Engine>> engine =
        Engine::open(Model::load(path).value(), tiny_options());
    return complete_one(**engine, tiny_request("a prompt", 5)).logits_hash;
  };
  const uint64_t expected = answer();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const uint64_t found = answer();
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(found, expected) << mode;
  }
}

TEST(Engine, LogprobsOnRequest) {
  Request request = tiny_request("a prompt", 5);
  request.sampling.logprobs = true;
  request.logits_hash = false;
  const Completion completion = complete_one(*open_tiny(), request);
  ASSERT_EQ(completion.logprobs.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_LT(completion.logprobs[i].logprob, 0);
    EXPECT_EQ(completion.logprobs[i].token, completion.tokens[i]);
    EXPECT_TRUE(completion.logprobs[i].likeliest && completion.logprobs[i].top.empty());
  }
  EXPECT_EQ(completion.logits_hash, 0u);
}

TEST(Engine, AbsentSeedsComeFromEngineAndId) {
  const auto draw = [](uint64_t engine_seed, const std::string& id, const std::string& prompt) {
    EngineOptions options = tiny_options();
    options.seed = engine_seed;
    Request request = tiny_request(prompt, 12);
    request.id = id;
    request.sampling.temperature = 4;
    return complete_one(*open_tiny(options), request).tokens;
  };
  EXPECT_EQ(draw(1, "id", "x"), draw(1, "id", "x"));
  EXPECT_NE(draw(1, "id", "x"), draw(2, "id", "x"));
  EXPECT_NE(draw(1, "id", "x"), draw(1, "other", "x"));
  EXPECT_EQ(draw(1, "", "x"), draw(1, "", "x"));
}

TEST(Engine, ACancelledRequestHearsNothingMore) {
  Gate gate;
  const std::unique_ptr<Engine> engine = open_tiny();
  Ear ear;
  const Result<RequestId> id =
      engine->submit(endless_request("to be cancelled"), [&](const Event& event) {
        ear.listener()(event);
        gate.pass();
      });
  ASSERT_TRUE(id.ok());
  gate.wait_until_reached();
  engine->cancel(*id);
  engine->cancel(*id);
  engine->cancel(123456);
  gate.open();
  complete_one(*engine, tiny_request("behind it"));
  const size_t n_heard = ear.n_heard();
  complete_one(*engine, tiny_request("and later", 20));
  EXPECT_EQ(ear.n_heard(), n_heard);
  EXPECT_EQ(engine->stats().requests, 2u);
}

// Half of the requests are under way and half wait in the inbox.
TEST(Engine, ClosingEndsOpenRequestsWithUnavailable) {
  constexpr size_t kEach = 20;
  Gate gate;
  std::vector<Ear> ears(2 * kEach);
  std::atomic<bool> refused = false;
  EngineOptions options = tiny_options();
  options.max_open = ears.size() * 64;
  std::unique_ptr<Engine> engine = open_tiny(options);
  const auto ask = [&](Ear& ear) {
    return engine->submit(
        endless_request("never done"), [&, raw = engine.get()](const Event& event) {
          ear.listener()(event);
          if (!event.error) {
            gate.pass();
            return wait_for_closing(*raw);
          }
          raw->cancel(event.request);
          refused = !raw->submit(tiny_request("too late"), [](const Event&) {}).ok();
        });
  };
  Engine::Hold held = engine->hold();
  for (size_t i = 0; i < kEach; ++i) ASSERT_TRUE(ask(ears[i]).ok());
  held.reset();
  gate.wait_until_reached();
  for (size_t i = kEach; i < ears.size(); ++i) EXPECT_TRUE(ask(ears[i]).ok());
  gate.open();
  engine.reset();
  EXPECT_TRUE(refused);
  for (Ear& ear : ears) {
    ASSERT_FALSE(ear.events.empty());
    int n_errors = 0;
    for (const Event& event : ear.events) n_errors += event.error.has_value();
    EXPECT_EQ(n_errors, 1);
    ASSERT_TRUE(ear.events.back().error);
    EXPECT_EQ(ear.events.back().error->code, ErrorCode::kUnavailable);
    EXPECT_EQ(ear.events.back().error->message(), "the engine is shutting down");
  }
}

TEST(Engine, MoreThanMaxOpenIsRefused) {
  EngineOptions options = tiny_options();
  options.max_open = 3 * 64;
  Gate gate;
  const std::unique_ptr<Engine> engine = open_tiny(options);
  Ear ear;
  std::vector<RequestId> ids;
  Engine::Hold held = engine->hold();
  for (int i = 0; i < 3; ++i)
    ids.push_back(*engine->submit(endless_request("long"), [&](const Event& event) {
      ear.listener()(event);
      gate.pass();
    }));
  held.reset();
  gate.wait_until_reached();
  const Result<RequestId> refused = engine->submit(tiny_request("one more"), ear.listener());
  for (const RequestId id : ids) engine->cancel(id);
  gate.open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message(), "the engine is full: it has 192 open answers");
  while (!engine->complete(tiny_request("there is room again")).ok()) std::this_thread::yield();
}

TEST(Engine, WhileItIsHeldAPlaceIsFreeAgainAtOnce) {
  EngineOptions options = tiny_options();
  options.max_open = 2;
  const std::unique_ptr<Engine> engine = open_tiny(options);
  Ear taken_back;
  Engine::Hold held = engine->hold();
  for (int i = 0; i < 3; ++i) {
    const RequestId id = *engine->submit(tiny_request(prompt_of(i)), taken_back.listener());
    EXPECT_TRUE(engine->is_waiting(id));
    engine->cancel(id);
    EXPECT_FALSE(engine->is_waiting(id));
  }
  held.reset();
  EXPECT_TRUE(engine->complete(tiny_request(prompt_of(4))));
  EXPECT_EQ(taken_back.n_heard(), 0u);
  EXPECT_EQ(engine->stats().requests, 1u);
}

TEST(Engine, RunsWhenTheLastHoldIsGone) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Engine::Hold held = engine->hold(), copy = held;
  std::promise<void> answered;
  ASSERT_TRUE(engine->submit(tiny_request(prompt_of(0)), [&](const Event& event) {
    if (event.completion) answered.set_value();
  }));
  std::future<void> answer = answered.get_future();
  held.reset();
  EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  copy.reset();
  answer.wait();
  EXPECT_GT(engine->stats().steps, 0u);
}

#if defined(__linux__)
TEST(Engine, ItsThreadStepsBackForOthers) {
  EngineOptions options = tiny_options();
  options.nice = 3;
  const std::unique_ptr<Engine> engine = open_tiny(options);
  std::promise<int> heard;
  ASSERT_TRUE(engine->submit(tiny_request(prompt_of(0), 1), [&](const Event& event) {
    if (event.completion) heard.set_value(getpriority(PRIO_PROCESS, 0));
  }));
  EXPECT_EQ(heard.get_future().get(), std::min(getpriority(PRIO_PROCESS, 0) + 3, 19));
}
#endif

TEST(Engine, AListenerMaySubmitFromAnEvent) {
  const std::unique_ptr<Engine> engine = open_tiny();
  std::promise<int> done;
  std::function<void(int)> ask = [&](int i) {
    const Result<RequestId> id =
        engine->submit(tiny_request(prompt_of(i), 2), [&, i](const Event& event) {
          if (!event.completion) return;
          if (i == 20) return done.set_value(i);
          ask(i + 1);
        });
    EXPECT_TRUE(id.ok());
  };
  ask(0);
  EXPECT_EQ(done.get_future().get(), 20);
  EXPECT_EQ(engine->stats().requests, 21u);
}

}  // namespace
}  // namespace pando::testing
