// One line of input: what is taken, and what is said about the rest.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ask/parsed_line.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

std::unique_ptr<ask::Line> parsed(const std::string& text, const AnswerOptions& defaults = {}) {
  Result<std::unique_ptr<ask::Line>> line = parse_line(text, 7, defaults);
  EXPECT_TRUE(line.ok()) << text << ": " << line.error().message();
  return line.ok() ? std::move(*line) : nullptr;
}

std::string refused(const std::string& text) {
  const Result<std::unique_ptr<ask::Line>> line = parse_line(text, 7, {});
  if (line.ok()) return "taken";
  EXPECT_EQ(line.error().code, ErrorCode::kInvalidArgument);
  return line.error().message();
}

TEST(InputLine, AContextWithQuestions) {
  AnswerOptions defaults;
  defaults.logits_hash = true;
  const std::unique_ptr<ask::Line> line = parsed(
      R"({"id": "d1", "context": "C", "questions": ["one?", {"text": "two?"},
          {"id": "q", "text": "three?", "answers": ["3", "III"]}, {"id": 4, "text": "", "answers": []}]})",
      defaults);
  EXPECT_EQ(json_text(line->id_json), "\"d1\"");
  ASSERT_EQ(line->questions.size(), 4u);
  EXPECT_EQ(line->request_of(line->questions[0]).prompt, "C\n\nQuestion: one?\nAnswer:");
  const std::vector<std::string> ids = {"d1/0", "d1/1", "d1/q", "d1/4"};
  const std::vector<std::string> ids_json = {"\"0\"", "\"1\"", "\"q\"", "4"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(line->questions[i].request.id, ids[i]);
    EXPECT_EQ(json_text(line->questions[i].id_json), ids_json[i]);
    EXPECT_TRUE(line->questions[i].request.logits_hash);
  }
  EXPECT_FALSE(line->questions[1].answers);
  EXPECT_EQ(line->questions[2].answers, (std::vector<std::string>{"3", "III"}));
  EXPECT_EQ(line->questions[3].answers, std::vector<std::string>{});
}

TEST(InputLine, InstructionAndTemplate) {
  AnswerOptions defaults;
  defaults.instruction = "Default.";
  const char* questions = R"("context": "C", "questions": ["Q"])";
  const auto prompt = [&](const std::string& fields) {
    const std::unique_ptr<ask::Line> line = parsed("{" + fields + questions + "}", defaults);
    return line->request_of(line->questions[0]).prompt;
  };
  EXPECT_EQ(prompt(""), "Default.\n\nC\n\nQuestion: Q\nAnswer:");
  EXPECT_EQ(prompt(R"("instruction": "", "template": "{instruction}{context}>{question}", )"),
            "C>Q");
}

TEST(InputLine, OneQuestion) {
  const std::unique_ptr<ask::Line> line =
      parsed(R"({"id": "d", "context": "C", "question": "Q", "answers": "A"})");
  ASSERT_EQ(line->questions.size(), 1u);
  EXPECT_FALSE(line->questions[0].id);
  EXPECT_EQ(line->questions[0].request.id, "d");
  EXPECT_EQ(line->questions[0].answers, std::vector<std::string>{"A"});
  EXPECT_EQ(line->request_of(line->questions[0]).prompt, "C\n\nQuestion: Q\nAnswer:");
  EXPECT_EQ(refused(R"({"question": "Q"})"),
            "the line has 'question' but no 'context', expected 'context' with 'questions' or "
            "'question', or one of 'prompt', 'messages' and 'tokens'");
  EXPECT_EQ(refused(R"({"context": "C", "question": "Q", "questions": ["R"]})"),
            "field 'questions' cannot be combined with 'question'");
}

TEST(InputLine, MetadataOfTheLineAndOfItsQuestions) {
  const std::unique_ptr<ask::Line> line = parsed(
      R"({"context": "C", "metadata": {"z": 1, "a": [2]},
          "questions": ["Q", {"text": "R", "metadata": {"a": null}}]})");
  EXPECT_EQ(line->questions[0].metadata, nlohmann::ordered_json::parse(R"({"a": [2], "z": 1})"));
  EXPECT_EQ(line->questions[1].metadata, nlohmann::ordered_json::parse(R"({"a": null, "z": 1})"));
  EXPECT_TRUE(parsed(R"({"prompt": "P"})")->questions[0].metadata.empty());
  EXPECT_EQ(refused(R"({"prompt": "P", "metadata": 5})"),
            "field 'metadata' is 5, expected an object");
}

TEST(InputLine, SchemasOfTheLineAndItsQuestions) {
  const std::unique_ptr<ask::Line> line = parsed(
      R"({"context": "C", "schema": {"type": "object", "properties": {"z": {}, "a": {}}},
          "questions": ["Q", {"text": "R", "schema": {"enum": ["y", "b"]}}]})");
  const auto form = [&](int question) {
    return line->request_of(line->questions[question]).sampling.form.value();
  };
  EXPECT_EQ(form(0).kind, TextForm::Kind::kJsonSchema);
  EXPECT_EQ(form(0).schema.text(), R"({"type":"object","properties":{"z":{},"a":{}}})")
      << "as written";
  EXPECT_EQ(form(1).schema.text(), R"({"enum":["y","b"]})");
  EXPECT_EQ(refused(R"({"prompt": "P", "schema": 5})"),
            "field 'schema' is 5, expected a JSON schema");
  EXPECT_EQ(refused(R"({"prompt": "P", "schema": {}, "choices": ["a", "b"]})"),
            "field 'choices' cannot be combined with 'schema'");
}

TEST(InputLine, APromptOrTokens) {
  const std::unique_ptr<ask::Line> text = parsed(R"({"prompt": "P", "answers": ["A"]})");
  EXPECT_EQ(json_text(text->id_json), "\"7\"");
  ASSERT_EQ(text->questions.size(), 1u);
  EXPECT_EQ(text->questions[0].request.id, "7");
  EXPECT_EQ(text->questions[0].request.prompt, "P");
  EXPECT_FALSE(text->questions[0].id);
  EXPECT_EQ(text->questions[0].answers, std::vector<std::string>{"A"});
  const std::unique_ptr<ask::Line> tokens = parsed(R"({"id": -3, "tokens": [5, 0, 2147483647]})");
  EXPECT_EQ(json_text(tokens->id_json), "-3");
  EXPECT_EQ(tokens->questions[0].request.id, "-3");
  EXPECT_EQ(tokens->questions[0].request.tokens, (std::vector<Token>{5, 0, 2147483647}));
}

TEST(InputLine, IdsStayAsTheyWere) {
  for (const char* id : {"0", "-12", "18446744073709551615", "\"007\"", "\"\"", "\"\\u00e4\\n\""}) {
    const std::unique_ptr<ask::Line> line =
        parsed(std::string(R"({"id": )") + id + R"(, "context": "", "questions": [{"id": )" + id +
               R"(, "text": "Q"}]})");
    const std::string expected = std::string(id) == "\"\\u00e4\\n\"" ? "\"ä\\n\"" : id;
    EXPECT_EQ(json_text(line->id_json), expected);
    const BatchOptions options;
    const std::vector<std::vector<Completion>> answers(1, std::vector<Completion>(1));
    const std::string output =
        json_text(line->written({.question = &line->questions[0], .answers = answers},
                                {.model = *tiny_model(), .options = options})
                      .at(0));
    EXPECT_TRUE(output.starts_with("{\"id\":" + expected + ",\"question_id\":" + expected +
                                   ",\"text\":\"\","))
        << output;
  }
}

TEST(InputLine, SamplingOptions) {
  AnswerOptions defaults;
  defaults.sampling.max_tokens = 9;
  defaults.sampling.stop = {"default"};
  defaults.sampling.stop_tokens = {1};
  const SamplingOptions none =
      parsed(R"({"prompt": "P"})", defaults)->questions[0].request.sampling;
  EXPECT_EQ(none.max_tokens, 9);
  EXPECT_EQ(none.stop, std::vector<std::string>{"default"});
  EXPECT_EQ(none.stop_tokens, std::vector<Token>{1});
  EXPECT_FALSE(none.seed);
  const SamplingOptions all =
      parsed(R"({"prompt": "P", "max_tokens": 3, "temperature": 1, "top_k": 4, "top_p": 0.5, "n": 2,
                 "seed": 18446744073709551615, "stop": ["x", "y"], "stop_token_ids": [2, 3], "ignore_eos": true,
                 "logprobs": true, "top_logprobs": 3, "min_p": 0.1, "min_tokens": 2,
                 "logit_bias": {"5": -1.5, "7": 2},
                 "repetition_penalty": 1.1, "presence_penalty": 0.2, "frequency_penalty": -0.3})",
             defaults)
          ->questions[0]
          .request.sampling;
  EXPECT_EQ(all.max_tokens, 3);
  EXPECT_EQ(all.min_tokens, 2);
  EXPECT_EQ(all.temperature, 1);
  EXPECT_EQ(all.top_k, 4);
  EXPECT_EQ(all.top_p, 0.5);
  EXPECT_EQ(all.n, 2);
  EXPECT_EQ(all.seed, 18446744073709551615u);
  EXPECT_EQ(all.stop, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(all.stop_tokens, (std::vector<Token>{2, 3}));
  EXPECT_TRUE(all.ignore_eos && all.logprobs);
  EXPECT_EQ(all.top_logprobs, 3);
  EXPECT_EQ(all.min_p, 0.1);
  EXPECT_EQ(all.logit_bias, (std::map<Token, double>{{5, -1.5}, {7, 2}}));
  EXPECT_EQ(all.repetition_penalty, 1.1);
  EXPECT_EQ(all.presence_penalty, 0.2);
  EXPECT_EQ(all.frequency_penalty, -0.3);
  const SamplingOptions one =
      parsed(R"({"prompt": "P", "stop": "x"})", defaults)->questions[0].request.sampling;
  EXPECT_EQ(one.stop, std::vector<std::string>{"x"});
}

// Only the line that ignores the ends drops stop tokens, which may be those of a model's file.
TEST(InputLine, StopTokensOfTheDefaults) {
  AnswerOptions defaults;
  defaults.sampling.stop_tokens = {1};
  defaults.sampling.ignore_eos = true;
  const auto stop_tokens = [&](const std::string& line) {
    return parsed(line, defaults)->questions[0].request.sampling.stop_tokens;
  };
  const std::vector<Token> own = {1}, of_line = {2};
  EXPECT_EQ(stop_tokens(R"({"prompt": "P"})"), own);
  EXPECT_EQ(stop_tokens(R"({"prompt": "P", "max_tokens": 3})"), own);
  EXPECT_EQ(stop_tokens(R"({"prompt": "P", "stop_token_ids": [2]})"), of_line);
  EXPECT_TRUE(stop_tokens(R"({"prompt": "P", "ignore_eos": true})").empty());
}

// A model's file may name a least length.
TEST(InputLine, TheDefaultLeastLengthYieldsToALine) {
  AnswerOptions defaults;
  defaults.sampling.min_tokens = 3;
  const auto least = [&](const std::string& line) {
    return parsed(line, defaults)->questions[0].request.sampling.min_tokens;
  };
  EXPECT_EQ(least(R"({"prompt": "P"})"), 3);
  EXPECT_EQ(least(R"({"prompt": "P", "max_tokens": 1})"), 1);
  EXPECT_EQ(least(R"({"prompt": "P", "max_tokens": 9})"), 3);
  EXPECT_EQ(least(R"({"prompt": "P", "max_tokens": 0, "prompt_logprobs": true})"), 0);
  EXPECT_EQ(least(R"({"context": "C", "question": "Q", "max_tokens": 2})"), 2);
  EXPECT_EQ(least(R"({"prompt": "P", "max_tokens": 5, "min_tokens": 4})"), 4);
  const auto of_body = [](const std::string& url, const std::string& body) {
    return R"({"custom_id": "a", "method": "POST", "url": ")" + url + R"(", "body": )" + body + "}";
  };
  EXPECT_EQ(least(of_body("/v1/completions", R"({"prompt": "P", "max_tokens": 1})")), 1);
  EXPECT_EQ(least(of_body("/v1/chat/completions",
                          R"({"messages": [{"role": "user", "content": "Q"}],
                              "max_completion_tokens": 2})")),
            2);
}

TEST(InputLine, ChoicesOfTheQuestionOrTheLine) {
  const std::unique_ptr<ask::Line> line = parsed(
      R"({"context": "C", "choices": ["yes", "no"],
          "questions": ["Q", {"text": "R", "choices": ["A", "B", "C"]}]})");
  EXPECT_EQ(line->questions[0].choices, (std::vector<std::string>{"yes", "no"}));
  EXPECT_EQ(line->questions[1].choices, (std::vector<std::string>{"A", "B", "C"}));
  EXPECT_EQ(parsed(R"({"prompt": "P", "choices": ["A"]})")->questions[0].choices.size(), 1u);
  EXPECT_EQ(refused(R"({"tokens": [1], "choices": ["A"]})"),
            "'tokens' cannot be combined with 'choices'");
}

TEST(InputLine, PromptLogprobs) {
  EXPECT_EQ(parsed(R"({"prompt": "P", "prompt_logprobs": true, "max_tokens": 0})")
                ->questions[0]
                .request.prompt_logprobs_from,
            1);
  EXPECT_FALSE(parsed(R"({"prompt": "P"})")->questions[0].request.prompt_logprobs_from);
}

TEST(InputLine, NullIsAsGoodAsAbsent) {
  AnswerOptions defaults;
  defaults.sampling.stop = {"default"};
  const std::unique_ptr<ask::Line> plain = parsed(
      R"({"id": null, "prompt": "P", "tokens": null, "questions": null, "context": null, "answers": null,
          "stop": null, "seed": null, "n": null})",
      defaults);
  EXPECT_EQ(json_text(plain->id_json), "\"7\"");
  EXPECT_FALSE(plain->questions[0].answers);
  EXPECT_EQ(plain->questions[0].request.sampling.stop, std::vector<std::string>{"default"});
  const std::unique_ptr<ask::Line> questions = parsed(
      R"({"context": "C", "prompt": null, "questions": [{"id": null, "text": "Q", "answers": null}]})");
  EXPECT_EQ(questions->questions[0].request.id, "7/0");
  EXPECT_FALSE(questions->questions[0].answers);
}

TEST(InputLine, ShapesThatAreRefused) {
  EXPECT_TRUE(refused("{").starts_with("not JSON: "));
  EXPECT_TRUE(refused(R"({"prompt": "P"} {})").starts_with("not JSON: "));
  EXPECT_TRUE(refused("{\"prompt\": \"\xff\"}").starts_with("not JSON: "));
  EXPECT_TRUE(refused(R"({"prompt": "\ud800"})").starts_with("not JSON: "));
  EXPECT_TRUE(refused(R"({"prompt": "P", "temperature": 1e999})").starts_with("not JSON: "));
  EXPECT_EQ(refused("\"text\""), "the line is \"text\", expected an object");
  EXPECT_EQ(refused("[1]"), "the line is [1], expected an object");
  EXPECT_EQ(refused("{}"),
            "expected exactly one of 'questions', 'question', 'prompt', 'messages' and 'tokens'");
  EXPECT_EQ(refused(R"({"prompt": "P", "tokens": [1]})"),
            "expected exactly one of 'questions', 'question', 'prompt', 'messages' and 'tokens'");
  EXPECT_EQ(refused(R"({"prompt": ""})"), "the prompt is empty, expected at least one token");
  EXPECT_EQ(refused(R"({"tokens": []})"), "the prompt is empty, expected at least one token");
  EXPECT_EQ(refused(R"({"promt": "P"})"), "field 'promt' is unknown (hint: 'prompt'?)");
  EXPECT_EQ(refused(R"({"text": "P"})"),
            "field 'text' is unknown, expected 'context' with 'questions' or 'question', or one of "
            "'prompt', 'messages' and 'tokens'");
  EXPECT_EQ(refused(R"({"context": "C", "question": "Q", "text": "T"})"),
            "field 'text' is unknown");
  EXPECT_EQ(refused(R"({"prompt": "P", "source": "S"})"), "field 'source' is unknown");
  EXPECT_EQ(refused(R"({"prompt": "P", "context": "C"})"),
            "field 'context' needs 'questions', which the line does not have");
  EXPECT_EQ(refused(R"({"questions": ["Q"]})"),
            "the line has 'questions' but no 'context', expected 'context' with 'questions' or "
            "'question', or one of 'prompt', 'messages' and 'tokens'");
  EXPECT_EQ(refused(R"({"context": "C", "questions": []})"),
            "field 'questions' is [], expected a non-empty list");
  EXPECT_EQ(refused(R"({"context": "C", "questions": "Q"})"),
            "field 'questions' is \"Q\", expected a non-empty list");
  for (const char* other : {"\"prompt\": \"P\"", "\"tokens\": [1]", "\"answers\": []"})
    EXPECT_NE(refused(std::string(R"({"context": "C", "questions": ["Q"], )") + other + "}")
                  .find("cannot be combined with"),
              std::string::npos);
  EXPECT_EQ(refused(R"({"context": "C", "questions": ["Q", 3]})"),
            "question 1 is 3, expected a string or an object");
  EXPECT_EQ(refused(R"({"context": "C", "questions": [{"id": "q"}]})"), "question 0 has no 'text'");
  EXPECT_EQ(
      refused(R"({"context": "C", "questions": [{"text": "Q", "n": 2}]})"),
      "field 'questions[0].n' is unknown, expected id, text, answers, choices, schema, metadata");
  EXPECT_EQ(refused(R"({"prompt": "P", "response_format": {"type": "json_object"}})"),
            "field 'response_format' is unknown");
  EXPECT_EQ(refused(R"({"context": "C", "questions": ["Q", {"text": 5}]})"),
            "field 'questions[1].text' is 5, expected a string");
  EXPECT_EQ(refused(R"({"context": "C", "questions": ["Q"], "template": "{context}"})"),
            "the template has no {question} in it");
  EXPECT_EQ(refused(R"({"context": "C", "questions": ["Q"], "template": "{a} {question}"})"),
            "the template has no {context} in it, so the context would be ignored");
  EXPECT_EQ(refused(R"({"context": "C", "questions": ["Q"], "instruction": "I",
                        "template": "{context} {question}"})"),
            "the template has no {instruction} in it, so the instruction would be ignored");
  EXPECT_EQ(refused(R"({"context": "C", "questions": ["Q"],
                        "template": "{context} {question} {content} {{questions}}"})"),
            "taken");
}

TEST(InputLine, TypesAndRangesThatAreRefused) {
  const std::pair<const char*, const char*> fields[] = {
      {R"("id": 1.5)", "field 'id' of the line is 1.5, expected a string or an integer"},
      {R"("id": true)", "field 'id' of the line is true, expected a string or an integer"},
      {R"("max_tokens": "8")", "field 'max_tokens' is \"8\", expected an integer"},
      {R"("max_tokens": 8.5)", "field 'max_tokens' is 8.5, expected an integer"},
      {R"("max_tokens": 2147483648)",
       "field 'max_tokens' is 2147483648, expected an integer of at most 2147483647"},
      {R"("n": -2147483649)",
       "field 'n' is -2147483649, expected an integer of at least -2147483648"},
      {R"("top_k": 18446744073709551615)",
       "field 'top_k' is 18446744073709551615, expected an integer of at most 2147483647"},
      {R"("temperature": "hot")", "field 'temperature' is \"hot\", expected a number"},
      {R"("top_p": [0.5])", "field 'top_p' is [0.5], expected a number"},
      {R"("seed": 1.5)", "field 'seed' is 1.5, expected a 64-bit integer"},
      {R"("seed": 18446744073709551616)",
       "field 'seed' is 1.8446744073709552e+19, expected a 64-bit integer"},
      {R"("stop": 5)", "field 'stop' is 5, expected a string or a list of strings"},
      {R"("min_p": "x")", "field 'min_p' is \"x\", expected a number"},
      {R"("logit_bias": [5])",
       "field 'logit_bias' is [5], expected an object that maps token ids to numbers"},
      {R"("logit_bias": {"5x": 1})",
       "field 'logit_bias' is {\"5x\":1}, expected an object that maps token ids to numbers"},
      {R"("logit_bias": {"5": "1"})",
       "field 'logit_bias' is {\"5\":\"1\"}, expected an object that maps token ids to numbers"},
      {R"("choices": [])", "field 'choices' is [], expected a non-empty list"},
      {R"("choices": ["a", ""])", "choice 1 is empty, expected at least one character"},
      {R"("choices": ["a"], "n": 2)", "n is 2, expected 1 for a question with choices"},
      {R"("stop": ["x", 1])", "field 'stop[1]' is 1, expected a string"},
      {R"("stop_token_ids": [-1])", "field 'stop_token_ids[0]' is -1, expected a token id"},
      {R"("stop_token_ids": [2147483648])",
       "field 'stop_token_ids[0]' is 2147483648, expected a token id below 2^31"},
      {R"("answers": [null])", "field 'answers[0]' is null, expected a string"},
      {R"("ignore_eos": 1)", "field 'ignore_eos' is 1, expected true or false"},
      {R"("logprobs": {"a": [1]})", "field 'logprobs' is {...}, expected true or false"},
  };
  for (const auto& [field, message] : fields)
    EXPECT_EQ(refused(std::string(R"({"prompt": "P", )") + field + "}"), message);
  EXPECT_EQ(refused(R"({"prompt": 5})"), "field 'prompt' is 5, expected a string");
  EXPECT_EQ(refused(R"({"tokens": "5"})"), "field 'tokens' is \"5\", expected a list of token ids");
  EXPECT_EQ(refused(R"({"tokens": [1, 2.5]})"), "field 'tokens[1]' is 2.5, expected a token id");
}

// An answer is told from the others of its line by its question's id.
TEST(InputLine, QuestionsOfALineHaveDifferentIds) {
  const auto line = [](const std::string& questions) {
    return refused(R"({"context": "C", "questions": [)" + questions + "]}");
  };
  EXPECT_EQ(line(R"({"id": "a", "text": "Q"}, "R", {"id": "a", "text": "S"})"),
            "question 2 has the id 'a' of question 0, expected a different id");
  EXPECT_EQ(line(R"("Q", {"id": 0, "text": "R"})"),
            "question 1 has the id '0' of question 0, expected a different id");
  EXPECT_EQ(
      parsed(R"({"context": "C", "questions": [{"id": 1, "text": "Q"}, {"id": 0, "text": "R"}]})")
          ->questions.size(),
      2u);
}

TEST(InputLine, MessagesStayShort) {
  EXPECT_EQ(refused(R"({"prompt": "P", "n": ")" + std::string(500, 'x') + "\"}"),
            "field 'n' is \"" + std::string(76, 'x') + "..., expected an integer");
  EXPECT_LT(refused(R"({"prompt": ")" + std::string(5000, 'x') + "\xff\"}").size(), 200u);
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ä";
  EXPECT_EQ(refused(R"({"prompt": "P", "n": ")" + umlauts + "\"}"),
            "field 'n' is \"" + umlauts.substr(0, 76) + "..., expected an integer");
}

TEST(InputLine, DeeperThanTheStack) {
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  for (const std::string& line : {deep, R"({"prompt": )" + deep + "}", R"({"id": )" + deep + "}"})
    EXPECT_TRUE(refused(line).starts_with("nested deeper than 64 levels in '"));
  EXPECT_EQ(refused(R"({"prompt": "a", "prompt": "b"})"), "'prompt' appears twice, expected once");
}

}  // namespace
}  // namespace pando::testing
