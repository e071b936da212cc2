// Texts of prompts on the command line, and templates from files.
#include "cli/process.h"

namespace pando::testing {
namespace {

constexpr int kOk = 0, kUsage = 2;  // src/cli/exit_code.h

class PromptTextTest : public ProcessTest {
 protected:
  static void SetUpTestSuite() {
    ProcessTest::SetUpTestSuite();
    folder().write("one.jsonl", "{\"context\": \"C\", \"question\": \"Q\"}\n");
  }

  // The prompt of a dry run.
  std::string prompt(const std::string& options) {
    const Finished shown = pando("run --model m --input one.jsonl --dry-run " + options);
    EXPECT_EQ(shown.code, kOk) << shown;
    const size_t begin = shown.out.find('\n') + 1;
    return shown.out.substr(begin, shown.out.find("\n== end of the prompt") - begin);
  }
};

TEST_F(PromptTextTest, EscapesAreLineEndsTabsAndBackslashes) {
  EXPECT_EQ(prompt(R"(--template '{context}\n\t{question}\\n')"), "C\n\tQ\\n");
  EXPECT_EQ(prompt(R"(--template 'x{instruction}\n{context}{question}' --instruction 'I\n')"),
            "xI\n\nCQ");
  EXPECT_EQ(prompt("--template '{context}\n{question}'"), "C\nQ");
  EXPECT_EQ(prompt(R"(--template '{"{context}": {"a": 1}, "{answer}": {question}}')"),
            R"({"C": {"a": 1}, "{answer}": Q})");
}

TEST_F(PromptTextTest, AnotherBackslashIsNamed) {
  for (const std::string option : {"--template", "--stop", "--instruction", "--choice"}) {
    const Finished wrong =
        pando("run --model m --input one.jsonl " + option + R"( 'a{question}\frac')");
    EXPECT_EQ(wrong.code, kUsage) << wrong;
    EXPECT_TRUE(wrong.says(R"('a{question}\frac' contains '\f', expected \n, \t, \r, or \\)"))
        << wrong;
  }
  EXPECT_TRUE(pando(R"(rerank --model m --input one.jsonl --yes 'y\')")
                  .says(R"('y\' contains '\', expected)"));
}

TEST_F(PromptTextTest, AStopTextMayBeALineEnd) {
  folder().write("stop.jsonl", "{\"prompt\": \"A\"}\n");
  const std::string run =
      "run --model m --threads 1 --kv-memory 64MiB --input stop.jsonl --max-tokens 3 ";
  const Finished escaped = pando(run + R"(--stop '\n')"), real = pando(run + "--stop $'\\n'");
  EXPECT_EQ(escaped.code, kOk) << escaped;
  EXPECT_EQ(escaped.out, real.out);
}

TEST_F(PromptTextTest, ATemplateOfAFileIsTakenAsItIs) {
  folder().write("plain.txt", R"({context}\n{question})");
  EXPECT_EQ(prompt("--template-file plain.txt"), R"(C\nQ)");
  folder().write("ends.txt", "{context}\n{question}\n");
  EXPECT_EQ(prompt("--template-file ends.txt"), "C\nQ\n");
  EXPECT_TRUE(pando("run --model m --input one.jsonl --dry-run --template-file ends.txt")
                  .says("the template in 'ends.txt' ends with a newline"));
  const Finished both =
      pando("run --model m --input one.jsonl --template a{question} --template-file plain.txt");
  EXPECT_EQ(both.code, kUsage) << both;
  folder().write("cut.gz", std::string("\x1f\x8b\x08", 3));
  EXPECT_TRUE(pando("run --model m --input one.jsonl --template-file cut.gz")
                  .says("cannot read 'cut.gz': the gzip data is cut off: it ends after 3 bytes"));
  const Finished none = pando("run --model m --input one.jsonl --template-file none.txt");
  EXPECT_EQ(none.code, kUsage) << none;
  EXPECT_TRUE(
      none.says("cannot read file 'none.txt': No such file or directory, expected the name "
                "of a readable file\n"))
      << none;
  const Finished text = run("--input one.jsonl --schema '{\"type\": \"string\"}'");
  EXPECT_EQ(text.code, kUsage) << text;
  EXPECT_TRUE(text.says("expected the name of a readable file\n")) << text;
}

}  // namespace
}  // namespace pando::testing
