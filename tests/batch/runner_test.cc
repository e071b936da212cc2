// From lines of questions to lines of answers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/tiny_engine.h"
#include "pando/batch.h"
#include "pando/score.h"

namespace pando::testing {
namespace {

using Json = nlohmann::ordered_json;

struct Ran {
  Result<BatchSummary> summary;
  std::vector<Json> lines;
  std::vector<std::string> problems;
  std::string text = {};  // the lines as they are
};

BatchOptions batch_options() {
  BatchOptions options;
  options.defaults.sampling.max_tokens = 4;
  options.defaults.sampling.ignore_eos = true;
  return options;
}

Ran run(const std::string& input, BatchOptions options = batch_options(),
        const EngineOptions& engine_options = tiny_options()) {
  std::istringstream in(input);
  std::ostringstream out;
  std::vector<std::string> problems;
  options.on_problem = [&](const std::string& message) { problems.push_back(message); };
  const std::unique_ptr<Engine> engine = open_tiny(engine_options);
  Ran ran{run_batch(*engine, in, input.size(), out, options), {}, {}};
  EXPECT_TRUE(out.str().empty() || out.str().ends_with('\n'));
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) ran.lines.push_back(Json::parse(line));
  ran.problems = problems;
  ran.text = out.str();
  return ran;
}

std::string keys_of(const Json& line) {
  std::string keys;
  for (const auto& [key, value] : line.items()) keys += (keys.empty() ? "" : " ") + key;
  return keys;
}

constexpr const char* kMixed =
    R"({"id": "c", "context": "A context.", "questions": ["One?", {"text": "Two?"}]}
{"id": 12, "prompt": "A prompt."}
{"tokens": [65, 32, 112], "n": 2, "temperature": 1, "logprobs": true}
{"id": "c", "context": "A context.", "questions": ["One?"], "max_tokens": 1}
)";

TEST(Batch, TokensComeBackWhereThereIsNoTokenizer) {
  const TemporaryFolder folder;
  const RandomModelOptions model_options{
      .shape = "tiny-qwen3", .out = folder.path() / "model", .max_positions = kTinyContext};
  ASSERT_TRUE(make_random_model(model_options).ok());
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
    std::filesystem::remove(model_options.out / name);
  const auto model = Model::load(model_options.out);
  ASSERT_TRUE(model.ok() && !(*model)->has_tokenizer());
  const auto engine = Engine::open(*model, tiny_options());
  ASSERT_TRUE(engine.ok());
  std::istringstream in(R"({"tokens": [65, 32, 112]})");
  std::ostringstream out;
  ASSERT_TRUE(run_batch(**engine, in, in.str().size(), out, batch_options()).ok());
  const Json line = Json::parse(out.str());
  EXPECT_EQ(line["text"], "");
  EXPECT_EQ(line["tokens"].size(), 4u);
  EXPECT_FALSE(run(R"({"tokens": [65, 32, 112]})").lines.at(0).contains("tokens"));
}

TEST(Batch, EveryFormOfInput) {
  const Ran ran = run(kMixed);
  ASSERT_TRUE(ran.summary.ok());
  EXPECT_EQ(ran.summary->lines, 4u);
  EXPECT_EQ(ran.summary->answers, 6u);
  EXPECT_EQ(ran.summary->bad_lines + ran.summary->failed + ran.summary->skipped, 0u);
  EXPECT_EQ(ran.summary->combined_hash, 0u);
  EXPECT_EQ(ran.summary->stats.requests, 5u);
  EXPECT_TRUE(ran.problems.empty());
  ASSERT_EQ(ran.lines.size(), 6u);
  std::map<std::string, int> ids;
  for (const Json& line : ran.lines) {
    ++ids[line["id"].dump() + line.value("question_id", "") +
          std::to_string(line.value("choice", 9))];
    const std::string rest = "text finish_reason prompt_tokens completion_tokens";
    EXPECT_EQ(keys_of(line), line["id"] == "c"  ? "id question_id " + rest
                             : line["id"] == 12 ? "id " + rest
                                                : "id choice " + rest + " logprobs");
    EXPECT_EQ(line["finish_reason"], "length");
    if (line.contains("logprobs")) {
      EXPECT_EQ(line["logprobs"].size(), 4u);
      EXPECT_EQ(line["prompt_tokens"], 3);
    }
  }
  const std::map<std::string, int> expected = {
      {"\"c\"09", 2}, {"\"c\"19", 1}, {"129", 1}, {"\"3\"0", 1}, {"\"3\"1", 1}};
  EXPECT_EQ(ids, expected);
}

TEST(Batch, AnswersKnowWhatTheyShared) {
  std::map<std::string, int> shared;
  BatchOptions options = batch_options();
  options.on_answer = [&](const BatchAnswer& answer) {
    shared[answer.id] = answer.completion.shared_tokens;
  };
  EngineOptions packed = tiny_options();
  packed.sharing = "packed";
  const std::string input =
      "{\"id\": \"d\", \"context\": \"A context.\", \"questions\": [\"One?\", \"Two?\"]}\n";
  run(input, options);
  EXPECT_EQ(shared, (std::map<std::string, int>{{"d/0", 0}, {"d/1", 22}}));
  run(input, options, packed);
  EXPECT_EQ(shared, (std::map<std::string, int>{{"d/0", 0}, {"d/1", 0}}));
}

TEST(Batch, AnswersAreThoseOfTheEngine) {
  const Ran ran = run("{\"id\": \"p\", \"prompt\": \"A prompt.\", \"temperature\": 2, \"n\": 2}\n");
  Request request = tiny_request("A prompt.", 4);
  request.id = "p";
  request.sampling.temperature = 2;
  request.sampling.n = 2;
  const auto completions = open_tiny()->complete(request);
  ASSERT_EQ(ran.lines.size(), 2u);
  for (const Json& line : ran.lines) EXPECT_EQ(line["text"], completions->at(line["choice"]).text);
}

TEST(Batch, ChoicesAgreeWithScoringEachAlone) {
  const std::vector<std::string> choices = {"oak", "an aspen", " birch", "oak"};
  const Ran ran =
      run(R"({"id": "c", "context": "A tree.", "choices": ["oak", "an aspen", " birch", "oak"],)"
          R"( "questions": ["Which?", {"text": "Yes?", "choices": ["A", "B"], "answers": ["B"]}]})"
          "\n"
          R"({"id": "p", "prompt": "Which? ", "choices": ["x", "y"], "logprobs": true})"
          "\n");
  ASSERT_TRUE(ran.summary.ok());
  EXPECT_TRUE(ran.problems.empty());
  ASSERT_EQ(ran.lines.size(), 3u);
  for (const Json& line : ran.lines) {
    const bool plain = line["id"] == "p", first = !plain && line["question_id"] == "0";
    const std::string prompt =
        plain ? "Which? " : render_prompt({}, "A tree.", first ? "Which?" : "Yes?");
    const std::vector<std::string> texts = plain   ? std::vector<std::string>{"x", "y"}
                                           : first ? choices
                                                   : std::vector<std::string>{"A", "B"};
    std::vector<double> logprobs;
    for (const std::string& text : texts) {
      const bool apart = plain || text.starts_with(' ');
      const auto alone = score(*open_tiny(), prompt, {apart ? text : " " + text});
      ASSERT_TRUE(alone.ok());
      logprobs.push_back((*alone)[0].logprob);
    }
    EXPECT_EQ(line["choice_logprobs"].get<std::vector<double>>(), logprobs);
    const size_t best = std::max_element(logprobs.begin(), logprobs.end()) - logprobs.begin();
    EXPECT_EQ(line["text"], texts[best]);
    EXPECT_EQ(line["finish_reason"], "stop");
    EXPECT_EQ(line["prompt_tokens"], prompt.size());
    EXPECT_EQ(line.contains("logprobs"), plain);
  }
  EXPECT_EQ(ran.summary->scores.all().n, 1u);
  EXPECT_EQ(ran.summary->answers, 3u);
}

TEST(Batch, AChoiceThatDoesNotFitFailsItsQuestionOnce) {
  const Ran ran = run(R"({"prompt": "P", "choices": ["a", ")" + std::string(700, 'x') +
                      R"(", "b"]})"
                      "\n"
                      R"({"id": "fine", "prompt": "P", "choices": ["a"]})"
                      "\n");
  ASSERT_TRUE(ran.summary.ok());
  EXPECT_EQ(ran.summary->failed, 1u);
  EXPECT_EQ(ran.problems.size(), 1u);
  ASSERT_EQ(ran.lines.size(), 1u);
  EXPECT_EQ(ran.lines[0]["id"], "fine");
}

TEST(Batch, LogprobsOfPromptsAndTheLikeliest) {
  const Ran ran =
      run(R"({"prompt": "abcd", "prompt_logprobs": true, "top_logprobs": 2, "max_tokens": 0})"
          "\n");
  ASSERT_EQ(ran.lines.size(), 1u);
  const Json& line = ran.lines[0];
  EXPECT_EQ(line["prompt_logprobs"].size(), 3u);
  ASSERT_EQ(line["prompt_top_logprobs"].size(), 3u);
  ASSERT_EQ(line["prompt_top_logprobs"][0].size(), 2u);
  EXPECT_EQ(keys_of(line["prompt_top_logprobs"][0][0]), "token text logprob");
  EXPECT_EQ(line["completion_tokens"], 0);
  EXPECT_EQ(line["text"], "");
}

TEST(Batch, BadLinesAreReportedAndTheRestRuns) {
  const Ran ran =
      run("not json\n{\"prompt\": \"one\"}\n\n{\"prompt\": 5}\n{\"prompt\": "
          "\"\xff\"}\n{\"prompt\": \"two\", \"x\": 1}\n"
          "{\"id\": \"z\", \"context\": \"C\", \"questions\": [\"Q\", {\"id\": \"q2\", \"text\": "
          "\"R\"}], \"top_p\": 2}\n"
          "{\"tokens\": [300]}\n{\"prompt\": \"three\"}\n");
  ASSERT_TRUE(ran.summary.ok());
  EXPECT_EQ(ran.summary->lines, 8u);
  EXPECT_EQ(ran.summary->bad_lines, 4u);
  EXPECT_EQ(ran.summary->failed, 3u);
  EXPECT_EQ(ran.summary->answers, 2u);
  ASSERT_EQ(ran.problems.size(), 6u);
  EXPECT_TRUE(ran.problems[0].starts_with("line 1: not JSON: parse error at column 2: "))
      << ran.problems[0];
  EXPECT_EQ(ran.problems[1], "line 4: field 'prompt' is 5, expected a string");
  EXPECT_TRUE(ran.problems[2].starts_with("line 5: not JSON: "));
  EXPECT_EQ(ran.problems[3], "line 6: field 'x' is unknown");
  EXPECT_EQ(ran.problems[4], "line 7, 2 questions, first '0': top_p is 2, expected 0 to 1");
  EXPECT_EQ(ran.problems[5], "line 8: token 300 is outside the model's vocabulary of 257");
}

// Choices of one token are one request, longer ones a request each; a prompt counts once.
TEST(Batch, PromptTokensAreTheSumOfThoseOfTheLines) {
  const Ran ran = run(std::string(kMixed) +
                      R"({"prompt": "One?", "choices": ["\n", "\t"]}
{"context": "C", "questions": [{"text": "Q", "choices": ["long", "longer", "the longest"]}]}
)");
  ASSERT_TRUE(ran.summary.ok());
  uint64_t n_tokens = 0;
  for (const Json& line : ran.lines) n_tokens += line["prompt_tokens"].get<uint64_t>();
  EXPECT_EQ(ran.lines.size(), 8u);
  EXPECT_EQ(ran.summary->prompt_tokens, n_tokens);
}

TEST(Batch, BlankLinesAndEndsOfLines) {
  for (const char* input : {"", "\n", "\r\n \t\r\n\n"}) {
    const Ran ran = run(input);
    ASSERT_TRUE(ran.summary.ok());
    EXPECT_EQ(ran.summary->lines + ran.summary->answers + ran.lines.size(), 0u);
  }
  const Ran ran = run("\r\n{\"prompt\": \"one\"}\r\n\r\n{\"prompt\": \"two\"}");
  ASSERT_TRUE(ran.summary.ok());
  EXPECT_EQ(ran.summary->answers, 2u);
  EXPECT_EQ(ran.lines[0]["id"], "2");
  EXPECT_EQ(ran.lines[1]["id"], "4");
}

TEST(Batch, TooLongIsAnErrorOrLeftOut) {
  const std::string input =
      "{\"prompt\": \"" + std::string(700, 'x') + "\"}\n{\"prompt\": \"short\"}\n";
  Ran ran = run(input);
  EXPECT_EQ(ran.summary->failed, 1u);
  EXPECT_EQ(ran.problems.at(0),
            "line 1: the prompt has 700 tokens and needs room for an answer; this model's maximum "
            "context length is 640 tokens");
  BatchOptions options = batch_options();
  options.too_long = TooLong::kSkip;
  ran = run(input, options);
  EXPECT_EQ(ran.summary->failed, 0u);
  EXPECT_EQ(ran.summary->skipped, 1u);
  EXPECT_EQ(ran.summary->answers, 1u);
  EXPECT_TRUE(ran.problems.at(0).starts_with("line 1: skipped: the prompt has 700 tokens"));
}

TEST(Batch, ProblemsOfALineAreSaidTogether) {
  const auto question = [](const char* text, const char* more) {
    return fmt::format("{{\"text\": \"{}\"{}}}, ", text, more);
  };
  const std::string longest(700, 'x'), longer(650, 'y');
  for (const bool ordered : {false, true}) {
    BatchOptions options = batch_options();
    options.ordered = ordered;
    const Ran ran =
        run("{\"context\": \"C\", \"questions\": [" + question(longest.c_str(), "") +
                question("fine", "") + question(longer.c_str(), "") +
                question(longest.c_str(), ", \"choices\": [\"a\"]") +
                "{\"id\": \"last\", \"text\": \"fine too\"}]}\n{\"prompt\": \"" + longest + "\"}\n",
            options);
    EXPECT_EQ(ran.summary->failed, 4u);
    EXPECT_EQ(ran.summary->answers, 2u);
    std::vector<std::string> problems = ran.problems;
    std::sort(problems.begin(), problems.end());  // line 2 may be over first
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_TRUE(problems[0].starts_with("line 1, 3 questions, first '0': the prompt has "))
        << problems[0];
    EXPECT_TRUE(problems[1].starts_with("line 2: the prompt has 700 tokens")) << problems[1];
  }
}

TEST(Batch, AnswersThatTheContextEnds) {
  const std::string prompt = "{\"prompt\": \"" + std::string(630, 'x') + "\", \"max_tokens\": ";
  const std::string body = "{\"custom_id\": \"o\", \"url\": \"/v1/completions\", \"body\": ";
  const Ran ran = run(prompt + "10}\n" + prompt + "11}\n" + body + prompt + "11}}\n");
  ASSERT_EQ(ran.lines.size(), 3u);
  for (const Json& line : ran.lines) {
    if (line.contains("custom_id")) {
      EXPECT_EQ(line["response"]["body"]["choices"][0]["finish_reason"], "length");
    } else {
      EXPECT_EQ(line["completion_tokens"], 10);
      EXPECT_EQ(line["finish_reason"], line["id"] == "1" ? "length" : "context");
    }
  }
}

TEST(Batch, Scores) {
  const Ran first = run("{\"prompt\": \"P\"}\n");
  const std::string text = first.lines.at(0)["text"].dump();
  const Ran ran =
      run("{\"prompt\": \"P\", \"answers\": [\"no such answer\", " + text +
          "]}\n{\"prompt\": \"P\", \"answers\": [\"no such answer\"]}\n{\"prompt\": \"P\"}\n"
          "{\"context\": \"C\", \"questions\": [{\"text\": \"Q\", \"answers\": [\"no\"]}, \"R\"], "
          "\"n\": 2}\n");
  EXPECT_EQ(ran.summary->answers, 7u);
  EXPECT_EQ(ran.summary->scores.all().n, 4u);
  EXPECT_DOUBLE_EQ(ran.summary->scores.all().exact_match, 0.25);
  EXPECT_DOUBLE_EQ(ran.summary->scores.all().token_f1, 0.25);
}

std::string many_lines(bool reversed) {
  std::vector<std::string> lines;
  for (int i = 0; i < 40; ++i)
    lines.push_back(
        "{\"id\": " + std::to_string(i) + ", \"context\": \"Context " + std::to_string(i / 4) +
        " is shared.\", \"questions\": [\"What?\", \"Why?\"], \"temperature\": 1, \"n\": 2}\n");
  if (reversed) std::reverse(lines.begin(), lines.end());
  std::string input;
  for (const std::string& line : lines) input += line;
  return input;
}

TEST(Batch, TheCombinedHashIsOfTheAnswersAlone) {
  BatchOptions batch = batch_options();
  batch.defaults.logits_hash = true;
  std::vector<uint64_t> hashes;
  for (const char* sharing : {"tree", "packed", "prefix_cached"})
    for (const bool reversed : {false, true}) {
      EngineOptions options = tiny_options();
      options.sharing = sharing;
      options.max_running = reversed ? 5 : 256;
      options.threads = reversed ? 2 : 1;
      const Ran ran = run(many_lines(reversed), batch, options);
      ASSERT_TRUE(ran.summary.ok());
      EXPECT_EQ(ran.summary->answers, 160u);
      EXPECT_EQ(ran.lines.at(0)["logits_hash"].get<std::string>().size(), 16u);
      hashes.push_back(ran.summary->combined_hash);
    }
  EXPECT_NE(hashes[0], 0u);
  for (const uint64_t hash : hashes) EXPECT_EQ(hash, hashes[0]);
  EXPECT_NE(run("{\"prompt\": \"P\"}\n", batch).summary->combined_hash, hashes[0]);
}

TEST(Batch, AnswersInTheOrderOfTheInput) {
  EngineOptions options = tiny_options();
  options.max_running = 7;
  BatchOptions batch = batch_options();
  batch.ordered = true;
  std::string input;
  for (int i = 0; i < 200; ++i) {
    const int n_tokens = i % 7 == 0 ? 40 : 1 + i % 3;
    input += i % 50 == 3 ? "not json\n"
                         : "{\"id\": " + std::to_string(i) + ", \"prompt\": \"Prompt " +
                               std::to_string(i % 11) +
                               "\", \"max_tokens\": " + std::to_string(n_tokens) + "}\n";
  }
  const Ran ran = run(input, batch, options);
  ASSERT_EQ(ran.lines.size(), 196u);
  EXPECT_TRUE(std::is_sorted(ran.lines.begin(), ran.lines.end(),
                             [](const Json& a, const Json& b) { return a["id"] < b["id"]; }));
}

TEST(Batch, AQuestionWithMoreAnswersThanAreOpenAtATime) {
  EngineOptions options = tiny_options();
  options.max_running = 2;
  std::string choices = "\"x\"";
  for (int i = 0; i < 20; ++i) choices += ", \"choice " + std::to_string(i) + "\"";
  for (const bool ordered : {false, true}) {
    BatchOptions batch = batch_options();
    batch.ordered = ordered;
    const Ran ran =
        run("{\"prompt\": \"P\", \"choices\": [" + choices +
                "]}\n{\"prompt\": \"Q\", \"n\": 9, \"temperature\": 1}\n{\"prompt\": \"R\"}\n",
            batch, options);
    EXPECT_EQ(ran.summary->answers, 11u);
    EXPECT_TRUE(ran.problems.empty());
  }
}

TEST(Batch, WholeNumbersOfAnySizeComeBackAsTheyWere) {
  const Ran ran = run(
      R"({"id": 123456789012345678901234567890, "prompt": "P", "metadata": {"n": -98765432109876543210987, "x": 1.5, "y": 18446744073709551615}})"
      "\n");
  ASSERT_EQ(ran.lines.size(), 1u) << (ran.problems.empty() ? "" : ran.problems[0]);
  EXPECT_NE(ran.text.find(R"("id":123456789012345678901234567890,)"), std::string::npos)
      << ran.text;
  BatchOptions grouped = batch_options();
  grouped.group_by = "n";
  const Ran groups =
      run(R"({"prompt": "P", "answers": "x", "metadata": {"n": 123456789012345678901234567890}})"
          "\n",
          grouped);
  EXPECT_TRUE(groups.summary->scores.groups().contains("123456789012345678901234567890"));
  EXPECT_NE(ran.text.find(R"({"n":-98765432109876543210987,"x":1.5,"y":18446744073709551615})"),
            std::string::npos)
      << ran.text;
}

TEST(Batch, MetadataComesBackAndGroupsScores) {
  BatchOptions batch = batch_options();
  batch.group_by = "level";
  const std::string text = run("{\"prompt\": \"P\"}\n").lines.at(0)["text"].dump();
  const Ran ran =
      run("{\"prompt\": \"P\", \"metadata\": {\"level\": \"easy\"}, \"answers\": " + text +
              "}\n{\"prompt\": \"P\", \"metadata\": {\"level\": 2}, \"answers\": \"no\"}\n",
          batch);
  EXPECT_EQ(ran.lines.at(0)["metadata"], Json::parse(R"({"level": "easy"})"));
  const auto groups = ran.summary->scores.groups();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups.at("easy").exact_match, 1);
  EXPECT_EQ(groups.at("2").exact_match, 0);
  EXPECT_EQ(ran.summary->scores.all().exact_match, 0.5);
}

// Pages for the longest question alone: others wait, are preempted and evicted, and nothing
// differs.
TEST(Batch, TheLeastMemoryThatIsPossible) {
  BatchOptions batch = batch_options();
  batch.defaults.logits_hash = true;
  EngineOptions options = tiny_options();
  const Ran roomy = run(many_lines(false), batch, options);
  std::optional<Ran> least;
  for (options.kv_memory = 1024; !least || least->summary->failed > 0; options.kv_memory += 1024) {
    ASSERT_LT(options.kv_memory, size_t{1} << 20);
    if (Engine::open(tiny_model(), options)) least = run(many_lines(false), batch, options);
  }
  EXPECT_EQ(least->summary->answers, 160u);
  EXPECT_GT(least->summary->stats.evicted_pages, 0u);
  EXPECT_EQ(least->summary->combined_hash, roomy.summary->combined_hash);
}

TEST(Batch, AFullEngineIsWaitedFor) {
  EngineOptions options = tiny_options();
  options.max_open = 1;
  const Ran ran = run(many_lines(false), batch_options(), options);
  ASSERT_TRUE(ran.summary.ok());
  EXPECT_EQ(ran.summary->answers, 160u);
  EXPECT_EQ(ran.summary->failed, 0u);
}

}  // namespace
}  // namespace pando::testing
