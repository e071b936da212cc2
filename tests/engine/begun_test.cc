// An answer that another engine began goes on as if it had never been interrupted: the same tokens,
// events and completion, wherever it was cut.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "api/request_bytes.h"
#include "base/json.h"
#include "base/json_value.h"
#include "engine/scripted_executor.h"
#include "engine/test_loop.h"
#include "text/channel_tokenizer.h"

namespace pando::testing {
namespace {

using Bytes = std::vector<std::byte>;

// Events of an answer, as bytes of all that they tell, by the number of tokens so far.
struct HeardAnswer {
  std::map<size_t, Bytes> events;
  std::vector<Token> tokens;  // told
  Completion completion;
};

struct HeardRequest {
  std::map<int, HeardAnswer> answers;  // by choice
  std::string error;
};

template <class... T>
Bytes bytes_of_all(const T&... values) {
  ByteWriter writer;
  (writer.write(values), ...);
  return writer.take();
}

// The tokens that were shared may differ.
Bytes completion_bytes(Completion completion) {
  completion.shared_tokens = 0;
  return bytes_of_all(completion);
}

HeardRequest heard_from(EngineLoop& loop, Request request) {
  static RequestId id = 0;
  HeardRequest heard;
  request.tells_tokens = true;
  const Status status = loop.submit(++id, std::move(request), [&](const Event& event) {
    if (event.error) heard.error = event.error->message();
    if (event.error) return;
    HeardAnswer& answer = heard.answers[event.choice];
    EXPECT_FALSE(answer.events.contains(event.n_tokens));
    answer.events[event.n_tokens] =
        bytes_of_all(event.text, event.reasoning, event.calls, event.logprob);
    answer.tokens.insert(answer.tokens.end(), event.tokens.begin(), event.tokens.end());
    if (event.completion) answer.completion = *event.completion;
  });
  if (!status) heard.error = status.error().message();
  for (int i = 0; i < 10'000 && loop.step(); ++i) loop.deliver_events();
  loop.deliver_events();
  loop.cache().check_invariants();
  EXPECT_EQ(loop.n_sequences(), 0U);
  return heard;
}

using MakeLoop = std::function<std::unique_ptr<EngineLoop>()>;

// Continues the answers behind all numbers of tokens, each in an engine of its own.
void expect_same_at_every_cut(const MakeLoop& make_loop, const Request& request) {
  const HeardRequest whole = heard_from(*make_loop(), request);
  ASSERT_EQ(whole.error, "");
  ASSERT_EQ(whole.answers.size(), static_cast<size_t>(request.sampling.n));
  size_t longest = 0;
  for (const auto& [choice, answer] : whole.answers) {
    EXPECT_EQ(answer.tokens, answer.completion.tokens);
    longest = std::max(longest, answer.tokens.size());
  }
  for (size_t cut = 1; cut <= longest; ++cut) {
    Request again = request;
    for (const auto& [choice, answer] : whole.answers) {  // each choice at another place
      const size_t n = (cut + static_cast<size_t>(choice)) % (answer.tokens.size() + 1);
      again.begun.emplace_back(answer.tokens.begin(),
                               answer.tokens.begin() + static_cast<std::ptrdiff_t>(n));
    }
    const HeardRequest found = heard_from(*make_loop(), again);
    ASSERT_EQ(found.error, "") << "cut " << cut;
    for (const auto& [choice, expected] : whole.answers) {
      const HeardAnswer& answer = found.answers.at(choice);
      std::vector<Token> tokens = again.begun[static_cast<size_t>(choice)];
      tokens.insert(tokens.end(), answer.tokens.begin(), answer.tokens.end());
      EXPECT_EQ(tokens, expected.tokens) << "cut " << cut << " choice " << choice;
      EXPECT_EQ(answer.events, expected.events) << "cut " << cut << " choice " << choice;
      EXPECT_EQ(completion_bytes(answer.completion), completion_bytes(expected.completion))
          << "cut " << cut << " choice " << choice;
    }
  }
}

std::unique_ptr<EngineLoop> tiny_loop() { return open_tiny_loop(tiny_loop_options()).value(); }

Request begun_request(const SamplingOptions& sampling) {
  Request request;
  request.tokens = bytes_of("The quick brown fox");
  request.id = "a";
  request.sampling = sampling;
  return request;
}

TEST(Begun, OptionsOfSampling) {
  const SamplingOptions base = {.max_tokens = 9, .temperature = 1, .seed = 5, .ignore_eos = true};
  std::array<SamplingOptions, 8> all;
  all.fill(base);
  all[0].temperature = 0;
  all[1].repetition_penalty = 1.5;
  all[2].presence_penalty = 3;
  all[2].frequency_penalty = 2;
  all[3].n = 3;
  all[4].min_tokens = 6;
  all[4].ignore_eos = false;
  for (Token token = 0; token < 256; token += 2) all[4].stop_tokens.push_back(token);
  all[5].top_k = 20;
  all[5].seed.reset();  // from the request's id
  all[6].logprobs = true;
  all[6].top_logprobs = 2;
  all[6].n = 2;
  all[7].stop = {"zzzzzz"};
  all[7].max_tokens = 20;
  for (const SamplingOptions& sampling : all)
    expect_same_at_every_cut(tiny_loop, begun_request(sampling));
}

TEST(Begun, ValuesOfRowsAreReadAgain) {
  Request request = begun_request({.max_tokens = 6, .temperature = 1, .ignore_eos = true});
  request.logits_hash = true;
  request.prompt_logprobs_from = 3;
  expect_same_at_every_cut(tiny_loop, request);
}

TEST(Begun, Forms) {
  Request request = begun_request({.max_tokens = 40, .temperature = 1, .seed = 2, .n = 2});
  request.sampling.form = {.kind = TextForm::Kind::kChoices,
                           .choices = {"the first", "the second of them", "none"}};
  expect_same_at_every_cut(tiny_loop, request);
  request.sampling.stop = {"sec", "irs"};
  expect_same_at_every_cut(tiny_loop, request);
  request.sampling.stop = {};
  request.sampling.form = {
      .kind = TextForm::Kind::kJsonSchema,
      .text = R"({"type":"object","properties":{"a":{"enum":["x","yy"]},"b":{"type":"boolean"}},)"
              R"("required":["a","b"],"additionalProperties":false})"};
  expect_same_at_every_cut(tiny_loop, request);
}

TEST(Begun, Calls) {
  const Model::Parts& model = tiny_model()->parts();
  grammar::FormCache forms(*model.tokenizer);
  const calls::CallFormat format = *calls::call_format_named("hermes");
  const AnswerFormat answers = {.calls = format,
                                .call_forms = std::make_shared<calls::CallForms>(&forms, format)};
  const auto make_loop = [&] {
    return open_loop(*model.weights, tiny_loop_options(), model.tokenizer.get(), &forms, &answers)
        .value();
  };
  Request request = begun_request({.max_tokens = 120, .temperature = 1, .seed = 3});
  request.messages.push_back({"user", "?"});
  request.chat.tools = json_value({{{"name", "look"},
                                    {"description", "Looks."},
                                    {"parameters",
                                     {{"type", "object"},
                                      {"properties", {{"at", {{"enum", {"left", "right"}}}}}},
                                      {"required", {"at"}},
                                      {"additionalProperties", false}}}}});
  request.calling = {.required = true, .parallel = false};
  expect_same_at_every_cut(make_loop, request);
}

TEST(Begun, BudgetsOfReasoning) {
  static const std::unique_ptr<Tokenizer> tokenizer = load_json(channel_tokenizer_json());
  static grammar::FormCache forms(*tokenizer);
  const auto tokens_of = [&](const std::string& text) {
    return tokenizer->encode(text, /*add_bos=*/false).value();
  };
  const std::string asked = "<|start|>user<|message|>2+2?<|end|><|start|>assistant";
  const std::string ends = "<|end|><|start|>assistant<|channel|>final<|message|>";
  const std::string script = asked + "<|channel|>analysis<|message|>abc" +
                             std::string(tokens_of(ends).size(), '_') + "4.<|return|>";
  const auto make_loop = [&] {
    const LoopOptions options = tiny_loop_options();
    LoopParts parts{.options = options,
                    .tokenizer = tokenizer.get(),
                    .forms = &forms,
                    .end_ids = {260},
                    .max_positions = kTinyContext};
    EXPECT_TRUE(fill_in(parts.options.engine, kTinyContext).ok());
    parts.planner = std::move(make_technique("tree", options.tile_len).value().planner);
    parts.pool = std::make_unique<ThreadPool>(1);
    parts.executor = std::make_unique<ScriptedExecutor>(ExecutorFacts{.vocab = kChannelVocab,
                                                                      .d_model = 4,
                                                                      .page_len = options.page_len,
                                                                      .tile_len = options.tile_len,
                                                                      .n_pages = 100,
                                                                      .page_bytes = 64,
                                                                      .kv_capacity = 400,
                                                                      .longest_path = 400},
                                                        tokens_of(script));
    return std::make_unique<EngineLoop>(std::move(parts));
  };
  Request request;
  request.tokens = tokens_of(asked);
  request.messages.push_back({"user", "2+2?"});
  request.sampling.max_tokens = 60;
  request.thinking_budget = 3;
  expect_same_at_every_cut(make_loop, request);
  request.thinking_budget = 0;
  request.sampling.max_tokens = 12;
  expect_same_at_every_cut(make_loop, request);
}

// Prompts that are cached, and few rows in a step.
TEST(Begun, BesideOthers) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 3;
  const auto make_loop = [&] {
    auto loop = open_tiny_loop(options).value();
    heard_from(*loop, begun_request({.max_tokens = 4, .temperature = 1, .seed = 1}));
    return loop;
  };
  expect_same_at_every_cut(make_loop,
                           begun_request({.max_tokens = 8, .temperature = 1, .seed = 1, .n = 4}));
}

// They wait for their first row, as prompts do.
TEST(Begun, TokensThatAreToBeComputedAreCounted) {
  const SamplingOptions sampling = {.max_tokens = 8, .ignore_eos = true};
  const HeardRequest whole = heard_from(*tiny_loop(), begun_request(sampling));
  const std::vector<Token>& tokens = whole.answers.at(0).tokens;
  ASSERT_EQ(tokens.size(), 8U);
  const auto loop = tiny_loop();
  Request request = begun_request(sampling);
  request.begun.emplace_back(tokens.begin(), tokens.begin() + 3);
  const size_t n_prompt = request.tokens.size();
  ASSERT_TRUE(loop->submit(1, std::move(request), [](const Event&) {}));
  EXPECT_EQ(loop->stats().queued_tokens, n_prompt + 3);
  while (loop->stats().queued_tokens > 0 && loop->step()) loop->deliver_events();
  EXPECT_EQ(loop->stats().queued_tokens, 0U);
  EXPECT_EQ(loop->stats().open_answers, 1U);
}

TEST(Begun, TokensThatCannotHaveBeenDrawnAreRefused) {
  const auto loop = tiny_loop();
  const auto error_of = [&](std::vector<std::vector<Token>> begun, SamplingOptions sampling) {
    Request request = begun_request(sampling);
    request.begun = std::move(begun);
    return heard_from(*loop, std::move(request)).error;
  };
  const SamplingOptions plain = {.max_tokens = 4, .ignore_eos = true};
  EXPECT_EQ(error_of({{1}, {2}}, plain), "begun has 2 answers, expected at most n, which is 1");
  EXPECT_EQ(error_of({{1, 2, 3, 4, 5}}, plain),
            "begun has an answer of 5 tokens, expected at most 4");
  EXPECT_EQ(error_of({{1, 100'000}}, plain).find("token 100000 is outside the model's vocabulary"),
            0U);
  SamplingOptions long_answer = plain;
  long_answer.max_tokens = 10'000;
  const size_t n_room = kTinyContext - bytes_of("The quick brown fox").size();
  EXPECT_EQ(
      error_of({std::vector<Token>(n_room + 1, 1)}, long_answer),
      fmt::format("begun has an answer of {} tokens, expected at most {}", n_room + 1, n_room));
  SamplingOptions formed = plain;
  formed.form = {.kind = TextForm::Kind::kChoices, .choices = {"ab", "ac"}};
  EXPECT_EQ(error_of({{'b'}}, formed),
            "token 0 of the answer is 98, expected one that its form allows");
  formed.form = {.kind = TextForm::Kind::kChoices, .choices = {"abcd", "xbcd"}};
  EXPECT_EQ(error_of({{'a', 'c'}}, formed),
            "token 1 of the answer is 99, expected 98, which is forced");
  SamplingOptions stopped = plain;
  stopped.stop_tokens = {'b'};
  EXPECT_EQ(error_of({{'a', 'b', 'c'}}, stopped),
            "the answer ends with its token 2, expected no more, found 1");
  SamplingOptions scored = plain;
  scored.logprobs = true;
  std::vector<Token> other = answers_alone(begun_request(plain))[0].first;
  other[1] ^= 1;
  EXPECT_EQ(error_of({other}, scored), "answer 0 has other tokens than 4 that it began with");
  EXPECT_EQ(loop->n_sequences(), 0U);
}

}  // namespace
}  // namespace pando::testing
