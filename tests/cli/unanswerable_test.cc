// Models without a tokenizer or a chat template, and inputs that need one.
#include "cli/run_process.h"

namespace pando::testing {
namespace {

class UnanswerableTest : public RunProcess {
 protected:
  static void SetUpTestSuite() {
    RunProcess::SetUpTestSuite();
    std::filesystem::copy(at("m"), at("mute"));
    nlohmann::json config = nlohmann::json::parse(contents(at("m/tokenizer_config.json")));
    config.erase("chat_template");
    folder().write("mute/tokenizer_config.json", config.dump());
    std::filesystem::copy(at("m"), at("bare"));
    for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
      std::filesystem::remove(at("bare") / name);
    const std::string talk = R"({"messages": [{"role": "user", "content": "Hello"}]})";
    folder().write("talks.jsonl", talk + "\n" + talk + "\n");
    folder().write("mixed.jsonl", talk + "\n{\"prompt\": \"A prompt.\"}\n" + talk + "\n");
    const std::string refused = R"({"custom_id": "r", "url": "/v1/nowhere", "body": {}})";
    folder().write("refused.jsonl", refused + "\n" + talk + "\n" + talk + "\n");
    folder().write("tokens.jsonl", "{\"prompt\": \"A\"}\n{\"tokens\": [65, 66]}\n");
    folder().write("scores.jsonl", "{\"prompt\": \"A\", \"continuations\": [\"b\"]}\n");
  }

  Finished run_of(const std::string& model, const std::string& arguments) {
    return pando("run --model " + model +
                 " --threads 1 --kv-memory 64MiB --max-tokens 4 --ignore-eos " + arguments);
  }
};

TEST_F(UnanswerableTest, ARunWithoutATemplateFailsOnce) {
  const Finished none = run_of("mute", "--input talks.jsonl --output none.jsonl");
  EXPECT_EQ(none.code, kFailed) << none;
  EXPECT_TRUE(
      none.says("pando: none of the 2 lines of the input can be answered: 'mute' has no "
                "chat template, expected one there or the option 'chat_template'\n"))
      << none;
  EXPECT_FALSE(none.says("line 1")) << none;
  EXPECT_EQ(contents(at("none.jsonl")), "");
  for (const char* command : {"run --dry-run 2", "inspect"}) {
    const Finished looked = pando(std::string(command) + " --model mute --input talks.jsonl");
    EXPECT_EQ(looked.code, kFailed) << looked;
    EXPECT_EQ(looked.err, none.err);
    EXPECT_EQ(looked.out, "");
  }
}

// Lines with options that fit are answered.
TEST_F(UnanswerableTest, OptionsThatContradictEachOtherFailOnce) {
  const std::string none_of = "pando: none of the 2 lines of the input can be answered: ";
  const std::pair<const char*, std::string> cases[] = {
      {"--max-tokens 8 --min-tokens 9",
       none_of + "min_tokens is 9, expected at most max_tokens, which is 8\n"},
      {"--top-logprobs 3",
       none_of + "top_logprobs is 3, which needs logprobs or log-probabilities of the prompt\n"},
      {"--choice a --prompt-logprobs",
       "pando: --prompt-logprobs is given with --choice, expected one of them\n"}};
  const std::string run = "run --model m --threads 1 --kv-memory 64MiB --quiet --input good.jsonl ";
  for (const auto& [options, said] : cases) {
    const Finished refused = pando(run + options);
    EXPECT_EQ(refused.code, kUsage) << refused;
    EXPECT_EQ(refused.err, said) << options;
    EXPECT_EQ(refused.out, "") << options;
  }
  for (const char* option : {"--choice", "--stop"})
    EXPECT_TRUE(pando(run + option + " ''")
                    .says(std::string(option) + ": is empty, expected at least one character"))
        << option;
  folder().write("longer.jsonl",
                 "{\"prompt\": \"P\", \"max_tokens\": 12}\n"
                 "{\"prompt\": \"Q\", \"choices\": [\"a\", \"b\"]}\n");
  const Finished longer = pando(
      "run --model m --threads 1 --kv-memory 64MiB --quiet --input longer.jsonl --max-tokens 8 "
      "--min-tokens 9");
  EXPECT_EQ(longer.code, kOk) << longer;
  EXPECT_EQ(n_lines(longer.out), 2) << longer;
}

TEST_F(UnanswerableTest, OtherLinesAreAnswered) {
  const Finished some = run_of("mute", "--input mixed.jsonl --output some.jsonl");
  EXPECT_EQ(some.code, kIncomplete) << some;
  EXPECT_TRUE(some.says("pando: line 1: 'mute' has no chat template, ")) << some;
  EXPECT_TRUE(some.says("pando: line 3: 'mute' has no chat template, ")) << some;
  EXPECT_EQ(n_lines(contents(at("some.jsonl"))), 1);
  // A pipe is read only once, so the run cannot look at its lines first.
  const Finished piped = run_of("mute", "--input - --output piped.jsonl < mixed.jsonl");
  EXPECT_EQ(piped.code, kIncomplete) << piped;
  EXPECT_EQ(contents(at("piped.jsonl")), contents(at("some.jsonl")));
}

TEST_F(UnanswerableTest, ARefusedLineOfABatchHasItsErrorRecord) {
  const Finished ran = run_of("mute", "--input refused.jsonl --output refused-out.jsonl");
  EXPECT_EQ(ran.code, kIncomplete) << ran;
  EXPECT_FALSE(ran.says("of the input can be answered")) << ran;
  EXPECT_TRUE(ran.says("pando: line 2: 'mute' has no chat template, ")) << ran;
  const std::string output = contents(at("refused-out.jsonl"));
  EXPECT_EQ(n_lines(output), 1);
  EXPECT_EQ(nlohmann::json::parse(output)["custom_id"], "r");
}

TEST_F(UnanswerableTest, ARunWithoutATokenizerFailsOnce) {
  const std::string message =
      "pando: none of the 2 lines of the input can be answered: the model has no tokenizer, "
      "expected one beside its weights or the option 'tokenizer'\n";
  const Finished none = run_of("bare", "--input good.jsonl --output bare.jsonl");
  EXPECT_EQ(none.code, kFailed) << none;
  EXPECT_TRUE(none.says(message)) << none;
  EXPECT_FALSE(none.says("line 1")) << none;
  const Finished scored =
      pando("score --model bare --threads 1 --kv-memory 64MiB --input scores.jsonl");
  EXPECT_EQ(scored.code, kFailed) << scored;
  EXPECT_TRUE(scored.says("no line of the input can be answered: the model has no tokenizer"))
      << scored;
  const Finished tokens = run_of("bare", "--input tokens.jsonl --output tokens-out.jsonl");
  EXPECT_EQ(tokens.code, kIncomplete) << tokens;
  EXPECT_TRUE(tokens.says("pando: line 1: the model has no tokenizer, expected one")) << tokens;
  EXPECT_EQ(n_lines(contents(at("tokens-out.jsonl"))), 1);
}

}  // namespace
}  // namespace pando::testing
