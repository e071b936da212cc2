// The command says these to people: of mistakes, of progress, of words to complete.
#include <fmt/format.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "cli/process.h"

namespace pando::testing {
namespace {

constexpr int kOk = 0, kUsage = 2;  // src/cli/exit_code.h

class MessagesTest : public ProcessTest {
 protected:
  static void SetUpTestSuite() {
    ProcessTest::SetUpTestSuite();
    folder().write("good.jsonl", "{\"id\": 5, \"prompt\": \"A prompt.\"}\n");
    std::string many;
    for (int i = 0; i < 20000; ++i)
      many += fmt::format("{{\"prompt\": \"A prompt that is shared, {}\"}}\n", i);
    folder().write("many.jsonl", many);
  }

  // One line that says it.
  static void expect_says(const Finished& finished, int code, const std::string& message) {
    EXPECT_EQ(finished.code, code) << finished;
    EXPECT_EQ(finished.err, "pando: " + message + "\n");
  }
};

TEST_F(MessagesTest, AnUnknownCommandIsNamed) {
  const std::string commands =
      "expected one of run, verify, serve, route, embed, rerank, classify, score, eval, inspect, "
      "tokenize, detokenize, pull, list, remove, tools, bench, make-model, devices, completion";
  expect_says(pando("rnu --input good.jsonl"), kUsage,
              "unknown command 'rnu', " + commands + " (hint: 'run'?)");
  expect_says(pando("answer"), kUsage, "unknown command 'answer', " + commands);
  expect_says(pando(""), kUsage, "no command, " + commands);
}

TEST_F(MessagesTest, AnUnknownOptionIsNamed) {
  expect_says(pando("run --inptu good.jsonl"), kUsage,
              "run: unknown option '--inptu' (hint: '--input'?)");
  expect_says(pando("run --input good.jsonl --max-token=3"), kUsage,
              "run: unknown option '--max-token' (hint: '--max-tokens'?)");
  for (const char* name : {"--api-key", "--api-keys"})
    expect_says(pando(std::string("serve ") + name + " 0123456789abcdef"), kUsage,
                std::string("serve: unknown option '") + name + "' (hint: '--api-key-file'?)");
  expect_says(pando("inspect --entirely-other"), kUsage,
              "inspect: unknown option '--entirely-other'");
  expect_says(pando("run --input good.jsonl -max-tokens 5"), kUsage,
              "run: unknown option '-max-tokens' (hint: '--max-tokens'?)");
  expect_says(pando("-q"), kUsage, "unknown option '-q'");
  expect_says(
      pando("run good.jsonl --model m"), kUsage,
      "run: unexpected argument 'good.jsonl', expected an option such as --input good.jsonl");
}

TEST_F(MessagesTest, AnOptionWithoutItsValueIsNamed) {
  const Finished none = pando("embed --input good.jsonl --instruction");
  EXPECT_EQ(none.code, kUsage) << none;
  EXPECT_TRUE(none.says("pando: embed: --instruction: 1 required TEXT missing\n")) << none;
  EXPECT_EQ(pando("run --compare --input good.jsonl --model m").code, kUsage);
}

TEST_F(MessagesTest, AValueThatIsNoneOfAFewNamesThem) {
  expect_says(pando("run --model m --input good.jsonl --format xml"), kUsage,
              "run: --format: xml, expected auto, jsonl, csv or tsv");
  expect_says(pando("run --model m --input good.jsonl --with question,text"), kUsage,
              "run: --with: text, expected question, answers, scores or prompt");
}

TEST_F(MessagesTest, ThinkingNeedsAChatTemplate) {
  expect_says(pando("run --model m --input good.jsonl --thinking"), kUsage,
              "--thinking is given without --chat, expected both");
}

// The template has no switch for thinking.
TEST_F(MessagesTest, ThinkingNeedsASwitch) {
  folder().write("plain.jinja", "{{ messages[0].content }}");
  const std::string run =
      "run --model m --threads 1 --kv-memory 64MiB --quiet --chat-template plain.jinja --input ";
  const std::string said = "' is true, but the chat template has no switch for it";
  const Finished all = pando(run + "good.jsonl --chat --thinking");
  EXPECT_EQ(all.code, kUsage) << all;
  EXPECT_TRUE(all.says("pando: 'thinking" + said)) << all;
  const std::string messages = R"("messages": [{"role": "user", "content": "Q"}])";
  const std::pair<std::string, std::string> lines[] = {
      {"{" + messages + R"(, "thinking": true})", "thinking"},
      {"{" + messages + R"(, "chat_template_kwargs": {"enable_thinking": true}})",
       "chat_template_kwargs.enable_thinking"}};
  for (const auto& [line, field] : lines) {
    folder().write("thinking.jsonl", line + "\n");
    const Finished one = pando(run + "thinking.jsonl");
    EXPECT_EQ(one.code, 3) << one;
    EXPECT_TRUE(one.says("pando: line 1: '" + field + said)) << one;
  }
}

TEST_F(MessagesTest, AnInputOfAnotherKindIsSaidOnce) {
  folder().write("story.txt", "Once upon a time\nthere was nobody.\n");
  folder().write("lines.jsonl.bz2", "BZh91AY\n\n\n");
  const std::string model = " --model m --kv-memory 64MiB --threads 1 --input ";
  const std::string said = "cannot read the input: it is ";
  for (const char* command : {"run", "embed", "rerank", "score"}) {
    const Finished text = pando(command + model + "story.txt"),
                   packed = pando(command + model + "lines.jsonl.bz2");
    EXPECT_EQ(text.code, 1) << text;
    EXPECT_EQ(std::count(text.err.begin(), text.err.end(), '\n'), 1) << text;
    EXPECT_TRUE(text.says(said + "text: its first line is 'Once upon a time', expected JSON lines"))
        << text;
    expect_says(packed, 1,
                said + "a bzip2 file, expected JSON lines (hint: pipe it through bzip2 -dc)");
  }
  EXPECT_TRUE(pando("inspect m --input story.txt").says(said + "text")) << "inspect";
  const std::pair<std::string, std::string> binaries[] = {
      {std::string("\x89PNG\r\n\x1a\n\0\0", 10), "a PNG image, not text"},
      {std::string("GGUF\3\0\0\0", 8), "a GGUF file, which is a model"},
      {"PAR1\x15\4", "a Parquet file, not text"},
      {std::string("\1\0\2\n\0\n", 6), "binary data, not text"},
      {"\xfa\xfb", "binary data, not text"}};
  for (const auto& [bytes, kind] : binaries) {
    folder().write("binary", bytes);
    const Finished finished = pando("run" + model + "binary");
    EXPECT_EQ(finished.code, 1) << finished;
    EXPECT_TRUE(finished.says(said + kind + ", expected JSON lines")) << finished;
  }
}

TEST_F(MessagesTest, NumbersOfAnotherKindAreNamed) {
  const std::string run = "run --model m --input good.jsonl ";
  const std::string whole = ", expected a whole number of at most 2147483647";
  expect_says(pando(run + "--max-tokens 1.5"), kUsage, "run: --max-tokens: 1.5" + whole);
  expect_says(pando(run + "--max-tokens=1.5"), kUsage, "run: --max-tokens: 1.5" + whole);
  expect_says(pando(run + "--max-tokens 99999999999"), kUsage,
              "run: --max-tokens: 99999999999" + whole);
  expect_says(pando(run + "--context 99999999999"), kUsage, "run: --context: 99999999999" + whole);
  expect_says(pando(run + "--context x"), kUsage, "run: --context: x, expected 0 or more");
  expect_says(pando(run + "--context -1"), kUsage, "run: --context: -1, expected 0 or more");
  expect_says(pando(run + "--max-tokens 010"), kUsage,
              "run: --max-tokens: 010, expected a whole number without a leading 0");
  EXPECT_EQ(pando(run + "--dry-run --max-tokens 10 --temperature 0.5 --seed 0").code, kOk);
  expect_says(pando("make-model --out x --vocab 1.5"), kUsage, "make-model: --vocab: 1.5" + whole);
}

TEST_F(MessagesTest, AnOptionGivenTwiceIsRefused) {
  const std::string run = "run --model m --input good.jsonl ";
  EXPECT_EQ(pando(run + "--max-tokens 5 --max-tokens=6").code, kUsage);
  expect_says(pando(run + "--input other.jsonl"), kUsage,
              "run: --input: At Most 1 required but received 2");
}

TEST_F(MessagesTest, MakeModelNamesItsOptions) {
  expect_says(pando("make-model --out none --dtype q8_0"), kUsage,
              "--dtype is 'q8_0', expected f32, f16 or bf16");
  EXPECT_TRUE(pando("make-model --out none --shape no-such-shape")
                  .says("pando: --shape is 'no-such-shape', expected the name of a shape"));
  expect_says(pando("make-model --out none --layers 0"), kUsage,
              "--layers is 0, expected an integer in [1, 4096]");
  expect_says(pando("make-model --out none --context -1"), kUsage,
              "--context is -1, expected an integer in [1, 1073741824]");
  expect_says(pando("make-model --out none --shape tiny-qwen3.5 --layers 1"), kUsage,
              "--layers is 1, expected at least 2: layer 2 of 'tiny-qwen3.5' is its first layer "
              "with attention");
}

TEST_F(MessagesTest, SeedsAreWholeNumbersOf64Bits) {
  for (const char* command : {"run --model m --input none.jsonl", "make-model --out seeded"}) {
    const std::string name = std::string(command).substr(0, std::string(command).find(' '));
    for (const char* seed : {"-5", "1e3", "1.5", "18446744073709551616"})
      expect_says(
          pando(fmt::format("{} --seed {}", command, seed)), kUsage,
          fmt::format("{}: --seed: {}, expected a whole number from 0 to 2^64 - 1", name, seed));
  }
  EXPECT_FALSE(std::filesystem::exists(at("seeded")));
  EXPECT_EQ(pando("make-model --out seeded --seed 18446744073709551615").code, kOk);
  EXPECT_EQ(pando("make-model --out other --seed 18446744073709551614").code, kOk);
  const auto weights = [](const char* model) { return contents(at(model) / "model.safetensors"); };
  EXPECT_NE(weights("seeded"), weights("other"));
}

TEST_F(MessagesTest, NoNumberIsTooLongToBeRead) {
  expect_says(pando("run --model m --input good.jsonl --dry-run 99999999999999999999"), kUsage,
              "run: --dry-run: 99999999999999999999, expected at least 1");
  for (const char* deadlines : {"a=inf,5", "a=5,nan", "a=-1,5", "a=0,5"})
    expect_says(pando(fmt::format("serve --model m --deadline-class {}", deadlines)), kUsage,
                fmt::format("--deadline-class: '{}', expected NAME=TTFT,TPOT in milliseconds, such "
                            "as chat=500,50",
                            deadlines));
}

// As a variable of a shell that is not set leaves them: a server would ask for no keys.
TEST_F(MessagesTest, EmptyPathsAreRefused) {
  const auto refused = [&](const std::string& command, const std::string& option,
                           const char* expected = "a path") {
    const std::string name = command.substr(0, command.find(' '));
    expect_says(pando(command + " " + option + " ''"), kUsage,
                fmt::format("{}: {}: is empty, expected {}", name, option, expected));
  };
  for (const char* option : {"--api-key-file", "--router-key-file", "--tls-cert", "--tls-key"})
    refused("serve --model m", option);
  refused("serve --model m", "--host", "an address");
  refused("serve --model m", "--model-name", "a name");
  for (const char* option : {"--output", "--report", "--progress-log"})
    refused("run --model m --input good.jsonl", option);
  refused("run --model m", "--input");
  refused("run --model m --input good.jsonl", "--group-by", "a name");
  refused("score --model m", "--perplexity");
  for (const char* option : {"--trec-run", "--qrels"})
    refused("rerank --model m --input good.jsonl", option);
  refused("embed --model m --input good.jsonl", "--input-type", "a name");
  refused("make-model", "--out");
  refused("make-model --out none", "--tokenizer");
  for (const char* option : {"--model", "--data", "--out", "--models"})
    refused("bench list", option);
}

TEST_F(MessagesTest, NamesOfTheServersOptionsAreGivenOnce) {
  folder().write("rules.txt", "Rules.");
  expect_says(pando("serve --model m --deadline-class a=1,1 --deadline-class a=2,2"), kUsage,
              "--deadline-class names 'a' twice, expected once");
  expect_says(pando("serve --model m --public-prefix r=rules.txt --public-prefix r=good.jsonl"),
              kUsage, "--public-prefix names 'r' twice, expected once");
}

TEST_F(MessagesTest, ValuesThatCannotBeAreWrongUse) {
  const std::string run = "run --model m --input good.jsonl --threads 1 ";
  expect_says(pando(run + "--context 100000"), kUsage,
              "--context is 100000, expected at most the model's 640 positions");
  expect_says(pando("run --model m --input good.jsonl --threads 1025"), kUsage,
              "run: --threads: 1025, expected 0 (one per fast processor) to 1024");
  const Finished memory = pando(run + "--kv-memory 1000000GiB");
  EXPECT_EQ(memory.code, kUsage) << memory;
  EXPECT_TRUE(
      memory.says("--kv-memory is 1073741824000000 bytes (1000000.0 GiB), expected at most "))
      << memory;
  EXPECT_EQ(pando("make-model --shape none --out x").code, kUsage);
  const Finished negative = pando("run --input x --kv-memory -5GiB");
  EXPECT_EQ(negative.code, kUsage);
  EXPECT_NE(negative.err.find("-5GiB, expected a size such as 4GiB"), std::string::npos);
  for (const std::string size :
       {"' -5'", "-0", "0.5", "1.5", "0.0001k", "abc", "4x", "4kbb", "1e30", "nan"}) {
    const Finished wrong = pando("run --input x --kv-memory " + size);
    EXPECT_EQ(wrong.code, kUsage) << size;
    EXPECT_NE(wrong.err.find(", expected a size such as 4GiB"), std::string::npos) << wrong;
  }
  for (const std::string size : {"1.5PiB", "1.5p", "1572864G", "1688849860263936", "'1.5 PB'"}) {
    const Finished large = pando("run --model m --input good.jsonl --kv-memory " + size);
    EXPECT_TRUE(
        large.says("--kv-memory is 1688849860263936 bytes (1572864.0 GiB), expected at most "))
        << large;
  }
  expect_says(pando("run --input x --kv-memory 0"), kUsage,
              "run: --kv-memory: 0, expected a size above 0");
  EXPECT_EQ(pando("inspect m --input good.jsonl --context 100000").code, kUsage);
  expect_says(pando("inspect m --model m --input good.jsonl"), kUsage,
              "inspect: the model is given twice, expected once");
  EXPECT_EQ(pando("score --model m --threads 1 --perplexity good.jsonl --window 100000").code,
            kUsage);
}

TEST_F(MessagesTest, QuietSaysNothingOfTheDemoModel) {
  folder().write("demo.jsonl",
                 "{\"context\": \"Velina works as a tailor.\", \"question\": \"What is the "
                 "profession of Velina?\"}\n");
  const std::string run = "run --input demo.jsonl --threads 1 --kv-memory 64MiB --max-tokens 1 ";
  EXPECT_TRUE(pando(run).says("pando: no --model given, using the demo model\n"));
  EXPECT_EQ(pando(run + "--quiet").err, "");
}

TEST_F(MessagesTest, AClosedPipeEndsItQuietly) {
  folder().write("pipe.sh",
                 "'" PANDO_BINARY
                 "' run --model m --threads 1 --kv-memory 64MiB --max-tokens 1 --input many.jsonl "
                 "2> stderr.txt | head -n 1 > stdout.txt\necho ${PIPESTATUS[0]} > code.txt\n");
  ASSERT_EQ(std::system(("cd '" + folder().path().string() + "' && bash pipe.sh").c_str()), 0);
  EXPECT_EQ(contents(at("code.txt")), fmt::format("{}\n", 128 + SIGPIPE));
  EXPECT_EQ(contents(at("stderr.txt")), "");
}

TEST_F(MessagesTest, ATemplateWithoutAPlaceForTheQuestionIsSaidOnce) {
  const std::string run = "run --model m --input many.jsonl --template ";
  expect_says(pando(run + "'{context} {qestion}'"), kUsage, "the template has no {question} in it");
  expect_says(pando(run + "'{context}{question}' --instruction X"), kUsage,
              "the template has no {instruction} in it for --instruction");
}

TEST_F(MessagesTest, CompletionOffersValues) {
  ASSERT_EQ(pando("completion bash > pando.bash").code, kOk);
  EXPECT_EQ(completed("pando run --format ''"), "auto jsonl csv tsv\n");
  EXPECT_EQ(completed("pando run --sharing tr"), "tree\n");
  EXPECT_EQ(completed("pando completion z"), "zsh\n");
  EXPECT_EQ(completed("pando run --too"), "--too-long --tool-format\n");
  EXPECT_EQ(completed("pando run --input g"), "\n");
  EXPECT_EQ(completed("pando ins"), "inspect\n");
  const std::string fish = pando("completion fish").out, zsh = pando("completion zsh").out;
  EXPECT_NE(fish.find("-l format"), std::string::npos);
  EXPECT_NE(fish.find("-x -a 'auto jsonl csv tsv'"), std::string::npos);
  EXPECT_NE(fish.find("shape\\'s own"), std::string::npos);
  EXPECT_EQ(zsh.substr(0, zsh.find('\n')), "#compdef pando");
  EXPECT_NE(zsh.find("]:format:(auto jsonl csv tsv)'"), std::string::npos);
  EXPECT_NE(zsh.find("shape'\\''s own"), std::string::npos);
}

TEST_F(MessagesTest, ProgressMovesWhileItRuns) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    if (chdir(folder().path().c_str()) != 0) _exit(99);
    execl(PANDO_BINARY, "pando", "run", "--model", "m", "--threads", "1", "--kv-memory", "64MiB",
          "--input", "many.jsonl", "--output", "/dev/null", "--ignore-eos", nullptr);
    _exit(99);
  }
  std::string shown;
  char buffer[256];
  // Three times at least, and until a step is computed, which may be late on a busy machine.
  const auto is_enough = [&] {
    const auto n_shown = std::count(shown.begin(), shown.end(), '\r');
    return n_shown > 100 || (n_shown >= 3 && shown.find(" left") != std::string::npos);
  };
  for (ssize_t n; !is_enough() && (n = read(terminal, buffer, sizeof buffer)) > 0;)
    shown.append(buffer, static_cast<size_t>(n));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(terminal);
  EXPECT_NE(shown.find(" prompt tokens computed, "), std::string::npos) << shown;
  EXPECT_NE(shown.find("% shared; "), std::string::npos) << shown;
  EXPECT_NE(shown.find(" left"), std::string::npos) << shown;
}

TEST_F(MessagesTest, TheToolForDataSetsSaysWhatIsMissing) {
  const auto said = [&](const std::string& arguments) {
    EXPECT_NE(std::system(("cd '" + folder().path().string() +
                           "' && python3 '" PANDO_SOURCE_DIR "/tools/dataset_to_jsonl.py' " +
                           arguments + " 2> stderr.txt > stdout.txt")
                              .c_str()),
              0);
    return contents(at("stderr.txt"));
  };
  EXPECT_EQ(said("squad nowhere.json"),
            "dataset_to_jsonl.py: cannot read 'nowhere.json': No such file or directory\n");
  EXPECT_TRUE(
      said("squad many.jsonl").starts_with("dataset_to_jsonl.py: 'many.jsonl' is not JSON: "));
  EXPECT_EQ(said("fairytaleqa good.jsonl --questions 1"),
            "dataset_to_jsonl.py: 'good.jsonl' is not of the kind fairytaleqa: 'questions'\n");
}

}  // namespace
}  // namespace pando::testing
