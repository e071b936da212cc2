// These print an input or a text and compute nothing: inspect, --dry-run, tokenize.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/machine.h"
#include "cli/run_process.h"

namespace pando::testing {
namespace {

using Json = nlohmann::ordered_json;
using BeforeARunTest = RunProcess;

TEST_F(BeforeARunTest, Inspect) {
  const Finished people = pando("inspect m --input good.jsonl --max-tokens 4");
  EXPECT_EQ(people.code, kOk) << people;
  EXPECT_TRUE(people.out.starts_with("3 prompts from 2 lines, ")) << people;
  EXPECT_EQ(people.err, "");
  const Finished demo = pando("inspect --input good.jsonl");
  EXPECT_TRUE(demo.says("pando: no --model given, using the demo model\n")) << demo;
  const Finished json = pando("inspect --model m --input bad.jsonl --json");
  EXPECT_EQ(json.code, kIncomplete) << json;
  EXPECT_EQ(Json::parse(json.out)["bad_lines"], 1);
  EXPECT_EQ(Json::parse(json.out)["room"], 0);
}

// A page of the model has 32 positions, of 2 layers with 2 heads of 16 channels in f16.
TEST_F(BeforeARunTest, InspectSaysWhatFitsIntoMemory) {
  const Json all = Json::parse(pando("inspect m --input long.jsonl --max-tokens 4 --json").out);
  const auto page = 32 * all["kv_bytes_per_token"].get<uint64_t>();
  const std::string inspect = "inspect m --max-tokens 4 --input ";
  const Finished little = pando(inspect + "good.jsonl --kv-memory " + std::to_string(page));
  EXPECT_EQ(little.code, kIncomplete) << little;
  EXPECT_NE(little.out.find(
                "cannot be run: 0 bad lines, 2 prompts too long (2 of them only "
                "because of --kv-memory), 0 refused for other reasons\n--kv-memory has "
                "room for prompts of up to 32 tokens, answer included; 2 prompts would "
                "be refused, and the longest needs up to 41 tokens, for which a --kv-memory of " +
                bytes_text(2 * page) + " is enough. All other figures include them\n"),
            std::string::npos)
      << little;
  EXPECT_TRUE(little.out.starts_with("3 prompts from 2 lines, 83 tokens in all")) << little;
  const Finished enough = pando(inspect + "good.jsonl --kv-memory " + std::to_string(4 * page));
  EXPECT_EQ(enough.code, kOk) << enough;
  EXPECT_NE(
      enough.out.find("--kv-memory has room for prompts of up to 128 tokens, answer included; "
                      "all prompts fit\n"),
      std::string::npos)
      << enough;
}

TEST_F(BeforeARunTest, DryRunPrintsPrompts) {
  const std::string second = "Some context.\n\nQuestion: Two?\nAnswer:";
  const Finished
      one = run("--input good.jsonl --dry-run"),
      two =
          run("--input good.jsonl --dry-run 2 --output dry-answers.jsonl --report dry-report.json");
  EXPECT_EQ(one.code, kOk) << one;
  EXPECT_EQ(one.out,
            "== line 1, 'd/0': 37 tokens, starts with no special token\n"
            "Some context.\n"
            "\n"
            "Question: One?\n"
            "Answer:\n"
            "== end of the prompt\n"
            "\n");
  EXPECT_EQ(two.code, kOk) << two;
  EXPECT_TRUE(two.out.starts_with(one.out)) << two;
  EXPECT_NE(two.out.find(second), std::string::npos) << two;
  EXPECT_FALSE(std::filesystem::exists(at("dry-answers.jsonl")));
  EXPECT_FALSE(std::filesystem::exists(at("dry-report.json")));
  EXPECT_EQ(run("--input good.jsonl --dry-run 9").out.find("== line 2, '5': 9 tokens"),
            two.out.size());
}

TEST_F(BeforeARunTest, DryRunSaysWhatIsCutChosenAndRefused) {
  folder().write(
      "dry.jsonl",
      "{\"prompt\": \"\\u001b[1mX\", \"choices\": [\"A\", \"B\"]}\n{\"tokens\": [256, 65]}\n");
  const Finished shown = run("--input dry.jsonl --dry-run 5");
  EXPECT_EQ(shown.code, kOk) << shown;
  EXPECT_NE(shown.out.find("\n"
                           "\\x1b[1mX\n"
                           "== end of the prompt\n"
                           "scored after it: \" A\" (2 tokens), \" B\" (2 tokens)\n"
                           "\n"),
            std::string::npos)
      << shown;
  EXPECT_NE(shown.out.find("'2': 2 tokens, starts with <|endoftext|> (256)\n"
                           "<|endoftext|>A\n"),
            std::string::npos)
      << shown;
  const Finished refused = run("--input long.jsonl --dry-run");
  EXPECT_EQ(refused.code, kIncomplete);
  EXPECT_TRUE(refused.out.starts_with("== line 1, '1': cannot be run: the prompt has 700 tokens"))
      << refused;
  const Finished cut = run("--input long.jsonl --dry-run --too-long truncate-middle");
  EXPECT_EQ(cut.code, kOk);
  EXPECT_NE(cut.out.find("\ncut: the prompt of 700 tokens was cut to "), std::string::npos) << cut;
  for (const char* wrong : {"0", "-1", "x", "1.5"}) {
    const Finished finished = run(fmt::format("--input good.jsonl --dry-run {}", wrong));
    EXPECT_EQ(finished.code, kUsage) << wrong;
    EXPECT_TRUE(finished.says(fmt::format("{}, expected at least 1", wrong))) << finished;
  }
}

// A run, --dry-run and inspect print the same message once, and a run ends before its first answer.
TEST_F(BeforeARunTest, OptionsAreCheckedAsByARun) {
  folder().write("odd.json", R"({"type": "string", "maxlength": 3})");
  folder().write("any.json", R"({"title": "T"})");
  folder().write("contrary.json", R"({"type": "integer", "minimum": 5, "maximum": 3})");
  folder().write("asked.jsonl",
                 "{\"prompt\": \"P\"}\n{\"context\": \"C\", \"questions\": [\"Q\", \"R\"]}\n"
                 "{\"context\": \"D\", \"question\": \"S\"}\n");
  struct Case {
    const char *options, *said;
    int code;
  };
  const Case cases[] = {
      {"--schema odd.json",
       "--schema: '#/maxlength' is not a JSON Schema keyword and has no effect (hint: "
       "'maxLength'?)",
       kOk},
      {"--schema any.json",
       "--schema: the schema has no keyword that constrains the answer: any JSON fits it", kOk},
      {"--schema contrary.json", "no text fits the schema", kUsage},
      {"--template '{question}'",
       "line 2: the template has no {context} in it, so the context would be ignored", kUsage},
      {"--template '{context} {qestion}'", "the template has no {question} in it", kUsage}};
  for (const Case& one : cases)
    for (const char* command : {"run --quiet --threads 1 --kv-memory 64MiB --max-tokens 4",
                                "run --quiet --dry-run 9", "inspect"}) {
      const Finished finished =
          pando(fmt::format("{} --model m --input asked.jsonl {}", command, one.options));
      EXPECT_EQ(finished.code, one.code) << command << " " << one.options << ": " << finished;
      const size_t at = finished.err.find(one.said);
      ASSERT_NE(at, std::string::npos) << command << " " << one.options << ": " << finished;
      EXPECT_EQ(finished.err.find(one.said, at + 1), std::string::npos) << "twice: " << finished;
      if (one.code == kOk) continue;
      EXPECT_EQ(finished.out, "") << command << " " << one.options;
      EXPECT_EQ(n_lines(finished.err), 1) << command << ": " << finished;
    }
}

// Only a line with a wrong template of its own fails. A pipe cannot be read before the run.
TEST_F(BeforeARunTest, OnlyTheTemplateOfAllLinesEndsTheRun) {
  folder().write("own.jsonl",
                 "{\"context\": \"C\", \"question\": \"Q\", \"template\": \"{question}\"}\n"
                 "{\"prompt\": \"P\"}\n{\"context\": \"\", \"question\": \"Q\"}\n");
  const std::string said = "line 1: the template has no {context} in it";
  for (const char* options : {"", "--template '{question}'"}) {
    const Finished own = run(fmt::format("--input own.jsonl {}", options));
    EXPECT_EQ(own.code, kIncomplete) << own;
    EXPECT_TRUE(own.says(said)) << own;
    EXPECT_EQ(n_lines(own.out), 2) << own;
  }
  const Finished piped = run("--input - --template '{question}'",
                             R"(printf '{"context": "C", "question": "Q"}\n{"prompt": "P"}\n' | )");
  EXPECT_EQ(piped.code, kIncomplete) << piped;
  EXPECT_TRUE(piped.says(said)) << piped;
  EXPECT_EQ(n_lines(piped.out), 1) << piped;
}

TEST_F(BeforeARunTest, TokensOfATextAndBack) {
  EXPECT_EQ(pando("tokenize --model m ab c").out, "97 98 32 99\n");
  EXPECT_EQ(pando("tokenize --model m '[ab]'").out, "91 97 98 93\n");
  EXPECT_EQ(pando("tokenize --model m a '[b,]' '[]'").out, "97 32 91 98 44 93 32 91 93\n");
  EXPECT_EQ(pando("tokenize --model m --pieces a").out, "97\t\"a\"\n");
  EXPECT_EQ(pando("tokenize --model m --pieces 'a<|endoftext|>' > stdout.txt").out,
            "97\t\"a\"\n256\t\"<|endoftext|>\"\n");
  EXPECT_EQ(pando("tokenize --model m", "printf ab | gzip | ").out, "97 98\n");
  const Finished binary = pando("tokenize --model m", "printf 'a\\000b' | ");
  EXPECT_EQ(binary.code, 1) << binary;
  EXPECT_TRUE(binary.says("standard input is binary data, not text: byte 1 is 0")) << binary;
  EXPECT_EQ(pando("detokenize --model m 97 98").out, "ab\n");
  EXPECT_EQ(pando("detokenize --model m '[97, 98]' 99").out, "abc\n");
  EXPECT_EQ(pando("detokenize --model m '[]'").out, "\n");
  EXPECT_EQ(pando("detokenize --model m", "printf '97,98\\n99' | ").out, "abc\n");
  const Finished wrong = pando("detokenize --model m 97 x");
  EXPECT_EQ(wrong.code, kUsage);
  EXPECT_TRUE(wrong.says("token 2 is 'x', expected a number from 0 to 256")) << wrong;
}

TEST_F(BeforeARunTest, TokensOfATokenizerWithoutAModel) {
  const Finished alone = pando("tokenize --tokenizer m/tokenizer.json ab");
  EXPECT_EQ(alone.out, "97 98\n") << alone;
  EXPECT_EQ(alone.err, "");  // nothing about a demo model
  EXPECT_EQ(pando("detokenize --tokenizer m/tokenizer.json 97 98").out, "ab\n");
  const Finished unknown =
      pando("tokenize --model u --pieces a",
            "mkdir u && cp m/tokenizer.json u && printf '{\"model_type\": \"none\"}' > "
            "u/config.json && ");
  EXPECT_EQ(unknown.out, "97\t\"a\"\n") << unknown;
  EXPECT_EQ(pando("tokenize --model nowhere --tokenizer u a").out, "97\n");
  const Finished none = pando("tokenize --tokenizer v a", "mkdir v && ");
  EXPECT_EQ(none.code, 1) << none;
  EXPECT_TRUE(
      none.says("'v' holds no tokenizer, expected tokenizer.json, vocab.json with "
                "merges.txt, tekken.json, tokenizer.model, or vocab.txt"))
      << none;
  const Finished half =
      pando("tokenize --tokenizer v/vocab.json a", "echo '{}' > v/vocab.json && ");
  EXPECT_EQ(half.code, 1) << half;
  EXPECT_TRUE(half.says("v/vocab.json: is one file of a model, expected its directory")) << half;
}

}  // namespace
}  // namespace pando::testing
