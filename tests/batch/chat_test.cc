// Conversations in a batch: lines with messages, and questions asked with chat.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "ask/parsed_line.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

AnswerOptions chat_defaults() {
  AnswerOptions options;
  options.chat = true;
  return options;
}

Request asked(const std::string& text, const AnswerOptions& defaults = {}) {
  Result<std::unique_ptr<ask::Line>> line = parse_line(text, 7, defaults);
  EXPECT_TRUE(line.ok()) << text << ": " << line.error().message();
  return line.ok() ? (*line)->request_of((*line)->questions.at(0)) : Request{};
}

std::string refused(const std::string& text, const AnswerOptions& defaults = {}) {
  const Result<std::unique_ptr<ask::Line>> line = parse_line(text, 7, defaults);
  return line.ok() ? "taken" : line.error().message();
}

std::string shown(const Request& request) {
  std::string text;
  for (const auto& [role, content, fields] : request.messages)
    text += "[" + role + "|" + content + "]";
  return text + request.prompt;
}

TEST(ChatLine, MessagesNeedNoOption) {
  for (const AnswerOptions& defaults : {AnswerOptions(), chat_defaults()}) {
    const Request request = asked(
        R"({"messages": [{"role": "system", "content": ""}, {"role": "user", "content": "Q"}]})",
        defaults);
    EXPECT_EQ(shown(request), "[system|][user|Q]");
    EXPECT_FALSE(request.chat.thinking);
  }
}

TEST(ChatLine, QuestionsBecomeConversations) {
  AnswerOptions defaults = chat_defaults();
  const std::string questions = R"("context": "C", "questions": ["Q"])";
  EXPECT_EQ(shown(asked("{" + questions + "}", defaults)), "[user|C\n\nQuestion: Q\nAnswer:]");
  EXPECT_EQ(shown(asked("{" + questions + R"(, "instruction": "I"})", defaults)),
            "[system|I][user|C\n\nQuestion: Q\nAnswer:]");
  EXPECT_EQ(
      shown(asked("{" + questions +
                      R"(, "instruction": "I", "template": "{instruction}{context}>{question}"})",
                  defaults)),
      "[system|I][user|C>Q]");
  EXPECT_EQ(shown(asked("{" + questions + R"(, "instruction": "I"})")),
            "I\n\nC\n\nQuestion: Q\nAnswer:");
}

TEST(ChatLine, ContentsInParts) {
  EXPECT_EQ(shown(asked(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "A"},
                            {"type": "text", "text": " B"}]}]})")),
            "[user|A B]");
}

TEST(ChatLine, NamesAndAnswersWithoutText) {
  for (const char* message :
       {R"({"role": "assistant", "content": null})", R"({"role": "assistant"})",
        R"({"role": "assistant", "name": "A", "content": ""})"})
    EXPECT_EQ(
        shown(asked(fmt::format(R"({{"messages": [{{"role": "user", "content": "Q", "name": "N"}},
                                                      {}]}})",
                                message))),
        "[user|Q][assistant|]")
        << message;
}

// Templates keep the order of what they write out.
TEST(ChatLine, ToolsAndFieldsOfMessages) {
  const Request request = asked(
      R"({"messages": [{"role": "user", "content": "Q"}, {"tool_calls": [{"z": 1, "a": {"y": 2,
          "b": 3}}], "role": "assistant", "content": null}, {"role": "tool", "content": "A",
          "tool_call_id": "1"}], "tools": [{"type": "function", "function": {"name": "f", "b": 1}, "a": 2}],
          "documents": [{"title": "T", "a": 1}], "chat_template_kwargs": {"z": [1], "a": null}})");
  EXPECT_TRUE(request.messages[0].fields.is_null());
  EXPECT_EQ(request.messages[1].fields.text(),
            R"({"tool_calls":[{"z":1,"a":{"y":2,"b":3}}],"role":"assistant","content":null})");
  EXPECT_EQ(request.messages[2].fields.text(), R"({"role":"tool","tool_call_id":"1"})");
  EXPECT_EQ(request.messages[2].content, "A");
  EXPECT_EQ(request.chat.tools.text(),
            R"([{"type":"function","function":{"name":"f","b":1,"parameters":)"
            R"({"type":"object","properties":{}}},"a":2}])");
  EXPECT_EQ(request.chat.documents.text(), R"([{"title":"T","a":1}])");
  EXPECT_EQ(request.chat.template_kwargs.text(), R"({"z":[1],"a":null})");
  const Request body = asked(
      R"({"custom_id": "c", "url": "/v1/chat/completions", "body": {"messages": [{"role": "user",
          "content": "Q"}], "tools": [{"type": "function", "function": {"name": "f", "b": 1}, "a": 2}]}})");
  EXPECT_EQ(body.chat.tools.text(),
            R"([{"type":"function","function":{"name":"f","b":1,"parameters":)"
            R"({"type":"object","properties":{}}},"a":2}])");
  EXPECT_TRUE(asked(R"({"messages": [{"role": "user", "content": "Q"}], "tools": [{"type":
                        "function", "function": {"name": "f"}}], "tool_choice": "none"})")
                  .chat.tools.is_null());
}

TEST(ChatLine, EffortsReachTheTemplate) {
  const auto kwargs = [](const std::string& fields) {
    return asked(R"({"custom_id": "c", "url": "/v1/chat/completions", "body": {"messages":
                     [{"role": "user", "content": "Q"}], )" +
                 fields + "}}")
        .chat.template_kwargs.text();
  };
  EXPECT_EQ(kwargs(R"("reasoning_effort": "low")"), R"({"reasoning_effort":"low"})");
  EXPECT_EQ(kwargs(R"("reasoning_effort": "low", "chat_template_kwargs": {"a": 1})"),
            R"({"a":1,"reasoning_effort":"low"})");
  EXPECT_EQ(kwargs(R"("reasoning_effort": "low",
                      "chat_template_kwargs": {"reasoning_effort": "high"})"),
            R"({"reasoning_effort":"high"})");
  EXPECT_EQ(kwargs(R"("reasoning_effort": null)"), "null");
}

TEST(ChatLine, APromptStaysThePrompt) {
  EXPECT_EQ(shown(asked(R"({"prompt": "P"})", chat_defaults())), "P");
}

TEST(ChatLine, Thinking) {
  const std::string messages = R"("messages": [{"role": "user", "content": "Q"}])";
  const std::string questions = R"("context": "C", "questions": ["Q"])";
  AnswerOptions defaults = chat_defaults();
  EXPECT_TRUE(asked("{" + messages + R"(, "thinking": true})").chat.thinking);
  EXPECT_TRUE(asked("{" + questions + R"(, "thinking": true})", defaults).chat.thinking);
  defaults.chat_options.thinking = true;
  EXPECT_TRUE(asked("{" + questions + "}", defaults).chat.thinking);
  EXPECT_FALSE(asked("{" + questions + R"(, "thinking": false})", defaults).chat.thinking);
  const std::string without_chat =
      "field 'thinking' needs 'messages', or 'questions' that are asked as a conversation";
  EXPECT_EQ(refused("{" + questions + R"(, "thinking": true})"), without_chat);
  EXPECT_EQ(refused(R"({"prompt": "P", "thinking": false})", defaults), without_chat);
  EXPECT_EQ(refused("{" + messages + R"(, "thinking": 1})"),
            "field 'thinking' is 1, expected true or false");
}

TEST(ChatLine, ShapesThatAreRefused) {
  EXPECT_EQ(refused(R"({"messages": []})"), "field 'messages' is [], expected a non-empty list");
  EXPECT_EQ(refused(R"({"messages": "Q"})"),
            "field 'messages' is \"Q\", expected a non-empty list");
  EXPECT_EQ(refused(R"({"messages": [{"role": "user", "content": "Q"}, "Q"]})"),
            "message 1 is \"Q\", expected an object");
  EXPECT_EQ(refused(R"({"messages": [{"role": "user"}]})"), "message 0 has no 'content'");
  EXPECT_EQ(refused(R"({"messages": [{"content": "Q"}]})"), "message 0 has no 'role'");
  EXPECT_EQ(refused(R"({"messages": [{"role": "user", "content": ["Q"]}]})"),
            "a part of message 0 is \"Q\", expected an object");
  EXPECT_EQ(refused(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})"),
            "message 0 has an image ('image_url'), but Pando reads only text");
  EXPECT_EQ(refused(R"({"messages": [{"role": "user", "content": null}]})"),
            "message 0 has no 'content'");
  EXPECT_EQ(refused(R"({"messages": [{"role": "user", "content": "Q", "name": 5}]})"),
            "field 'messages[0].name' is 5, expected a string");
  EXPECT_EQ(refused(R"({"messages": [{"role": "user", "content": "Q", "nam": "x"}]})"),
            "field 'messages[0].nam' is unknown (hint: 'name'?)");
  EXPECT_EQ(refused(R"({"messages": [{"role": "", "content": "Q"}]})"),
            "the role of message 0 is empty");
  EXPECT_EQ(refused(R"({"messages": [{"role": "assistant", "tool_calls": [5]}]})"),
            "a tool call of message 0 is 5, expected an object");
  const std::string user = R"("messages": [{"role": "user", "content": "Q"}], )";
  EXPECT_EQ(refused("{" + user + R"("tools": [1]})"),
            "field 'tools' has 1 in it, expected only objects");
  EXPECT_EQ(refused("{" + user + R"("tools": [{"type": "web_search"}], "tool_choice": "none"})"),
            "field 'tools[0].type' is \"web_search\", expected \"function\"");
  EXPECT_EQ(refused("{" + user + R"("response_format": {"type": "json_object"}})"),
            "field 'response_format' is unknown");
  EXPECT_EQ(refused("{" + user + R"("documents": {}})"),
            "field 'documents' is {}, expected a list");
  EXPECT_EQ(refused(R"({"prompt": "P", "tools": []})"),
            "field 'tools' needs 'messages', or 'questions' that are asked as a conversation");
  EXPECT_EQ(refused(R"({"messages": [{"role": "user", "content": "Q"}], "prompt": "P"})"),
            "expected exactly one of 'questions', 'question', 'prompt', 'messages' and 'tokens'");
  EXPECT_EQ(
      refused(
          R"({"messages": [{"role": "user", "content": "Q"}], "context": "C", "questions": ["Q"]})"),
      "field 'messages' cannot be combined with 'questions'");
}

struct Ran {
  Result<BatchSummary> summary;
  std::vector<nlohmann::json> lines;
  std::vector<std::string> problems;
};

Ran run(const std::string& input, const AnswerOptions& defaults,
        const std::shared_ptr<const Model>& model = tiny_model()) {
  std::istringstream in(input);
  std::ostringstream out;
  std::vector<std::string> problems;
  BatchOptions options;
  options.defaults = defaults;
  options.defaults.sampling.max_tokens = 4;
  options.defaults.sampling.ignore_eos = true;
  options.defaults.logits_hash = true;
  options.on_problem = [&](const std::string& message) { problems.push_back(message); };
  Result<std::unique_ptr<Engine>> engine = Engine::open(model, tiny_options());
  Ran ran{run_batch(**engine, in, input.size(), out, options), {}, problems};
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);)
    ran.lines.push_back(nlohmann::json::parse(line));
  return ran;
}

// By hand, as the template of generated models writes it.
constexpr const char* kByHand =
    R"lines({"id": "d", "context": "C", "questions": ["Q", "R"], "template": "system: I\nuser: {context}\n\nQuestion: {question}\nAnswer:\nassistant:"}
{"id": "m", "prompt": "user: Q\nassistant: (thinking)"}
)lines";

TEST(ChatBatch, AnswersAreThoseOfTheRenderedPrompts) {
  AnswerOptions chat = chat_defaults();
  chat.instruction = "I";
  const Ran asked = run(R"({"id": "d", "context": "C", "questions": ["Q", "R"]}
{"id": "m", "messages": [{"role": "user", "content": "Q"}], "thinking": true}
)",
                        chat);
  const Ran by_hand = run(kByHand, {});
  ASSERT_TRUE(asked.summary.ok() && by_hand.summary.ok());
  EXPECT_TRUE(asked.problems.empty());
  EXPECT_EQ(asked.summary->answers, 3u);
  EXPECT_EQ(by_hand.summary->answers, 3u);
  EXPECT_EQ(asked.summary->combined_hash, by_hand.summary->combined_hash);
}

TEST(ChatBatch, TheContextIsComputedOnce) {
  const std::string context(100, 'c');
  const Ran ran =
      run(R"({"context": ")" + context + R"(", "questions": ["Q", "R", "S"]})", chat_defaults());
  ASSERT_TRUE(ran.summary.ok());
  EXPECT_EQ(ran.summary->answers, 3u);
  const std::string shared = "user: " + context + "\n\nQuestion: ";
  EXPECT_EQ(ran.summary->stats.prefill_rows,
            shared.size() + 3 * std::string("Q\nAnswer:\nassistant:").size());
}

TEST(ChatBatch, AConversationThatIsRefusedFailsAlone) {
  const Ran ran = run(R"({"id": "m", "messages": [{"role": "", "content": "Q"}]}
{"id": "n", "messages": [{"role": "user", "content": "Q"}]}
)",
                      {});
  ASSERT_TRUE(ran.summary.ok());
  EXPECT_EQ(ran.summary->bad_lines, 1u);
  EXPECT_EQ(ran.summary->answers, 1u);
  EXPECT_EQ(ran.problems, std::vector<std::string>{"line 1: the role of message 0 is empty"});
}

TEST(ChatBatch, WithoutATemplateNothingIsRead) {
  TemporaryFolder folder;
  RandomModelOptions options;
  options.out = folder.path();
  ASSERT_TRUE(make_random_model(options).ok());
  folder.write("chat_template.jinja", "{{ messages|nope }}");
  const std::shared_ptr<const Model> model = *Model::load(folder.path());
  const Ran ran = run(R"({"context": "C", "questions": ["Q"]})", chat_defaults(), model);
  ASSERT_FALSE(ran.summary.ok());
  EXPECT_EQ(ran.summary.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(ran.lines.empty());
  EXPECT_TRUE(run(R"({"context": "C", "questions": ["Q"]})", {}, model).summary.ok());
}

}  // namespace
}  // namespace pando::testing
