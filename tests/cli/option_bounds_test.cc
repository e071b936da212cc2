// Every request option of the command line: its help, its bounds, and the journal.
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "engine/option_values.h"

namespace pando::testing {
namespace {

constexpr int kOk = 0, kUsage = 2;  // src/cli/exit_code.h

std::string dashed(const RequestOption& option) {
  std::string name = option.name;
  for (char& c : name) c = c == '_' ? '-' : c;
  return name;
}

class OptionBounds : public ProcessTest {
 protected:
  static void SetUpTestSuite() {
    ProcessTest::SetUpTestSuite();
    folder().write("one.jsonl", "{\"prompt\": \"PP\"}\n");
  }
};

TEST_F(OptionBounds, EveryOptionHasItsHelp) {
  const std::string help = pando("run --help", "COLUMNS=400 ").out;
  for (const RequestOption& option : request_options())
    if (option.stands_in(kInCommand)) {
      EXPECT_NE(help.find("  --" + dashed(option) + " "), std::string::npos) << option.name;
      EXPECT_NE(help.find(option.help), std::string::npos) << option.name;
    }
}

// Values within them are taken: the run gets as far as its input, which is not there.
TEST_F(OptionBounds, AreKept) {
  for (const OptionValue& value : option_values(kInCommand)) {
    const std::string name = "--" + dashed(*value.option);
    const Finished finished =
        pando("run --model m --prompt-logprobs --input none.jsonl " + name + "=" + value.text());
    const std::string expected =
        value.good ? "none.jsonl"
                   : name + ": " + value.text() + ", expected " + value.option->expected;
    EXPECT_TRUE(finished.says(expected)) << value.message() << "\n" << finished;
    EXPECT_EQ(finished.code == kUsage, !value.good) << value.message();
  }
}

// The demo model's answer " tailor" is three tokens and the end token.
TEST_F(OptionBounds, MinTokensComeBeforeTheEnd) {
  folder().write("demo.jsonl",
                 R"({"context": "The dog named Brako has fur that is green. Velina works as a )"
                 R"(tailor. The Mofti lamp costs $12.40.", )"
                 R"("question": "What is the profession of Velina?"})"
                 "\n");
  const std::string ask = "run --input demo.jsonl --threads 1 --kv-memory 64MiB --quiet ";
  const auto answer = [&](const std::string& options) {
    return nlohmann::json::parse(pando(ask + options).out);
  };
  EXPECT_EQ(answer("")["completion_tokens"], 4);
  const nlohmann::json longer = answer("--min-tokens 8");
  EXPECT_GE(longer["completion_tokens"], 8);
  EXPECT_TRUE(longer["text"].get<std::string>().starts_with(" tailor")) << longer;
  EXPECT_EQ(answer("--stop ta")["text"], " ");
  EXPECT_EQ(answer("--stop ta --min-tokens 3")["text"], " tailor");
  const Finished refused = pando(
      "run --input demo.jsonl --threads 1 --kv-memory 64MiB "
      "--max-tokens 8 --min-tokens 9");
  EXPECT_NE(refused.code, kOk);
  EXPECT_TRUE(refused.says("min_tokens is 9, expected at most max_tokens, which is 8")) << refused;
}

nlohmann::json settings_of(const std::string& journal) {
  return nlohmann::json::parse(journal.substr(0, journal.find('\n')))["settings"];
}

// Journals have always named these; a run that uses no others goes on with one.
TEST_F(OptionBounds, JournalsNameOlderOptionsAlways) {
  ASSERT_EQ(run("--input one.jsonl --output a.jsonl").code, kOk);
  const nlohmann::json settings = settings_of(contents(at("a.jsonl.journal")));
  const std::pair<const char*, const char*> expected[] = {{"max-tokens", "4"},
                                                          {"temperature", "0"},
                                                          {"top-k", "0"},
                                                          {"top-p", "1"},
                                                          {"min-p", "0"},
                                                          {"repetition-penalty", "1"},
                                                          {"presence-penalty", "0"},
                                                          {"frequency-penalty", "0"},
                                                          {"n", "1"},
                                                          {"stop", "[]"},
                                                          {"stop tokens", "[]"},
                                                          {"ignore-eos", "yes"},
                                                          {"logprobs", "no"},
                                                          {"top-logprobs", "0"},
                                                          {"prompt-logprobs", "no"},
                                                          {"logits-hash", "no"},
                                                          {"special-tokens", "yes"},
                                                          {"chat", "no"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(settings.value(name, ""), value) << name;
  EXPECT_EQ(settings.size(), 44u) << settings;
  EXPECT_EQ(run("--input one.jsonl --output a.jsonl --resume --min-tokens 0").code, kOk);
  const Finished others = run("--input one.jsonl --output a.jsonl --resume --min-tokens 2");
  EXPECT_TRUE(others.says("min-tokens: not set, now '2'")) << others;
  ASSERT_EQ(run("--input one.jsonl --output b.jsonl --min-tokens 2").code, kOk);
  EXPECT_EQ(settings_of(contents(at("b.jsonl.journal"))).value("min-tokens", ""), "2");
}

}  // namespace
}  // namespace pando::testing
