// The prompts that --dry-run shows are those that the engine computes.
#include "pando/preview.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

struct Seen {
  std::vector<PromptPreview> prompts;
  PreviewSummary summary;
  std::vector<std::string> problems;
};

BatchOptions preview_options(BatchTask task = BatchTask::kAnswer) {
  BatchOptions options;
  options.task = task;
  options.defaults.prompt_template = "{context}|{question}";
  options.defaults.sampling.max_tokens = 4;
  options.defaults.logits_hash = true;
  return options;
}

Seen previewed(const std::string& input, BatchOptions options = preview_options(),
               uint64_t n = 100) {
  Seen seen;
  options.on_problem = [&](const std::string& message) { seen.problems.push_back(message); };
  std::istringstream in(input);
  const auto summary = preview_batch(*tiny_model(), kTinyContext, in, options, n,
                                     [&](const PromptPreview& p) { seen.prompts.push_back(p); });
  EXPECT_TRUE(summary.ok());
  if (summary) seen.summary = *summary;
  return seen;
}

// The logits hash of each answer of a run, by its id.
std::map<std::string, Completion> answered(const std::string& input, BatchOptions options) {
  std::map<std::string, Completion> answers;
  options.on_answer = [&](const BatchAnswer& answer) { answers[answer.id] = answer.completion; };
  std::istringstream in(input);
  std::ostringstream out;
  EXPECT_TRUE(run_batch(*open_tiny(), in, 0, out, options).ok());
  return answers;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 400; ++i) text += std::to_string(100 + i) + " ";
  return text;
}

TEST(Preview, ShowsTheTokensThatTheEngineAnswers) {
  const std::string input = R"({"id": "d", "context": ")" + long_text() +
                            R"(", "questions": ["One?", {"id": "z", "text": "Two?"}]}
{"id": "p", "prompt": "A prompt"}
{"id": "q", "prompt": ")" + long_text() +
                            R"("}
{"id": "t", "tokens": [72, 105, 256]}
)";
  for (const TooLong way : {TooLong::kTruncateMiddle, TooLong::kSplit, TooLong::kSkip}) {
    BatchOptions options = preview_options();
    options.too_long = way;
    const Seen seen = previewed(input, options);
    const std::map<std::string, Completion> answers = answered(input, options);
    size_t n_asked = 0;
    for (const PromptPreview& prompt : seen.prompts) {
      EXPECT_EQ(answers.contains(prompt.id), prompt.refused.empty()) << prompt.id;
      if (!prompt.refused.empty()) continue;
      ++n_asked;
      Request request = tiny_request("", 4);
      request.tokens = prompt.tokens;
      request.sampling.ignore_eos = false;
      const auto again = open_tiny()->complete(request);
      ASSERT_TRUE(again.ok());
      EXPECT_EQ((*again)[0].logits_hash, answers.at(prompt.id).logits_hash) << prompt.id;
    }
    EXPECT_EQ(n_asked, answers.size());
    EXPECT_GT(n_asked, 1u);
  }
}

TEST(Preview, SaysHowItIsCut) {
  BatchOptions options = preview_options();
  options.too_long = TooLong::kTruncateMiddle;
  const Seen cut = previewed(R"({"context": ")" + long_text() + R"(", "question": "Q"})", options);
  ASSERT_EQ(cut.prompts.size(), 1u);
  EXPECT_TRUE(cut.prompts[0].cut.starts_with("the context of 1600 tokens was cut to "))
      << cut.prompts[0].cut;
  EXPECT_LE(cut.prompts[0].tokens.size(), size_t{kTinyContext});
  EXPECT_TRUE(cut.prompts[0].text.ends_with(" 499 |Q")) << cut.prompts[0].text;

  options.too_long = TooLong::kSplit;
  EXPECT_EQ(previewed(R"({"context": ")" + long_text() + R"(", "question": "Q"})", options)
                .prompts.at(1)
                .cut,
            "the context of 1600 tokens was split into 3 parts");

  options = preview_options(BatchTask::kRerank);
  options.too_long = TooLong::kTruncateMiddle;
  const Seen ranked =
      previewed(R"({"query": "Q", "documents": ["short", ")" + long_text() + R"("]})", options);
  ASSERT_EQ(ranked.prompts.size(), 2u);
  EXPECT_EQ(ranked.prompts[0].cut, "") << "the other document is cut, not this";
  EXPECT_NE(ranked.prompts[1].cut, "");
}

TEST(Preview, StopsAfterSoMany) {
  const std::string input =
      "{\"prompt\": \"A\"}\nnot json\n{\"context\": \"C\", \"questions\": [\"1\", \"2\"]}\n"
      "also not json\n{\"prompt\": \"B\"}\n";
  const Seen two = previewed(input, preview_options(), 2);
  ASSERT_EQ(two.prompts.size(), 2u);
  EXPECT_EQ(two.prompts[1].text, "C|1");
  EXPECT_EQ(two.prompts[1].line, 3u);
  EXPECT_EQ(two.prompts[1].id, "3/0");
  EXPECT_EQ(two.summary.bad_lines, 1u) << "what comes after is not read";
  EXPECT_EQ(two.problems.size(), 1u);
  const Seen all = previewed(input);
  EXPECT_EQ(all.summary.prompts, 4u);
  EXPECT_EQ(all.summary.bad_lines, 2u);
}

TEST(Preview, SpecialTokensAreSeen) {
  const Seen seen = previewed("{\"tokens\": [256, 72, 256, 105]}\n{\"prompt\": \"Hi\"}\n");
  ASSERT_EQ(seen.prompts.size(), 2u);
  ASSERT_EQ(seen.prompts[0].special.size(), 1u) << "only at the beginning";
  EXPECT_EQ(seen.prompts[0].special[0].tokens, std::vector<Token>{256});
  const std::string name = seen.prompts[0].special[0].text;
  EXPECT_FALSE(name.empty());
  EXPECT_EQ(seen.prompts[0].text, name + "H" + name + "i");
  EXPECT_TRUE(seen.prompts[1].special.empty());
}

TEST(Preview, ChoicesStandBehindTheirPrompt) {
  const Seen seen = previewed(
      R"({"context": "C", "questions": [{"text": "Q", "choices": ["A", "B", "yes"]}, "R"]})");
  ASSERT_EQ(seen.prompts.size(), 2u);
  EXPECT_EQ(seen.prompts[0].text, "C|Q");
  ASSERT_EQ(seen.prompts[0].choices.size(), 3u);
  EXPECT_EQ(seen.prompts[0].choices[1].text, " B");
  EXPECT_EQ(seen.prompts[0].choices[1].tokens, bytes_of(" B"));
  EXPECT_EQ(seen.prompts[0].choices[2].text, " yes");
  EXPECT_TRUE(seen.prompts[1].choices.empty());
}

TEST(Preview, OfTheOtherTasks) {
  BatchOptions options = preview_options(BatchTask::kScore);
  const Seen scored = previewed(
      R"({"id": "s", "prompt": "P", "continuations": ["a", "bc", "d"]}
{"doc_id": 7, "arguments": [["P", "a"], ["P2", "b"]]}
)",
      options);
  ASSERT_EQ(scored.prompts.size(), 3u);
  EXPECT_EQ(scored.prompts[0].choices.size(), 3u);
  EXPECT_EQ(scored.prompts[0].choices[2].text, "d");
  EXPECT_EQ(scored.prompts[1].text, "P") << "each continuation has a prompt of its own";
  EXPECT_EQ(scored.prompts[1].choices.at(0).text, "a");
  EXPECT_EQ(scored.prompts[2].text, "P2");
  EXPECT_EQ(scored.prompts[2].choices.size(), 1u);

  const Seen embedded =
      previewed(R"({"text": "T", "instruction": "I"})", preview_options(BatchTask::kEmbed));
  ASSERT_EQ(embedded.prompts.size(), 1u);
  EXPECT_TRUE(embedded.prompts[0].text.starts_with("Instruct: I\nQuery:T"));
}

TEST(Preview, WhatIsRefusedSaysWhy) {
  const Seen seen = previewed(
      "{\"tokens\": [300000]}\n{\"prompt\": \"" + std::string(kTinyContext, 'x') +
      "\"}\n{\"custom_id\": \"c\", \"url\": \"/v1/completions\", \"body\": {\"prompt\": 5}}\n"
      R"({"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", )"
      R"("tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}]})");
  ASSERT_EQ(seen.prompts.size(), 4u);
  EXPECT_EQ(seen.summary.refused, 4u);
  EXPECT_NE(seen.prompts[0].refused.find("outside the model's vocabulary"), std::string::npos);
  EXPECT_NE(seen.prompts[1].refused.find("maximum context length is"), std::string::npos);
  EXPECT_FALSE(seen.prompts[2].refused.empty());
  EXPECT_EQ(seen.prompts[2].id, "c");
  EXPECT_TRUE(seen.prompts[3].refused.starts_with(
      "field 'messages[1].tool_calls[0].function.arguments' is not valid: "))
      << seen.prompts[3].refused;
}

TEST(Preview, NeedsNoWeights) {
  const TemporaryFolder folder;
  RandomModelOptions made;
  made.out = folder.path() / "m";
  ASSERT_TRUE(make_random_model(made).ok());
  const auto model = Model::load(made.out, {.weights = WeightType::kNone});
  ASSERT_TRUE(model.ok());
  std::istringstream in("{\"prompt\": \"Hi\"}\n");
  std::string text;
  ASSERT_TRUE(preview_batch(**model, 100, in, preview_options(), 1, [&](const PromptPreview& p) {
                text = p.text;
              }).ok());
  EXPECT_EQ(text, "Hi");
}

TEST(Preview, WarnsOnceOfAnEndTokenBehindPrompts) {
  TemporaryFolder folder;
  RandomModelOptions made;
  made.out = folder.path();
  ASSERT_TRUE(make_random_model(made).ok());
  std::ifstream file(folder.path() / "tokenizer.json");
  nlohmann::json tokenizer = nlohmann::json::parse(file);
  const nlohmann::json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const nlohmann::json end = {{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}};
  tokenizer["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {text, end}},
      {"pair", nlohmann::json::array()},
      {"special_tokens",
       {{"<|endoftext|>",
         {{"id", "<|endoftext|>"}, {"ids", {256}}, {"tokens", {"<|endoftext|>"}}}}}}};
  folder.write("tokenizer.json", tokenizer.dump());
  const std::shared_ptr<const Model> model = *Model::load(folder.path());
  EXPECT_EQ(model->encode("ab").value(), (std::vector<Token>{97, 98, 256}));
  EXPECT_EQ(tiny_model()->prompt_warning(), "");

  const auto problems = [&](const std::string& input, BatchOptions options) {
    std::vector<std::string> found;
    options.on_problem = [&](const std::string& message) { found.push_back(message); };
    std::istringstream in(input);
    const auto ignore = [](const PromptPreview&) {};
    EXPECT_TRUE(preview_batch(*model, kTinyContext, in, options, 100, ignore).ok()) << input;
    return found;
  };
  const std::string others = R"({"messages": [{"role": "user", "content": "Q"}]}
{"tokens": [72, 105]}
{"prompt": "P", "add_special_tokens": false}
{"context": "C", "question": "Q", "choices": ["a", "b"]}
)";
  EXPECT_EQ(problems(others, preview_options()), std::vector<std::string>{});
  const std::vector<std::string> warned = {
      "line 5: the tokenizer adds the end token '<|endoftext|>' (256) to the end of each prompt "
      "(hint: --no-special-tokens, or \"add_special_tokens\": false on the line)"};
  const std::string plain = R"({"prompt": "P"}
{"prompt": "P"}
)";
  EXPECT_EQ(problems(others + plain, preview_options()), warned);
  EXPECT_EQ(problems(others + R"({"context": "C", "question": "Q"})", preview_options()), warned);
  BatchOptions without = preview_options();
  without.defaults.add_special_tokens = false;
  EXPECT_EQ(problems(others + plain, without), std::vector<std::string>{});
}

TEST(Preview, WarnsOnceOfPromptsWithoutTheChatTemplate) {
  TemporaryFolder folder;
  RandomModelOptions made;
  made.out = folder.path();
  ASSERT_TRUE(make_random_model(made).ok());
  const std::shared_ptr<const Model> model = *Model::load(folder.path());
  const auto problems = [&](const std::string& input, bool chat) {
    std::vector<std::string> found;
    BatchOptions options = preview_options();
    options.defaults.chat = chat;
    options.on_problem = [&](const std::string& message) { found.push_back(message); };
    std::istringstream in(input);
    const auto ignore = [](const PromptPreview&) {};
    EXPECT_TRUE(preview_batch(*model, kTinyContext, in, options, 100, ignore).ok()) << input;
    return found;
  };
  const std::string others = R"({"messages": [{"role": "user", "content": "Q"}]}
{"context": "C", "question": "Q"}
{"tokens": [72, 105]}
{"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"prompt": "P"}}
)";
  const std::string plain = R"({"prompt": "P"}
{"prompt": "P"}
)";
  EXPECT_EQ(problems(others, true), std::vector<std::string>{});
  EXPECT_EQ(problems(others + plain, false), std::vector<std::string>{});
  const std::vector<std::string> warned = {
      "line 5: 'prompt' is asked without the chat template, expected 'messages' for a "
      "conversation"};
  EXPECT_EQ(problems(others + plain, true), warned);
}

}  // namespace
}  // namespace pando::testing
