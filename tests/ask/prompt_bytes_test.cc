// Bytes of prompts that a router hashes, and the work that it counts.
#include "ask/prompt_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "json_literal.h"

namespace pando::ask {
namespace {

std::string bytes_of(const Json& body, std::string_view path = "/v1/chat/completions") {
  std::string bytes;
  const PromptWork work =
      read_prompt_bytes(path, body, [&](std::string_view more) { bytes += more; });
  EXPECT_EQ(work.n_bytes, bytes.size());
  return bytes;
}

size_t n_common(const Json& a, const Json& b) {
  const std::string of_a = bytes_of(a), of_b = bytes_of(b);
  return static_cast<size_t>(std::ranges::mismatch(of_a, of_b).in1 - of_a.begin());
}

Json chat(Json messages) { return {{"model", "m"}, {"messages", std::move(messages)}}; }

TEST(PromptBytes, AConversationBeginsWithItsEarlierTurns) {
  const Json first = chat(
      {{{"role", "system"}, {"content", "Be brief."}}, {{"role", "user"}, {"content", "Why?"}}});
  Json second = first;
  second["messages"].push_back({{"role", "assistant"}, {"content", "So."}});
  second["messages"].push_back({{"role", "user"}, {"content", "And?"}});
  EXPECT_TRUE(bytes_of(second).starts_with(bytes_of(first)));
}

TEST(PromptBytes, OptionsAndTheOrderOfMembersChangeNothing) {
  const Json plain = chat({{{"role", "user"}, {"content", "Why?"}}});
  Json other = {{"temperature", 0.5}, {"stream", true}};
  other["messages"] = {{{"content", "Why?"}, {"role", "user"}}};
  other["model"] = "m";
  EXPECT_EQ(bytes_of(other), bytes_of(plain));
}

TEST(PromptBytes, WhatDiffersEarlyDiffersEarly) {
  const std::string system(300, 's'), question(300, 'q');
  const auto body = [&](const std::string& first, const std::string& tool) {
    Json made =
        chat({{{"role", "system"}, {"content", first}}, {{"role", "user"}, {"content", question}}});
    made["tools"] = {{{"type", "function"}, {"function", {{"name", tool}}}}};
    return made;
  };
  const Json base = body(system, "look");
  EXPECT_LT(n_common(base, body("t" + system, "look")), 20U);
  const size_t of_tools = n_common(base, body(system, "find"));
  EXPECT_GT(of_tools, system.size());
  EXPECT_LT(of_tools, system.size() + 100);
}

TEST(PromptBytes, TokensTakeFourBytesEach) {
  const Json body = {{"prompt", {1, 2, 70000}}};
  EXPECT_EQ(bytes_of(body, "/v1/completions"), std::string("\1\0\0\0\2\0\0\0\x70\x11\1\0\n", 13));
}

TEST(PromptBytes, EveryRouteHasItsTexts) {
  const std::pair<const char*, Json> bodies[] = {
      {"/v1/completions", {{"prompt", "a text"}}},
      {"/v1/responses", {{"input", "a text"}}},
      {"/v1/responses", {{"instructions", "a text"}, {"input", "x"}}},
      {"/v1/messages", {{"system", "a text"}, {"messages", Json::array()}}},
      {"/v1/answers", {{"context", "a text"}, {"questions", {"x", "y"}}}},
      {"/v1/answers", {{"context", "x"}, {"questions", {"y", {{"text", "a text"}}}}}},
      {"/v1/embeddings", {{"input", {"x", "a text"}}}},
      {"/v1/rerank", {{"query", "x"}, {"documents", {"y", {{"text", "a text"}}}}}},
      {"/rerank", {{"query", "x"}, {"texts", {"a text"}}}},
      {"/v1/score", {{"text_1", "x"}, {"text_2", {"a text"}}}},
      {"/v1/score", {{"prompt", "x"}, {"continuations", {"a text"}}}},
      {"/v1/chat/completions",
       {{"messages",
         {{{"role", "user"}, {"content", {{{"type", "text"}, {"text", "a text"}}}}}}}}}};
  for (const auto& [path, body] : bodies)
    EXPECT_NE(bytes_of(body, path).find("a text"), std::string::npos) << path << json_text(body);
}

TEST(PromptBytes, CountsAnswersAndTheirLength) {
  const auto work_of = [](const char* path, const Json& body) {
    return read_prompt_bytes(path, body, [](std::string_view) {});
  };
  PromptWork work = work_of("/v1/completions", {{"prompt", {"a", "b"}}, {"n", 3}});
  EXPECT_EQ(work.n_answers, 6U);
  EXPECT_EQ(work.max_tokens, 16);
  work = work_of("/v1/completions", {{"prompt", {1, 2, 3}}, {"max_tokens", 5}, {"stream", true}});
  EXPECT_EQ(work.n_answers, 1U);
  EXPECT_EQ(work.max_tokens, 5);
  EXPECT_TRUE(work.stream);
  work = work_of("/v1/chat/completions", {{"ttft_slo_ms", 250}});
  EXPECT_EQ(work.max_tokens, std::nullopt);
  EXPECT_EQ(work.ttft_slo, 0.25);
  EXPECT_EQ(work_of("/v1/answers", {{"context", "c"}, {"questions", {"a", "b"}}}).n_answers, 2U);
  EXPECT_EQ(work_of("/v1/responses", {{"previous_response_id", "resp_1"}}).previous_response_id,
            "resp_1");
  EXPECT_EQ(work_of("/v1/embeddings", {{"input", "a"}}).n_answers, 0U);
  EXPECT_FALSE(work_of("/v1/chat/completions", {{"cache", false}}).cached);
}

TEST(PromptBytes, AWrongBodyIsReadToo) {
  for (const Json& body : {Json::object(), Json{{"messages", "x"}, {"max_tokens", "y"}, {"n", -1}},
                           Json{{"messages", {1, nullptr}}, {"stream", 3}, {"prompt", {{}}}}})
    bytes_of(body);
}

}  // namespace
}  // namespace pando::ask
