// Calls that are enforced, by random models: what is finished is valid, and nothing changes a bit.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "base/json.h"
#include "base/json_value.h"
#include "engine/exactness_forms.h"
#include "engine/rank_threads.h"
#include "engine/test_loop.h"
#include "text/calls/json_scan.h"
#include "text/grammar/json_rules.h"

namespace pando::testing {
namespace {

int n_requests(int usual) { return std::getenv("PANDO_SLOW_TESTS") != nullptr ? 400 : usual; }

AnswerFormat format_of(grammar::FormCache& forms, const calls::CallFormat& format) {
  return {.calls = format, .call_forms = std::make_shared<calls::CallForms>(&forms, format)};
}

std::vector<Completion> completions(EngineLoop& loop, std::span<const Request> requests) {
  std::vector<Completion> all(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const Status status = loop.submit(i + 1, requests[i], [&all, i](const Event& event) {
      EXPECT_FALSE(event.error) << event.error->message();
      if (event.completion) all[i] = *event.completion;
    });
    EXPECT_TRUE(status.ok()) << status.error().message();
  }
  for (int n = 0; n < 200'000 && loop.step(); ++n) loop.deliver_events();
  loop.deliver_events();
  return all;
}

// Tools of the data, by the questions to which they belong.
std::vector<Json> tool_lists() {
  std::ifstream file(PANDO_SHARED_DATA "/glaive-toolcall-en-demo.jsonl");
  std::vector<Json> lists;
  for (std::string line; std::getline(file, line);) {
    const Json record = Json::parse(line);
    if (!record["tools"].is_string()) continue;
    if (Json tools = Json::parse(record["tools"].get<std::string>()); !tools.empty())
      lists.push_back(std::move(tools));
  }
  return lists;
}

// A request whose model likes to end texts, so that most answers are finished.
Request glaive_request(int i, const Json& tools, const CallOptions& options) {
  Request request;
  request.id = std::to_string(i);
  request.tokens = bytes_of("Question " + request.id);
  request.messages.push_back({"user", "?"});
  request.chat.tools = json_value(tools);
  request.calling = options;
  request.sampling.max_tokens = 400;
  request.sampling.temperature = 1;
  request.sampling.seed = static_cast<uint64_t>(i);
  for (const char end : std::string_view("\"}])<")) request.sampling.logit_bias[end] = 5;
  return request;
}

void expect_valid(const Completion& answer, const Json& tools) {
  EXPECT_FALSE(answer.calls.empty()) << answer.text;
  EXPECT_EQ(answer.text, "");
  for (const ToolCall& call : answer.calls) {
    const auto tool = std::find_if(tools.begin(), tools.end(),
                                   [&](const Json& one) { return one["name"] == call.name; });
    ASSERT_NE(tool, tools.end()) << call.name;
    const auto arguments = calls::parse_value(call.arguments);
    ASSERT_TRUE(arguments && arguments->is_object()) << call.arguments;
    const auto valid = grammar::from_json_schema(json_text((*tool)["parameters"]));
    ASSERT_TRUE(valid.ok()) << valid.error().message();
    EXPECT_TRUE(grammar::allows(*valid, grammar::compact_text(*arguments)).value())
        << call.arguments;
  }
}

// simple: one tool; multiple: those of three questions; parallel: several calls.
TEST(CallsOfRandomModels, RequiredOnesAreValid) {
  const std::vector<Json> lists = tool_lists();
  if (lists.empty()) GTEST_SKIP() << PANDO_SHARED_DATA << " has no tools";
  const Model::Parts& model = tiny_model()->parts();
  grammar::FormCache forms(*model.tokenizer);
  int n_finished = 0, n_several = 0;
  const int n_all = n_requests(40);
  constexpr std::array kFormats = {"json", "hermes", "pythonic", "harmony", "kimi"};
  for (size_t k = 0; k < kFormats.size(); ++k) {
    const AnswerFormat answers = format_of(forms, *calls::call_format_named(kFormats[k]));
    const auto loop =
        open_loop(*model.weights, tiny_loop_options(), model.tokenizer.get(), &forms, &answers)
            .value();
    std::vector<Request> requests;
    std::vector<Json> offered;
    for (int i = static_cast<int>(k); i < n_all; i += static_cast<int>(kFormats.size())) {
      Json tools = lists[static_cast<size_t>(i) % lists.size()];
      const bool is_multiple = i % 3 == 1;
      for (int more = 1; is_multiple && more < 3; ++more)
        for (const Json& tool : lists[static_cast<size_t>(i + 7 * more) % lists.size()])
          if (std::none_of(tools.begin(), tools.end(),
                           [&](const Json& one) { return one["name"] == tool["name"]; }))
            tools.push_back(tool);
      requests.push_back(glaive_request(i, tools, {.required = true, .parallel = i % 3 != 0}));
      offered.push_back(std::move(tools));
    }
    const std::vector<Completion> all = completions(*loop, requests);
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].finish_reason != FinishReason::kStop) continue;
      ++n_finished;
      n_several += all[i].calls.size() > 1;
      expect_valid(all[i], offered[i]);
    }
  }
  printf("%d of %d answers are finished, %d of them with several calls\n", n_finished, n_all,
         n_several);
  EXPECT_GT(2 * n_finished, n_all);
  if (n_all >= 400) {
    EXPECT_GT(n_several, 0);
  }
}

// irrelevant: answers without calls are those without tools.
TEST(CallsOfRandomModels, TextIsNotFiltered) {
  const std::vector<Json> lists = tool_lists();
  if (lists.empty()) GTEST_SKIP() << PANDO_SHARED_DATA << " has no tools";
  const Model::Parts& model = tiny_model()->parts();
  grammar::FormCache forms(*model.tokenizer);
  const AnswerFormat answers = format_of(forms, *calls::call_format_named("hermes"));
  std::vector<Request> with, without;
  for (int i = 0; i < n_requests(40) / 4; ++i) {
    with.push_back(glaive_request(i, lists[static_cast<size_t>(i) % lists.size()], {}));
    with.back().sampling.max_tokens = 40;
    with.back().logits_hash = true;
    without.push_back(with.back());
    without.back().chat.tools = {};
  }
  const auto run = [&](std::span<const Request> requests) {
    const auto loop =
        open_loop(*model.weights, tiny_loop_options(), model.tokenizer.get(), &forms, &answers)
            .value();
    return completions(*loop, requests);
  };
  const std::vector<Completion> a = run(with), b = run(without);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].tokens, b[i].tokens);
    EXPECT_EQ(a[i].logits_hash, b[i].logits_hash);
  }
}

// A format that the pieces of CaseTokenizer can write.
calls::CallFormat case_format() {
  calls::CallFormat format;
  format.is_known = true;
  format.name_key = "a";
  format.arguments_key = "b";
  format.call_begin = "[]";
  format.call_end = "]";
  format.separator = ",";
  return format;
}

constexpr const char* kCaseTools = R"([
    {"name": "ab", "parameters": {"type": "object", "properties": {"a": {"enum": ["ab", "a", null]},
      "b": {"type": "integer", "minimum": 0, "maximum": 12}}, "required": ["a"]}},
    {"name": "c", "parameters": {"type": "object", "properties": {"c": {"type": "array",
      "items": {"type": "boolean"}, "maxItems": 2}}}}])";

std::vector<Request> case_requests(int n) {
  constexpr Token kMark = 56;  // "[]"
  std::mt19937_64 rng(5);
  std::vector<Request> requests;
  for (int i = 0; i < n; ++i) {
    Request request;
    request.id = std::to_string(i);
    request.messages.push_back({"user", "?"});
    if (i > 0 && rng() % 2 == 0) {  // a beginning of an earlier one
      request.tokens = requests[rng() % requests.size()].tokens;
      request.tokens.resize(1 + rng() % request.tokens.size());
    }
    for (size_t k = 2 + rng() % 20; k > 0; --k)
      request.tokens.push_back(static_cast<Token>(3 + rng() % 59));
    request.sampling.max_tokens = 8 + static_cast<int>(rng() % 40);
    request.sampling.temperature = 1;
    request.sampling.seed = rng();
    request.logits_hash = true;
    request.cached = rng() % 4 != 0;
    if (rng() % 4 != 0) request.chat.tools = JsonValue::parse(kCaseTools).value();
    const bool has_tools = !request.chat.tools.is_null();
    if (rng() % 2 == 0) request.sampling.logit_bias[kMark] = 6;  // begins a call
    request.calling.required = has_tools && rng() % 3 == 0;
    request.calling.parallel = rng() % 2 == 0;
    if (has_tools && rng() % 3 == 0) request.calling.allowed = {"c"};
    requests.push_back(std::move(request));
  }
  return requests;
}

TEST(CallsOfRandomModels, NothingChangesABit) {
  const CaseTokenizer tokenizer;
  grammar::FormCache forms(tokenizer);
  const AnswerFormat answers = format_of(forms, case_format());
  CaseModels models(CaseWeights::kBF16);
  const CaseModel model{.shape = "tiny-qwen3"};
  const std::vector<Request> requests = case_requests(n_requests(40));
  const auto open_whole = [&](bool forces) {
    LoopOptions options = tiny_loop_options();
    options.forces_tokens = forces;
    return open_loop(models.weights(model), options, &tokenizer, &forms, &answers).value();
  };
  std::vector<Completion> alone;
  for (const Request& request : requests)
    alone.push_back(completions(*open_whole(true), {&request, 1})[0]);
  int n_calls = 0, n_begun = 0;
  for (size_t i = 0; i < alone.size(); ++i) {
    n_calls += static_cast<int>(alone[i].calls.size());
    n_begun += !requests[i].calling.required && !alone[i].calls.empty();
    for (const ToolCall& call : alone[i].calls)
      EXPECT_TRUE(requests[i].calling.allowed.empty() || call.name == "c");
  }
  EXPECT_GT(n_calls, 0);
  EXPECT_GT(n_begun, 0);
  const auto expect_same = [&](const std::vector<Completion>& all, const char* how) {
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].tokens, alone[i].tokens) << how << ", request " << i;
      EXPECT_EQ(all[i].logits_hash, alone[i].logits_hash) << how << ", request " << i;
      EXPECT_EQ(all[i].calls, alone[i].calls) << how << ", request " << i;
    }
  };
  const auto together = open_whole(true);
  expect_same(completions(*together, requests), "together");
  expect_same(completions(*together, requests), "cached");
  expect_same(completions(*open_whole(false), requests), "one by one");
  RankLayout layout;
  layout.tp = 2;
  const RankThreads ranks(models, model, layout);
  LoopOptions options = tiny_loop_options();
  options.ranks = &ranks.first();
  const auto loop =
      open_loop(models.share(model, layout.share_of(0)), options, &tokenizer, &forms, &answers);
  ASSERT_TRUE(loop.ok()) << loop.error().message();
  expect_same(completions(**loop, requests), "two ranks");
  printf("%zu requests, %d calls, %d answers that began one themselves\n", requests.size(), n_calls,
         n_begun);
}

}  // namespace
}  // namespace pando::testing
