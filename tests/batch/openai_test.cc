// Lines of an OpenAI batch, and what is answered to them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/tiny_engine.h"
#include "pando/batch.h"

namespace pando::testing {
namespace {

using Json = nlohmann::ordered_json;

Json answer_to(const std::string& line, uint64_t n_failed = 0) {
  std::istringstream in(line + "\n");
  std::ostringstream out;
  BatchOptions options;
  options.defaults.sampling.max_tokens = 4;
  options.defaults.sampling.ignore_eos = true;
  const auto summary = run_batch(*open_tiny(), in, 0, out, options);
  EXPECT_TRUE(summary.ok());
  EXPECT_EQ(summary->failed, n_failed) << out.str();
  return Json::parse(out.str());
}

Json body_of(const std::string& url, const std::string& body) {
  const Json answer = answer_to(R"({"custom_id": "a", "method": "POST", "url": "/v1/)" + url +
                                R"(", "body": )" + body + "}");
  EXPECT_EQ(answer["response"]["status_code"], 200);
  EXPECT_EQ(answer["error"], nullptr);
  return answer["response"]["body"];
}

Json error_object(const std::string& url, const std::string& body) {
  const Json answer = answer_to(
      R"({"custom_id": "a", "method": "POST", "url": ")" + url + R"(", "body": )" + body + "}", 1);
  EXPECT_EQ(answer["response"]["status_code"], 400);
  EXPECT_EQ(answer["custom_id"], "a");
  return answer["response"]["body"]["error"];
}

std::string error_of(const std::string& url, const std::string& body) {
  return error_object(url, body)["message"];
}

TEST(OpenAi, ACompletion) {
  const Json body = body_of("completions", R"({"model": "any", "prompt": "A prompt."})");
  const auto alone = open_tiny()->complete(tiny_request("A prompt.", 4));
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["model"], "any");
  EXPECT_GT(body["created"], 1700000000);
  ASSERT_EQ(body["choices"].size(), 1u);
  EXPECT_EQ(body["choices"][0]["text"], alone->at(0).text);
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["usage"],
            Json::parse(R"({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13})"));
}

TEST(OpenAi, ErrorsNameTheFieldToBlame) {
  const std::string whole(700, 'x');
  EXPECT_EQ(error_object("/v1/completions", R"({"prompt": ")" + whole + "\"}")["param"], "prompt");
  EXPECT_EQ(error_object("/v1/embeddings", R"({"input": ")" + whole + "\"}")["param"], "input");
  EXPECT_EQ(error_object("/v1/completions", R"({"prompt": "P", "top_p": 2})")["param"], "top_p");
}

TEST(OpenAi, SeveralPromptsAndAnswers) {
  const Json body = body_of(
      "completions", R"({"prompt": ["One", [84, 119, 111]], "n": 2, "temperature": 1, "seed": 3})");
  ASSERT_EQ(body["choices"].size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(body["choices"][i]["index"], i);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 6);
  EXPECT_EQ(body["usage"]["completion_tokens"], 16);
  EXPECT_EQ(body_of("completions", R"({"prompt": [84, 119, 111]})")["choices"],
            body_of("completions", R"({"prompt": "Two"})")["choices"]);
}

TEST(OpenAi, LogprobsOfPromptAndAnswer) {
  const Json body =
      body_of("completions", R"({"prompt": "abcd", "echo": true, "logprobs": 2, "max_tokens": 1})");
  const Json& choice = body["choices"][0];
  EXPECT_TRUE(choice["text"].get<std::string>().starts_with("abcd"));
  const Json& lists = choice["logprobs"];
  ASSERT_EQ(lists["tokens"].size(), 5u);
  EXPECT_EQ(lists["tokens"][0], "a");
  EXPECT_EQ(lists["token_logprobs"][0], nullptr);
  EXPECT_LT(lists["token_logprobs"][1], 0);
  EXPECT_GE(lists["top_logprobs"][3].size(), 2u);  // two, and the token itself
  EXPECT_EQ(lists["top_logprobs"][3]["d"], lists["token_logprobs"][3]);
  EXPECT_EQ(lists["text_offset"][4], 4);
  EXPECT_EQ(
      body_of("completions", R"({"prompt": "abcd", "echo": true, "logprobs": 0, "max_tokens": 0})")
          ["choices"][0]["logprobs"]["token_logprobs"]
              .size(),
      4u);
  EXPECT_EQ(
      body_of("completions", R"({"prompt": "a", "echo": true, "logprobs": 0, "max_tokens": 0})")
          ["choices"][0]["logprobs"]["token_logprobs"],
      Json::array({nullptr}));
}

TEST(OpenAi, AChat) {
  const Json body = body_of("chat/completions",
                            R"({"messages": [{"role": "user", "content": "Q"}], )"
                            R"("logprobs": true, "top_logprobs": 1, "max_completion_tokens": 2})");
  EXPECT_EQ(body["object"], "chat.completion");
  const Json& choice = body["choices"][0];
  EXPECT_EQ(choice["message"]["role"], "assistant");
  ASSERT_EQ(choice["logprobs"]["content"].size(), 2u);
  EXPECT_EQ(choice["logprobs"]["content"][0]["top_logprobs"].size(), 1u);
  EXPECT_EQ(body["usage"]["completion_tokens"], 2);
}

TEST(OpenAi, Embeddings) {
  const Json body = body_of("embeddings", R"({"input": ["One text", "Another"], "model": "m"})");
  EXPECT_EQ(body["usage"], Json::parse(R"({"prompt_tokens": 15, "total_tokens": 15})"));
  ASSERT_EQ(body["data"].size(), 2u);
  const auto values = body["data"][1]["embedding"].get<std::vector<float>>();
  EXPECT_EQ(values.size(), static_cast<size_t>(tiny_model()->info().d_model));
  double length = 0;
  for (const float value : values) length += double{value} * value;
  EXPECT_NEAR(length, 1, 1e-6);
  // The first values, scaled to length 1 again.
  const auto cut =
      body_of("embeddings", R"({"input": "Another", "dimensions": 3})")["data"][0]["embedding"]
          .get<std::vector<float>>();
  ASSERT_EQ(cut.size(), 3u);
  const double of_three = std::hypot(double{values[0]}, double{values[1]}, double{values[2]});
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(cut[i], values[i] / of_three, 1e-5);
  // Alone the same bits as in company; in base64 the same bytes.
  EXPECT_EQ(body_of("embeddings", R"({"input": "Another"})")["data"][0]["embedding"],
            body["data"][1]["embedding"]);
  const std::string text = body_of(
      "embeddings", R"({"input": "Another", "encoding_format": "base64"})")["data"][0]["embedding"];
  EXPECT_EQ(text.size(), (values.size() * 4 + 2) / 3 * 4);
  std::string bytes;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    if ((n_bits += 6) >= 8) bytes += static_cast<char>(bits >> (n_bits -= 8));
  }
  ASSERT_EQ(bytes.size(), values.size() * 4);
  EXPECT_EQ(std::memcmp(bytes.data(), values.data(), bytes.size()), 0);
}

TEST(OpenAi, BadRequestsAreAnswered) {
  EXPECT_EQ(error_of("/v1/completions", R"({"prompt": 5})"),
            "field 'prompt' is 5, expected a string, a list of token ids, or a list of these");
  EXPECT_EQ(error_of("/v1/completions", R"({"prompt": "P", "promt": 1})"),
            "field 'promt' is unknown or unsupported (hint: 'prompt'?)");
  EXPECT_EQ(error_of("/v1/completions", R"({"prompt": "P", "stream": true})"),
            "field 'stream' is true, expected false in a batch");
  EXPECT_EQ(error_of("/v1/completions", R"({"prompt": "P", "best_of": 3})"),
            "field 'best_of' is 3, expected the value of 'n'");
  EXPECT_EQ(error_of("/v1/completions", R"({"prompt": []})"),
            "field 'prompt' is [], expected a string, a list of token ids, or a list of these");
  EXPECT_EQ(error_of("/v1/completions", R"({"prompt": [[]]})"),
            "field 'prompt[0]' is [], expected at least one token");
  EXPECT_EQ(error_of("/v1/chat/completions", R"({"messages": []})"),
            "field 'messages' is [], expected a non-empty list");
  EXPECT_EQ(error_of("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "Q"}], )"
                                             R"("documents": [{"text": "t"}]})"),
            "'documents' is given, but the chat template never reads it");
  EXPECT_EQ(error_of("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "Q"}], )"
                                             R"("tools": [{"type": "web_search"}]})"),
            "field 'tools[0].type' is \"web_search\", expected \"function\"");
  EXPECT_EQ(
      error_of("/v1/completions", R"({"prompt": "P", "response_format": )"
                                  R"({"type": "json_object", "wanted": {"type": "object"}}})"),
      "field 'response_format.wanted' is unknown, expected type, schema, value");
  EXPECT_EQ(
      error_of("/v1/chat/completions",
               R"({"messages": [{"role": "user", "content": "Q"}], "tool_choice": "required"})"),
      "field 'tool_choice' asks for a call, but 'tools' offers no function");
  EXPECT_EQ(error_of("/v1/other", "{}"),
            "field 'url' is \"/v1/other\", expected one of /v1/completions, "
            "/v1/chat/completions, /v1/embeddings");
  for (const int n : {0, -1, 100000})
    EXPECT_EQ(
        error_of("/v1/embeddings", fmt::format(R"({{"input": "P", "dimensions": {}}})", n)),
        fmt::format("field 'dimensions' is {}, expected 1 to {}", n, tiny_model()->info().d_model));
  EXPECT_TRUE(error_of("/v1/completions", R"({"prompt": ")" + std::string(700, 'x') + "\"}")
                  .starts_with("the prompt has 700 tokens"));
}

// As the server names it.
TEST(OpenAi, ErrorsOfSchemasNameTheField) {
  const Json error = error_object(
      "/v1/completions", R"({"prompt": "P", "guided_json": {"type": "null", "enum": [1]}})");
  EXPECT_EQ(error["param"], "guided_json");
  EXPECT_EQ(error["message"], "no text fits the schema: '#/type' is \"null\", but '#/enum' is [1]");
}

TEST(OpenAi, WithoutAnIdThereIsNoAnswer) {
  std::istringstream in("{\"url\": \"/v1/completions\", \"body\": {\"prompt\": \"P\"}}\n");
  std::ostringstream out;
  BatchOptions options;
  std::string problem;
  options.on_problem = [&](const std::string& message) { problem = message; };
  const auto summary = run_batch(*open_tiny(), in, 0, out, options);
  EXPECT_EQ(summary->bad_lines, 1u);
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(problem,
            "line 1: the line has 'url', as in an OpenAI batch, but no 'custom_id', expected a "
            "different one in each line");
}

}  // namespace
}  // namespace pando::testing
