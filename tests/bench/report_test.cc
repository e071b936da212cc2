// Tables and charts, and the workloads that they are about.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "bench/bars.h"
#include "bench/bench.h"
#include "bench/chart.h"
#include "bench/peer.h"
#include "bench/speed_rows.h"
#include "bench/tokens.h"

namespace pando::bench {
namespace {

TEST(TableTest, NumbersHaveThreeDigits) {
  EXPECT_EQ(number(1234.5), "1234");
  EXPECT_EQ(number(12.345), "12.3");
  EXPECT_EQ(number(1.2345), "1.23");
  EXPECT_EQ(number(0.12345), "0.123");
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(0.0012345), "0.00123");
  EXPECT_EQ(number(kNotMeasured), "x");
}

TEST(TableTest, ColumnsLineUpAndCsvIsQuoted) {
  Table table{.title = "Title", .columns = {"a", "long name"}};
  table.add({"γ, \"x\"", "1"});
  EXPECT_EQ(to_markdown(table),
            "Title\n\n| a      | long name |\n|--------|-----------|\n| γ, \"x\" | 1         |\n");
  EXPECT_EQ(to_csv(table), "a,long name\n\"γ, \"\"x\"\"\",1\n");
  EXPECT_EQ(to_csv({.columns = {"times", "peer", "times"}}), "times,peer,times (2)\n");
}

TEST(ChartTest, LeavesGapsAndEscapes) {
  Chart chart{.title = "a < b", .log_x = true};
  EXPECT_EQ(to_svg(chart), "");  // nothing to draw
  chart.series = {{"one", {{1, 2}, {10, kNotMeasured}, {100, 4}, {1000, 3}}}};
  const std::string svg = to_svg(chart);
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  const auto count = [&](const std::string& text) {
    int n = 0;
    for (size_t at = svg.find(text); at != std::string::npos; at = svg.find(text, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("<circle"), 3);
  EXPECT_EQ(count("L"), 1);  // only the last two points are neighbours
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(TokensTest, DistinctTokensAreNodesOfTheTrie) {
  const auto request = [](std::vector<Token> tokens, uint64_t key = 0) {
    Request r = request_of(std::move(tokens), 1);
    r.isolation_key = key;
    return r;
  };
  EXPECT_EQ(distinct_tokens({request({1, 2, 3}), request({1, 2, 4}), request({5}),
                             request({1, 2, 3}), request({1, 2, 3, 9})}),
            6u);
  EXPECT_EQ(distinct_tokens({request({1, 2, 3}), request({1, 2, 3}, 7)}), 6u);
  EXPECT_EQ(all_tokens({request({1, 2, 3}), request({1})}), 4u);
}

TEST(TokensTest, QuestionsShareInstructionAndContext) {
  RandomTokens random(1, 1000);
  const QaShape shape{
      .instruction = 10, .context = 20, .question = 5, .answer = 3, .questions = 3.5};
  const std::vector<Request> requests = questions_of(shape, 4, random);
  ASSERT_EQ(requests.size(), 14u);
  EXPECT_EQ(all_tokens(requests), 14u * 35);
  EXPECT_NEAR(static_cast<double>(distinct_tokens(requests)), 10 + 4 * 20 + 14 * 5, 3);
  EXPECT_EQ(requests[0].sampling.max_tokens, 3);
}

TEST(TokensTest, SharedPromptsAreNewOrKept) {
  SharedPrompts shape{.n_prompts = 3, .n_shared = 20, .n_own = 2, .n_answer = 5};
  Workload one = shared_prompts(shape, 1000)(1), two = shared_prompts(shape, 1000)(2);
  EXPECT_TRUE(one.warm.empty());
  ASSERT_EQ(one.timed.size(), 3u);
  EXPECT_EQ(distinct_tokens(one.timed), 20u + 3 * 2);
  EXPECT_EQ(one.timed[0].sampling.max_tokens, 5);
  EXPECT_NE(one.timed[0].tokens, two.timed[0].tokens);
  shape.is_warm = shape.is_kept = true;
  one = shared_prompts(shape, 1000)(1);
  two = shared_prompts(shape, 1000)(2);
  ASSERT_EQ(one.warm.size(), 1u);
  EXPECT_EQ(one.warm[0].tokens, two.warm[0].tokens);
  two.timed.insert(two.timed.end(), one.timed.begin(), one.timed.end());
  EXPECT_EQ(distinct_tokens(two.timed), 20u + 6 * 2);
}

TEST(SpeedRowsTest, PromptsAreNewInEveryRepetition) {
  const SpeedRow row{SpeedRow::Kind::kShared, 30, 4};
  const Workload one = speed_workload(row, 1000, 1), two = speed_workload(row, 1000, 2);
  ASSERT_EQ(one.timed.size(), 4u);
  EXPECT_EQ(distinct_tokens(one.timed), 34u);
  EXPECT_NE(one.warm[0].tokens, two.warm[0].tokens);
  EXPECT_EQ(speed_tokens(row), 4 * kSpeedAnswer);
}

TEST(BarsTest, ARowIsNamedByItsFirstColumnsAndHasABarOfEachNumber) {
  const Table table{.title = "T",
                    .columns = {"a", "b", "value", "other", "value"},
                    .rows = {{"one", "1", "10", "x", "7"}, {"<two>", "2", "-10", "5.0", "7"}}};
  const Bars bars{.n_names = 2, .columns = {"value", "other"}};
  const std::string svg = to_svg(table, bars);
  EXPECT_NE(svg.find(">one, 1</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">&lt;two>, 2</text>"), std::string::npos);
  size_t n_bars = 0;
  for (size_t at = svg.find("<rect x="); at != std::string::npos; at = svg.find("<rect x=", at + 1))
    ++n_bars;
  EXPECT_EQ(n_bars, 2u + 3u) << "two of the legend, and none for the x";
  EXPECT_EQ(svg.find(">7.00</text>"), std::string::npos) << "the first of a name";
  EXPECT_NE(svg.find("width=\"200.0\""), std::string::npos) << "half of the width each way";
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(to_svg(table, {.columns = {"b"}}).find("nan"), std::string::npos);
  EXPECT_EQ(to_svg(Table{.columns = {"a"}, .rows = {{"x"}}}, {.columns = {"a"}}), "");
}

TEST(ChartTest, PointsByNameAreNotJoined) {
  const Chart chart{.x_names = {"set <1>", "set 2"}, .series = {{"here", {{1, 3}, {2, 4}}}}};
  const std::string svg = to_svg(chart);
  EXPECT_NE(svg.find(">set &lt;1></text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("<path d=\"M182.5 "), std::string::npos) << "a quarter of the width";
  EXPECT_NE(svg.find(">set 2</text>"), std::string::npos);
  EXPECT_EQ(svg.find(">1.50</text>"), std::string::npos) << "no numbers between names";
  const size_t line = svg.find("fill=\"none\" stroke=\"#1b6ca8\"");
  ASSERT_NE(line, std::string::npos);
  EXPECT_EQ(svg.substr(0, line).find('L', svg.rfind("<path", line)), std::string::npos);
}

TEST(PeerTest, GivesTheLastNumber) {
  const auto found = run_peer("echo loading; echo ' {tokens}.5 '; echo", {{"tokens", "12"}});
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_EQ(*found, 12.5);
  const auto blanks = run_peer("printf '7.25\\n   \\n\\t\\r\\n  '", {});
  ASSERT_TRUE(blanks.ok()) << blanks.error().message();
  EXPECT_EQ(*blanks, 7.25);
}

TEST(PeerTest, LeavesBracesOfTheShell) {
  const auto value = [](const std::string& command) {
    const auto found = run_peer(command, {{"tokens", "12"}});
    return found ? *found : kNotMeasured;
  };
  EXPECT_EQ(value("echo {tokens} 7 | awk '{ if ($1 > 1) { print $2 } }'"), 7);
  EXPECT_EQ(value("echo {tokens} | awk '{{print}}'"), 12);
  EXPECT_EQ(value("X=3; echo ${X}{tokens}"), 312);
  EXPECT_EQ(value("{ echo {tokens}; }"), 12);
}

TEST(PeerTest, SaysWhatFailed) {
  const auto message = [](const std::string& command) {
    const auto result = run_peer(command, {{"tokens", "1"}, {"kind", "prefill"}});
    return result ? "" : result.error().message();
  };
  EXPECT_EQ(message("echo {model}"), "--peer has '{model}', expected of {kind} {tokens}");
  EXPECT_EQ(message("echo no such file; exit 3"),
            "'echo no such file; exit 3' ended with status 3; its last line: no such file");
  EXPECT_EQ(message("false"), "'false' ended with status 1; it printed nothing");
  EXPECT_EQ(message(" "), "the command is empty, expected one of a shell");
  EXPECT_EQ(message("echo 12 tokens"),
            "the last line of 'echo 12 tokens' is '12 tokens', expected a number above 0: tokens "
            "per second");
  for (const std::string figure : {"0", "-3", "inf", "nan", "1e999"})
    EXPECT_EQ(message("echo " + figure),
              fmt::format("the last line of 'echo {0}' is '{0}', expected a number above 0: tokens "
                          "per second",
                          figure));
  EXPECT_NE(message("true"), "");
}

TEST(HarnessTest, ThoseThatWantMostGetEqualParts) {
  EXPECT_EQ(parts_of(100, {10, 60, 30}), (std::vector<size_t>{10, 60, 30}));
  EXPECT_EQ(parts_of(100, {70, 10, 60}), (std::vector<size_t>{45, 10, 45}));
  EXPECT_EQ(parts_of(90, {70, 20, 60, 22}), (std::vector<size_t>{24, 20, 24, 22}));
  EXPECT_EQ(parts_of(0, {5}), (std::vector<size_t>{0}));
}

TEST(HarnessTest, ContestantsTakeTurns) {
  std::vector<std::pair<size_t, int>> calls;
  const auto count = [&](double seconds, RunLength length, int repetitions) {
    calls.clear();
    const auto run = [&](size_t who, int repetition) {
      calls.emplace_back(who, repetition);
      return seconds;
    };
    Harness("test", {.length = length}).in_turn(3, run, repetitions);
    return calls.size();
  };
  EXPECT_EQ(count(3.4, RunLength::kUsual, 0), 3u * (1 + 3));  // ten seconds in all
  EXPECT_EQ(count(3.4, RunLength::kQuick, 0), 3u * (1 + 1));
  EXPECT_EQ(count(3.4, RunLength::kUsual, 9), 3u * (1 + 9));
  EXPECT_EQ(count(3.3, RunLength::kUsual, 0), 3u * (1 + 5));
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i].second, static_cast<int>(i / 3));
  std::sort(calls.begin(), calls.end());
  EXPECT_EQ(std::unique(calls.begin(), calls.end()), calls.end());
}

TEST(HarnessTest, NamesTheModelThatIsGiven) {
  const ModelSpec spec{.shape = "qwen3-0.6b", .n_layers = 2, .vocab = 32000};
  EXPECT_EQ(Harness("test", {}).name(spec), "qwen3-0.6b, 2 layers, vocabulary 32000, q8_0");
  EXPECT_EQ(Harness("test", {.model = "models/demo/"}).name(spec), "demo, q8_0");
}

TEST(LaneTest, SaysWhatItLacked) {
  Table table;
  const std::vector<Lane> lanes = {
      {.name = "all", .samples = {Sample{.seconds = 2}}, .kv_wanted = 5, .kv_given = 5},
      {.name = "less",
       .samples = {Sample{.seconds = 2}},
       .kv_wanted = 5'000'000,
       .kv_given = 2'000'000},
      {.name = "none", .why_not = "no such planner"}};
  note_missing(table, "row", lanes);
  ASSERT_EQ(table.notes.size(), 2u);
  EXPECT_EQ(table.notes[0].find("row, less: had 2 of 5 MB"), 0u) << table.notes[0];
  EXPECT_EQ(table.notes[1], "row, none: no such planner");
  EXPECT_EQ(lanes[0].sample(0).seconds, 2);
  try {
    lanes[2].sample(0);
    ADD_FAILURE() << "there is no sample";
  } catch (const BenchmarkError& e) {
    EXPECT_EQ(e.error.message(), "none: no such planner");
  }
}

TEST(BenchmarksTest, NamesAreKnownAndUnknown) {
  EXPECT_GT(benchmarks().size(), 3u);
  EXPECT_EQ(run_benchmark("nothing", {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(run_benchmark("compare", {}).error().code, ErrorCode::kInvalidArgument);  // no peer
  Settings settings{.length = RunLength::kQuick};
  settings.model = "/nowhere";
  EXPECT_EQ(run_benchmark("speed", settings).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace pando::bench
