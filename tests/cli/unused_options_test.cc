// Options without effect are reported: once for each kind of line, or once for the whole run.
#include <fmt/format.h>

#include "cli/run_process.h"

namespace pando::testing {
namespace {

using UnusedOptionsTest = RunProcess;

// What `pando COMMAND --model m` tells of options over these lines.
std::string told(const Finished& finished) {
  std::string lines;
  for (size_t at = 0, end; at < finished.err.size(); at = end + 1) {
    end = std::min(finished.err.find('\n', at), finished.err.size());
    const std::string line = finished.err.substr(at, end - at);
    if (line.find(" no effect on ") != std::string::npos) lines += line + "\n";
  }
  return lines;
}

TEST_F(UnusedOptionsTest, EachKindOfLinesIsNamedOnce) {
  folder().write("kinds.jsonl",
                 "{\"prompt\": \"P\"}\n{\"prompt\": \"Q\"}\n"
                 "{\"messages\": [{\"role\": \"user\", \"content\": \"Q\"}]}\n"
                 "{\"tokens\": [65, 66]}\n"
                 "{\"context\": \"C\", \"question\": \"Q\"}\n"
                 "{\"custom_id\": \"a\", \"url\": \"/v1/completions\", \"body\": {\"prompt\": "
                 "\"P\"}}\n");
  const std::string expected =
      "pando: line 1: --instruction, --chat have no effect on lines with 'prompt', because the "
      "model gets 'prompt' unchanged (hint: use 'messages' for a conversation)\n"
      "pando: line 3: --instruction has no effect on lines with 'messages' (hint: an instruction "
      "is a message with the role 'system')\n"
      "pando: line 4: --instruction, --chat have no effect on lines with 'tokens', because the "
      "model gets 'tokens' unchanged\n"
      "pando: line 6: --instruction has no effect on lines of an OpenAI batch (hint: put the "
      "setting into the line's 'body')\n"
      "pando: line 6: --chat has no effect on lines of an OpenAI batch without 'messages' (hint: "
      "use the url /v1/chat/completions)\n";
  for (const char* more : {"", " --compare packed", " --quiet", " --dry-run 10"}) {
    const Finished finished = run(std::string("--input kinds.jsonl --instruction I --chat") + more);
    EXPECT_EQ(finished.code, kOk) << finished;
    EXPECT_EQ(told(finished), expected) << more;
  }
  EXPECT_EQ(told(pando("inspect m --input kinds.jsonl --instruction I --chat")), expected);
  EXPECT_EQ(told(run("--input kinds.jsonl")), "");
}

TEST_F(UnusedOptionsTest, OptionsThatDependOnOthers) {
  EXPECT_EQ(told(run("--input good.jsonl --template '{context} {question}' --date 2026-11-25")),
            "pando: line 1: --date has no effect on questions without --chat\n"
            "pando: line 2: --template, --date have no effect on lines with 'prompt', because the "
            "model gets 'prompt' unchanged (hint: use 'messages' for a conversation)\n");
  EXPECT_EQ(told(run("--input good.jsonl --top-p 0.5")),
            "pando: line 1: --top-p has no effect on answers at temperature 0, because each "
            "token is the likeliest one\n");
  EXPECT_EQ(told(run("--input good.jsonl --top-p 0.5 --temperature 1")), "");
  EXPECT_EQ(told(run("--input good.jsonl --n 2")),
            "pando: line 1: --n has no effect on answers at temperature 0 except to repeat them, "
            "because each token is the likeliest one (hint: --temperature)\n");
  EXPECT_EQ(told(run("--input good.jsonl --n 2 --temperature 1")), "");
  EXPECT_EQ(told(run("--input good.jsonl --n 1")), "");
  EXPECT_EQ(told(pando("inspect m --input good.jsonl --n 2")), "");
  EXPECT_EQ(
      told(run("--input good.jsonl --temperature 1 --choice a")),
      "pando: line 1: --temperature, --max-tokens, --ignore-eos have no effect on questions with "
      "choices, because the answer is always the likeliest choice\n");
}

TEST_F(UnusedOptionsTest, OfARun) {
  const Finished quiet = run("--input good.jsonl --quiet --show 2");
  EXPECT_EQ(quiet.code, kOk) << quiet;
  EXPECT_EQ(quiet.err, "pando: --show has no effect with --quiet\n");
  const std::string resumed = "--input good.jsonl --output shown.jsonl --resume --show 2";
  const Finished first = run(resumed), second = run(resumed);
  const std::string said =
      "pando: --show has no effect on a finished run, because nothing is asked again\n";
  EXPECT_FALSE(first.says(said)) << first;
  EXPECT_TRUE(first.says("[d/0] One?")) << first;
  EXPECT_EQ(second.code, kOk) << second;
  EXPECT_TRUE(second.says(said)) << second;
  EXPECT_FALSE(run("--input good.jsonl --output shown.jsonl --resume").says("--show"));
  const Finished device = run("--input good.jsonl --output /dev/null --resume");
  EXPECT_EQ(device.code, kUsage) << device;
  EXPECT_EQ(device.err,
            "pando: --output is '/dev/null', expected a regular file, because --resume continues "
            "one\n");
}

TEST_F(UnusedOptionsTest, OfTextsToEmbed) {
  folder().write("texts.jsonl", "[{\"text\": \"T\"}, {\"tokens\": [65]}]");
  const std::string embed = "embed --model m --threads 1 --kv-memory 64MiB --input texts.jsonl ";
  EXPECT_EQ(told(pando(embed + "--instruction I")),
            "pando: object 2: --instruction has no effect on lines with 'tokens', because the "
            "model gets 'tokens' unchanged\n");
  EXPECT_EQ(told(pando(embed)), "");
  for (const auto& [options, reason] :
       {std::pair("--instruction I", "--instruction replaces the prompt that --input-type names"),
        std::pair("--template 'x {text}'", "the template has no {instruction}")}) {
    const Finished refused = pando(embed + "--input-type query " + options);
    EXPECT_EQ(refused.code, kUsage) << refused;
    EXPECT_TRUE(refused.says(std::string("--input-type has no effect: ") + reason)) << refused;
  }
  // Commands that render no conversation have no template for them.
  for (const char* command : {"embed", "rerank", "score"})
    EXPECT_TRUE(pando(fmt::format("{} --input texts.jsonl --chat-template x", command))
                    .says("unknown option '--chat-template'"))
        << command;
}

}  // namespace
}  // namespace pando::testing
