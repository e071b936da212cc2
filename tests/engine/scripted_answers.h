// A model that writes a given text, with calls and reasoning of Hermes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/scripted_executor.h"
#include "engine/test_loop.h"
#include "text/calls/call_format.h"
#include "text/channel_tokenizer.h"

namespace pando::testing::scripted {

inline constexpr Token kReturn = 260;
inline constexpr int kVocab = kChannelVocab + 3;
inline const std::string kAsked = "Weather?";
inline const std::string kParis = R"(<tool_call>
{"name": "weather", "arguments": {"city": "Paris"}}
</tool_call>)";
inline const std::string kRome = R"(<tool_call>
{"name": "weather", "arguments": {"city": "Rome"}}
</tool_call>)";

inline const Tokenizer& tokenizer() {
  static const std::unique_ptr<Tokenizer> loaded = [] {
    Json json = channel_tokenizer_json();
    int id = kChannelVocab;
    for (const char* content : {">\n{\"na", ">x"})  // across the end of a mark
      json["added_tokens"].push_back(added_token(id++, content, /*special=*/false));
    json["added_tokens"].push_back(added_token(id++, "<think>", /*special=*/true));
    return load_json(json);
  }();
  return *loaded;
}
inline std::vector<Token> tokens_of(const std::string& text) {
  return tokenizer().encode(text, /*add_bos=*/false).value();
}

inline grammar::FormCache& forms() {
  static grammar::FormCache all(tokenizer());
  return all;
}

inline const AnswerFormat& format() {
  static const AnswerFormat kFormat = [] {
    AnswerFormat of_model{.calls = *calls::call_format_named("hermes")};
    of_model.calls->reasoning_begin = "<think>";
    of_model.calls->reasoning_end = "</think>";
    of_model.calls->prompt_ends = {"<think>"};
    of_model.call_forms = std::make_shared<calls::CallForms>(&forms(), *of_model.calls);
    of_model.opening = find_opening(tokenizer(), *of_model.calls);
    return of_model;
  }();
  return kFormat;
}

struct Told {
  std::string text, reasoning;  // of all events
  std::vector<ToolCall> calls;
  Completion completion;
};

inline Request asked(const std::string& prompt = kAsked, bool offers = true) {
  Request request;
  request.id = "r";
  request.tokens = tokens_of(prompt);
  request.messages.push_back({"user", prompt});
  request.sampling.max_tokens = 300;
  if (offers)
    request.chat.tools = JsonValue::parse(R"([{"type": "function", "function": {
        "name": "weather", "parameters": {"type": "object", "properties": {
          "city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}}},
      {"type": "function", "function": {"name": "clock"}}])")
                             .value();
  return request;
}

// A loop in which the model answers a request with `script`.
inline std::unique_ptr<EngineLoop> loop_of(const std::string& script, const Request& request,
                                    const AnswerFormat& format, bool forces_tokens) {
  LoopOptions options = tiny_loop_options();
  options.forces_tokens = forces_tokens;
  LoopParts parts{.options = options,
                  .tokenizer = &tokenizer(),
                  .forms = &forms(),
                  .answers = &format,
                  .end_ids = {kReturn},
                  .max_positions = kTinyContext};
  EXPECT_TRUE(fill_in(parts.options.engine, kTinyContext).ok());
  parts.planner = std::move(make_technique("tree", options.tile_len).value().planner);
  parts.pool = std::make_unique<ThreadPool>(1);
  std::vector<Token> all = request.tokens;
  for (const Token token : tokens_of(script + "<|return|>")) all.push_back(token);
  parts.executor = std::make_unique<ScriptedExecutor>(ExecutorFacts{.vocab = kVocab,
                                                                    .d_model = 4,
                                                                    .page_len = options.page_len,
                                                                    .tile_len = options.tile_len,
                                                                    .n_pages = 100,
                                                                    .page_bytes = 64,
                                                                    .kv_capacity = 600,
                                                                    .longest_path = 600},
                                                      std::move(all));
  return std::make_unique<EngineLoop>(std::move(parts));
}

// The answer of a model that writes `script`.
inline Told told(const std::string& script, Request request, const AnswerFormat& of = format(),
          bool forces_tokens = true) {
  const std::unique_ptr<EngineLoop> loop = loop_of(script, request, of, forces_tokens);
  Told told;
  const Status status = loop->submit(1, std::move(request), [&](const Event& event) {
    ASSERT_FALSE(event.error) << event.error->message();
    told.text += event.text;
    told.reasoning += event.reasoning;
    told.calls.insert(told.calls.end(), event.calls.begin(), event.calls.end());
    if (event.completion) told.completion = *event.completion;
  });
  EXPECT_TRUE(status.ok()) << status.error().message();
  for (int i = 0; i < 2000 && loop->step(); ++i) loop->deliver_events();
  loop->deliver_events();
  EXPECT_EQ(told.text, told.completion.text);
  EXPECT_EQ(told.reasoning, told.completion.reasoning);
  EXPECT_EQ(told.calls, told.completion.calls);
  return told;
}

}  // namespace pando::testing::scripted
