// Options from a file, by --config.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/run_process.h"

namespace pando::testing {
namespace {

class OptionsFile : public RunProcess {
 protected:
  // A dry run with this file of options.
  Finished by(const std::string& text) {
    folder().write("options.toml", text);
    return pando("run --config options.toml --model m --input question.jsonl --dry-run");
  }
  // The error message of a run with this section.
  std::string refused(const std::string& section) {
    const Finished finished = by(section);
    EXPECT_EQ(finished.code, kUsage) << section << finished;
    constexpr std::string_view kBegin = "pando: 'options.toml', ";
    EXPECT_TRUE(finished.err.starts_with(kBegin)) << finished;
    EXPECT_EQ(n_lines(finished.err), 1) << finished;
    return finished.err.substr(std::min(kBegin.size(), finished.err.size()),
                               finished.err.size() - kBegin.size() - 1);
  }
  // The instruction in the prompt.
  std::string instruction(const std::string& value) {
    const Finished finished = by("[run]\ninstruction = " + value + "\n");
    EXPECT_EQ(finished.code, kOk) << value << finished;
    const size_t begin = finished.out.find('\n') + 1;
    return finished.out.substr(begin, finished.out.find("\n\nA.", begin) - begin);
  }

  static void SetUpTestSuite() {
    RunProcess::SetUpTestSuite();
    folder().write("question.jsonl", "{\"context\": \"A.\", \"question\": \"B?\"}\n");
  }
};

TEST_F(OptionsFile, TextsArriveAsTomlReadsThem) {
  EXPECT_EQ(instruction("\"Say hi # now\" # a comment"), "Say hi # now");
  EXPECT_EQ(instruction("'''Briefly.'''"), "Briefly.");
  EXPECT_EQ(instruction("'''\nIt's \"so\",\n'' too.'''"), "It's \"so\",\n'' too.");
  EXPECT_EQ(instruction("\"\"\"\nOne \\\n   line.\"\"\""), "One line.");
  EXPECT_EQ(instruction(R"("Say \"hi\"\tnow\u00e9")"), "Say \"hi\"\tnow\u00e9");
  EXPECT_EQ(instruction(R"('C:\new\table')"), "C:\\new\\table");
  EXPECT_EQ(instruction(R"("a\\nb\\")"), "a\\nb\\");
  EXPECT_EQ(instruction("'[a, b]'"), "[a, b]");
  EXPECT_EQ(instruction("'a = b, c; d'"), "a = b, c; d");
}

TEST_F(OptionsFile, FormsOfToml) {
  const std::string plain = by("[run]\ninstruction = 'I'\nchoice = ['a', '#b']\n").out;
  EXPECT_NE(plain.find("\" #b\""), std::string::npos) << plain;
  for (const char* same :
       {"\xef\xbb\xbf[run]\r\ninstruction = 'I'\r\nchoice = ['a', '#b']\r\n",
        "run.instruction = 'I'\nrun.choice = ['a', '#b']\n",
        "run = {instruction = 'I', choice = ['a', '#b']}\n",
        "[run]\n\"instruction\" = \"I\"\nchoice = [ # both\n  'a',\n  # and\n  '#b', # last\n]\n",
        "[serve]\nport = 1_000\n[run] # here\ninstruction='I'\nchoice=['a','#b']"})
    EXPECT_EQ(by(same).out, plain) << same;
  EXPECT_EQ(by("").code, kOk);
  EXPECT_EQ(by("[run]\nseed = '18446744073709551615'\n").code, kOk);
  const auto first = [&](const std::string& more) {
    folder().write("options.toml", "[run]\nmodel = 'm'\nkv-memory = '64MiB'\n" + more);
    const Finished run = pando("run --config options.toml --input good.jsonl --quiet --threads 1");
    EXPECT_EQ(run.code, kOk) << run;
    return nlohmann::json::parse(run.out.substr(0, run.out.find('\n')));
  };
  EXPECT_EQ(first("max-tokens = 0x3\nignore-eos = true\n")["completion_tokens"], 3);
  EXPECT_EQ(first("max-tokens = '2'\nignore-eos = true\n")["completion_tokens"], 2);
  EXPECT_FALSE(first("logits-hash = false\n").contains("logits_hash"));
  EXPECT_TRUE(first("logits-hash = true\ntemperature = 1e-1\n").contains("logits_hash"));
}

TEST_F(OptionsFile, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_EQ(refused("# options\n\n[run]\nno-such-option = 1\n"),
            "line 4: unknown option 'no-such-option'");
  EXPECT_EQ(refused("[run]\nmax-tokns = 5\n"),
            "line 2: unknown option 'max-tokns' (hint: 'max-tokens'?)");
  EXPECT_EQ(refused("[run]\nhelp = true\n"), "line 2: unknown option 'help'");
  EXPECT_EQ(refused("[run]\nrun.n = 1\n"), "line 2: unknown option 'run'");
  EXPECT_EQ(refused("max-tokens = 5\n"), "line 1: 'max-tokens' is 5, expected a section");
  EXPECT_EQ(refused("[score]\nwindow = 5\n[rum]\nmodel = \"m\"\n").substr(0, 31),
            "line 3: unknown command 'rum', ");
  EXPECT_EQ(refused("[[run]]\nn = 1\n"), "line 1: 'run' is a list, expected a section");
  EXPECT_EQ(refused("[run]\nmax-tokens = 1.5\n"),
            "line 2: --max-tokens: 1.5, expected a whole number of at most 2147483647");
  EXPECT_EQ(refused("[run]\nmax-tokens = 5.0\n"),
            "line 2: --max-tokens: 5.0, expected a whole number of at most 2147483647");
  EXPECT_EQ(refused("[run]\nmax-tokens = [1]\n"),
            "line 2: --max-tokens is a list, expected a number");
  EXPECT_EQ(refused("[run]\nthreads = 1\ntop-p = 2\n"), "line 3: --top-p: 2, expected 0 to 1");
  EXPECT_EQ(refused("[run]\nstop = [\"a\", # both\n  \"b\"]\ntop-p = 2\n"),
            "line 4: --top-p: 2, expected 0 to 1");
  EXPECT_EQ(refused("[run]\nstop = []\n"), "line 2: --stop is an empty list, expected a value");
  EXPECT_EQ(refused("[run]\nstop = ['a',\n 5]\n"),
            "line 3: --stop is 5, expected a text in quotes");
  EXPECT_EQ(refused("[run]\ninstruction = 1.10\n"),
            "line 2: --instruction is 1.1, expected a text in quotes");
  EXPECT_EQ(refused("[run]\ninstruction = true\n"),
            "line 2: --instruction is true, expected a text in quotes");
  EXPECT_EQ(refused("[run]\ndate = 2026-11-25\n"),
            "line 2: --date is a date or time, expected a text in quotes");
  EXPECT_EQ(refused("[run]\nmax-tokens = true\n"),
            "line 2: --max-tokens is true, expected a number");
  EXPECT_EQ(refused("[run]\nlogprobs = 'yes'\n"),
            "line 2: --logprobs is 'yes', expected true or false");
  EXPECT_EQ(refused("[run]\nlogprobs = 1\n"), "line 2: --logprobs is 1, expected true or false");
}

TEST_F(OptionsFile, WhatIsNoTomlIsNamedWithItsLine) {
  for (const char* wrong :
       {"[run]\nn = 1\nn = 1\n", "[run]\nn = 1\nstop = 'a'\nstop = 'b'\n",
        "[run]\n\n[run]\nn = 1\n", "run.n = 1\n\n[run]\ntop-k = 1\n", "[run]\n\nkv-memory = 4GiB\n",
        "[run]\n\nn =\n", "[run]\n\nquiet\n", "[run]\n\nlogprobs = maybe\n",
        "[run]\n\nseed = 007\n", "[run]\n\ninstruction = \"open\n",
        "[run]\n\ninstruction = 'It\\'s'\n", "[run]\n\nchoice = ['a', 'b'] // both\n",
        "[run]\n\ninstruction = \"\\q\"\n", "[run]\n\ninstruction = \"\xff\"\n",
        "[run]\n\n; an old comment\n", "\n\nrun:\n  n: 5\n"}) {
    const std::string said = refused(wrong);
    EXPECT_TRUE(said.starts_with(
        std::string_view(wrong).find("stop") == std::string::npos ? "line 3: " : "line 4: "))
        << wrong << said;
  }
  const std::string twice = refused("[run]\nn = 1\nn = 1\n");
  EXPECT_NE(twice.find("'n'"), std::string::npos) << twice;
  folder().write("options.toml", std::string("\xff\xfe[\0", 4));
  EXPECT_EQ(pando("run --config options.toml --model m --input question.jsonl").err,
            "pando: 'options.toml' is text in UTF-16, expected UTF-8\n");
  EXPECT_EQ(pando("run --config none.toml --model m --input good.jsonl").err,
            "pando: --config: cannot read 'none.toml', expected a file with options\n");
  EXPECT_EQ(pando("run --config m --model m --input good.jsonl").err,
            "pando: --config: cannot read 'm', expected a file with options\n");
  EXPECT_EQ(pando("run --config a.toml --config b.toml --model m").code, kUsage);
}

TEST_F(OptionsFile, TheCommandLineStands) {
  folder().write("options.toml", "[run]\ninstruction = 'File.'\ndry-run = 1\n");
  const std::string begin = "run --config options.toml --model m --input question.jsonl";
  EXPECT_NE(pando(begin).out.find("File.\n\nA."), std::string::npos);
  EXPECT_NE(pando(begin + " --instruction Line.").out.find("\nLine.\n\nA."), std::string::npos);
  folder().write("options.toml", "[run]\ndry-run = true\n");
  EXPECT_NE(pando(begin).out.find("== line 1"), std::string::npos);
  folder().write("options.toml", "[run]\ndry-run = false\nmax-tokens = 1\n");
  const Finished computed = pando(begin);
  EXPECT_EQ(computed.code, kOk) << computed;
  EXPECT_EQ(n_lines(computed.out), 1) << computed;
}

TEST_F(OptionsFile, MayBeAPipe) {
  const Finished finished =
      pando("run --config options --model m --input good.jsonl --dry-run",
            "mkfifo options && (printf '[run]\\nmax-tokens = 1\\n' > options &) && timeout 60 ");
  EXPECT_EQ(finished.code, kOk) << finished;
  const Finished wrong =
      pando("run --config wrong --model m --input good.jsonl --dry-run",
            "mkfifo wrong && (printf '[run]\\nmax-tokns = 1\\n' > wrong &) && timeout 60 ");
  EXPECT_EQ(wrong.err,
            "pando: 'wrong', line 2: unknown option 'max-tokns' (hint: 'max-tokens'?)\n");
}

}  // namespace
}  // namespace pando::testing
