// Tests see what `pando bench serve` asks, how it asks, and what it counts, never a time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "lab/experiment.h"
#include "lab/papers/serve_client.h"
#include "lab/papers/serve_contenders.h"
#include "lab/papers/serve_tables.h"

namespace pando::lab {
namespace {

namespace fs = std::filesystem;

// --- the workload --------------------------------------------------------------------------------

TEST(ServeWorkloadTest, HasTheRateTheShareAndTheLengthsAsked) {
  const ChatMix mix;
  const auto trace = poisson_trace(5000, 1);
  for (const double rate : {3.0, 12.5}) {
    const auto requests = draw_requests(trace, mix, rate, 40, 2);
    ASSERT_EQ(requests.size(), static_cast<size_t>(40 * rate));
    size_t n_long = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      const ServedRequest& request = requests[i];
      EXPECT_GE(request.arrival, i == 0 ? 0 : requests[i - 1].arrival);
      EXPECT_LT(request.arrival, 40);
      EXPECT_GE(request.n_answer, mix.least_answer);
      EXPECT_LE(request.n_answer, mix.most_answer);
      EXPECT_GE(request.n_prompt, request.is_long ? mix.least_long : mix.least_prompt);
      EXPECT_LE(request.n_prompt, request.is_long ? mix.most_long : mix.most_prompt);
      n_long += request.is_long;
    }
    EXPECT_EQ(n_long, static_cast<size_t>(std::round(0.05 * 40 * rate)));
  }
}

TEST(ServeWorkloadTest, IsTheSameForTheSameSeedAndKeepsTheTimesInProportion) {
  const auto trace = poisson_trace(5000, 1);
  const auto once = draw_requests(trace, {}, 10, 20, 2),
             again = draw_requests(trace, {}, 10, 20, 2);
  const auto slower = draw_requests(trace, {}, 5, 40, 2),
             other = draw_requests(trace, {}, 10, 20, 3);
  ASSERT_EQ(once.size(), again.size());
  ASSERT_EQ(once.size(), slower.size());
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].arrival, again[i].arrival);
    EXPECT_EQ(once[i].n_prompt, again[i].n_prompt);
    EXPECT_EQ(once[i].is_long, again[i].is_long);
    EXPECT_NEAR(slower[i].arrival, 2 * once[i].arrival, 1e-9);
  }
  EXPECT_NE(once[7].arrival, other[7].arrival);
  EXPECT_THROW(draw_requests(trace, {}, 1000, 5, 1), BenchmarkError) << "as many as there are";
}

TEST(ServeWorkloadTest, LongOnesHaveTheSameWorkInEveryWindow) {
  const auto trace = poisson_trace(5000, 1);
  const auto total = [&](uint64_t seed) {
    uint64_t n = 0;
    for (const ServedRequest& request : draw_requests(trace, {}, 20, 20, seed))
      n += request.is_long ? request.n_prompt : 0;
    return n;
  };
  EXPECT_EQ(total(1), total(2));
}

std::string trace_error(const std::string& text) {
  const fs::path path = fs::path(testing::TempDir()) / "pando_serve_trace.csv";
  std::ofstream(path) << text;
  std::string message;
  try {
    const auto lines = read_trace(path);
    EXPECT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].seconds, 0);
    EXPECT_NEAR(lines[1].seconds, 86400.5, 1e-5);
    EXPECT_EQ(lines[1].n_prompt, 396u);
    EXPECT_EQ(lines[1].n_answer, 109u);
  } catch (const BenchmarkError& error) {
    message = error.error.message();
  }
  fs::remove(path);
  const size_t at = message.find("pando_serve_trace.csv");
  return at == std::string::npos ? message : message.substr(at);
}

TEST(ServeWorkloadTest, ReadsATraceAndNamesWhatIsWrongInIt) {
  const std::string head = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const std::string first = "2023-11-30 18:15:46.6805900,374,44\n";
  EXPECT_EQ(trace_error(head + first + "2023-12-01 18:15:47.1805900,396,109\r\n"), "");
  EXPECT_NE(trace_error(head + first + "2023-12-01 18:15:47.1,396\n").find("csv, line 3: '2023-12"),
            std::string::npos);
  EXPECT_NE(trace_error(head + "2023-13-01 18:15:47.1,396,1\n").find("line 2"), std::string::npos);
  EXPECT_EQ(trace_error(head + first + "2023-11-30 18:15:46.5,396,109\n"),
            "pando_serve_trace.csv, line 3: comes before the line above it");
}

TEST(ServeWorkloadTest, ReadsTheTraceOfAzure) {
  const fs::path path = fs::path(PANDO_SHARED_DATA) / "traces" / "azure-llm-2023-conv.csv";
  if (!fs::exists(path)) GTEST_SKIP() << "needs " << path;
  const auto trace = read_trace(path);
  ASSERT_EQ(trace.size(), 14500u);
  EXPECT_EQ(trace[0].n_prompt, 374u);
  EXPECT_NEAR(trace.back().seconds, 2458.757, 1e-3);
}

// --- what is counted -----------------------------------------------------------------------------

constexpr Deadlines kDue{.ttft_slo = 0.5, .tpot_slo = 0.1};

TEST(ServeFiguresTest, DeadlinesAreOfTheFirstTokenAndOfTheMeanGap) {
  const ServedRequest request{.arrival = 1, .n_answer = 3, .deadlines = kDue};
  EXPECT_TRUE(met_deadlines(request, {{1.5, 1.5, 1.7}}));
  EXPECT_FALSE(met_deadlines(request, {{1.51, 1.6, 1.7}})) << "first token";
  EXPECT_FALSE(met_deadlines(request, {{1.2, 1.3, 1.41}})) << "gaps of 0.105 on the mean";
  EXPECT_FALSE(met_deadlines(request, {{1.2, 1.3}})) << "not whole";
  EXPECT_FALSE(met_deadlines(request, {}));
  EXPECT_TRUE(met_deadlines({.n_answer = 1, .deadlines = kDue}, {{0.5}}));
}

TEST(ServeFiguresTest, ATokensTimeIsTheMeanOfItsAnswer) {
  ServedWindow window{.span = {.seconds = 10, .end = 12}};
  window.requests = {{.n_answer = 1, .is_long = true}, {.n_answer = 3}, {.n_answer = 2}, {}};
  window.outcomes = {{{5}}, {{4.5, 4.6, 7}}, {{6, 9}}, {}};
  const ServeFigures f = figures_of(window);
  EXPECT_NEAR(f.tpot_beside_long.p50, 1.25, 1e-9) << "only that which began before 5";
  EXPECT_NEAR(f.tpot_beside_long.p99, 1.25, 1e-9);
  EXPECT_NEAR(f.gap_beside_long.p99, 2.4, 1e-9);
}

TEST(ServeFiguresTest, WhatIsCutOffHasATimeBetweenTokensUntilTheEnd) {
  ServedWindow window{.span = {.seconds = 10, .end = 12}};
  window.requests = {{.n_answer = 3}, {.n_answer = 2}};
  window.outcomes = {{{4, 4.5}}, {{5, 5.25}}};
  EXPECT_NEAR(figures_of(window).gap.p99, 7.5, 1e-9);
  EXPECT_NEAR(figures_of(window).gap.p50, 0.5, 1e-9);
}

TEST(ServeFiguresTest, RequestsOfAllWindowsAreTakenTogether) {
  const Deadlines due{.ttft_slo = 1, .tpot_slo = 1};
  ServedWindow first{.span = {.seconds = 10, .end = 12}}, second = first;
  first.requests = {{.n_answer = 1, .deadlines = due}, {.n_answer = 1, .deadlines = due}};
  first.outcomes = {{{0.5}}, {{3}}};
  second.requests = {{.arrival = 5, .n_answer = 1, .deadlines = due}};
  second.outcomes = {{{5.25}}};
  const std::vector<ServedWindow> both = {first, second};
  const ServeFigures f = figures_of(both);
  EXPECT_EQ(f.n_requests, 3u);
  EXPECT_NEAR(f.short_ttft.p50, 0.5, 1e-9) << "of 0.25, 0.5 and 3";
  EXPECT_NEAR(f.goodput, 2.0 / 20, 1e-9);
}

TEST(ServeFiguresTest, WhoHasNoTokenWaitedUntilTheEnd) {
  // Arrivals for 10 s, watched for 12.
  ServedWindow window{.span = {.seconds = 10, .end = 12}};
  const auto add = [&](double arrival, bool is_long, std::vector<double> tokens) {
    window.requests.push_back({.arrival = arrival,
                               .n_answer = 2,
                               .is_long = is_long,
                               .deadlines = {.ttft_slo = is_long ? 20.0 : 0.5, .tpot_slo = 0.1}});
    window.outcomes.push_back({std::move(tokens)});
  };
  add(0, false, {0.2, 0.25});
  add(1, true, {5, 5.05});
  add(2, false, {4, 4.08});    // late, and its gap lies beside the long prefill
  add(8, false, {});           // waits for 4 s at least
  add(9, true, {});            // for 3
  add(9.5, false, {9.8, 11});  // whole when no requests come any more, and late
  const ServeFigures f = figures_of(window);
  EXPECT_NEAR(f.short_ttft.p50, 2, 1e-9) << "of 0.2, 0.3, 2 and 4";
  EXPECT_NEAR(f.short_ttft.p99, 4, 1e-9);
  EXPECT_NEAR(f.long_ttft.p50, 4, 1e-9) << "of 3 and 4";
  EXPECT_EQ(f.n_requests, 6u);
  EXPECT_EQ(f.n_waiting, 2u);
  EXPECT_NEAR(f.answers_per_second, 0.3, 1e-9);
  EXPECT_NEAR(f.short_met, 0.25, 1e-9);
  EXPECT_NEAR(f.long_met, 0.5, 1e-9);
  EXPECT_NEAR(f.goodput, 0.2, 1e-9);
  EXPECT_NEAR(f.gap.p99, 1.2, 1e-9);
  EXPECT_NEAR(f.gap_beside_long.p99, 1.2, 1e-9) << "the second long one waits all the while";
  EXPECT_NEAR(f.gap.p50, 0.08, 1e-9) << "of 0.05, 0.05, 0.08 and 1.2";
  window.requests.pop_back();
  window.outcomes.pop_back();
  EXPECT_NEAR(figures_of(window).gap_beside_long.p99, 0.08, 1e-9);
  EXPECT_NEAR(figures_of(window).gap.p50, 0.05, 1e-9);
  // Without the two that came first; what was whole before 3 s had been is not seen either.
  window.span.from = 2;
  EXPECT_NEAR(figures_of(window).short_met, 0, 1e-9);
  EXPECT_NEAR(figures_of(window).answers_per_second, 2.0 / 8, 1e-9);
}

// --- the client, on a server ---------------------------------------------------------------------

class ServeClientTest : public ::testing::Test {
 protected:
  ServeClientTest() {
    auto model = Model::load(PANDO_SOURCE_DIR "/models/demo", {.threads = 1});
    EXPECT_TRUE(model.ok()) << model.error().message();
    served_ = {.model = *model,
               .letter = (*model)->encode("a", false)->back(),
               .kv_token_bytes = kv_bytes_per_token(**model, KvType::kF16)};
  }

  // Steps that no machine takes so long for; nobody is late.
  std::vector<Contender> all_contenders() const {
    EngineOptions options{
        .threads = 1,
        .step_costs = Predictor({.step = 1e-3, .row = {1e-4, 1e-4, 1e-4, 1e-4, 1e-4}}).to_json()};
    return contenders(options, 20e-3, 32);
  }
  std::vector<ServedRequest> some_requests() const {
    const ChatMix mix{
        .divisor = 128, .most_prompt = 16, .long_share = 0.25, .least_long = 100, .most_long = 200};
    auto requests = draw_requests(poisson_trace(100, 1), mix, 120, 0.1, 1);
    for (ServedRequest& request : requests) request.deadlines = {.ttft_slo = 1e3, .tpot_slo = 1e3};
    return requests;
  }

  ServedModel served_;
};

TEST_F(ServeClientTest, EveryTokenOfEveryAnswerIsSeenUnderAllPolicies) {
  constexpr double kEnough = 600;
  const auto requests = some_requests();
  ASSERT_EQ(requests.size(), 12u);
  for (const Contender& who : all_contenders()) {
    const LiveWindow live = serve_live(served_, who, requests, {.seconds = 0.1, .end = kEnough});
    ASSERT_EQ(live.window.outcomes.size(), requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const std::vector<double>& tokens = live.window.outcomes[i].tokens;
      ASSERT_EQ(tokens.size(), requests[i].n_answer) << who.name;
      EXPECT_GE(tokens[0], requests[i].arrival);
      EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
    }
    EXPECT_EQ(figures_of(live.window).short_met, 1) << who.name;
    EXPECT_EQ(live.stats.requests, requests.size()) << "what is for warming up is not counted";
  }
}

TEST_F(ServeClientTest, WhatIsOpenAtTheEndIsLeft) {
  const auto requests = some_requests();
  const LiveWindow live = serve_live(served_, all_contenders()[0], requests, {.seconds = 0.1});
  const ServeFigures f = figures_of(live.window);
  EXPECT_EQ(f.n_waiting, f.n_requests);
  EXPECT_EQ(f.goodput, 0);
}

TEST_F(ServeClientTest, AnErrorOfTheServerEndsTheBenchmark) {
  auto requests = some_requests();
  requests.back().n_prompt = 5000;  // the model takes 2,048
  try {
    serve_live(served_, all_contenders()[0], requests, {.seconds = 0.1, .end = 600});
    FAIL() << "expected an error";
  } catch (const BenchmarkError& error) {
    EXPECT_NE(error.error.message().find("context_length_exceeded"), std::string::npos)
        << error.error.message();
  }
}

TEST(OpenLoopTest, SaysWhereThereIsNoServer) {
  const std::vector<Ask> asks = {{.at = 0, .body = "{}"}};
  const auto streamed = ask_open_loop(1, asks, 60);  // a port that nobody may take
  ASSERT_EQ(streamed.size(), 1u);
  EXPECT_NE(streamed[0].error, "");
  EXPECT_FALSE(streamed[0].is_whole);
  EXPECT_TRUE(ask_open_loop(1, {}, 60).empty());
}

// A server that sends a token and breaks off: what came is seen when it came, not with what
// follows.
TEST(OpenLoopTest, SeesEveryTokenWhenItComes) {
  boost::asio::io_context context;
  using tcp = boost::asio::ip::tcp;
  tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
  std::thread server([&] {
    tcp::socket socket = acceptor.accept();
    const std::string event = "data: {\"choices\": [{\"text\": \"a\"}]}\n\n";
    std::string request;
    boost::asio::read_until(socket, boost::asio::dynamic_buffer(request), "{}");
    boost::asio::write(socket,
                       boost::asio::buffer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
                                           "\r\n\r\n" +
                                           fmt::format("{:x}\r\n{}\r\n", event.size(), event)));
  });
  const std::vector<Ask> asks = {{.at = 0, .body = "{}"}};
  const auto streamed = ask_open_loop(acceptor.local_endpoint().port(), asks, 600);
  server.join();
  EXPECT_EQ(streamed[0].tokens.size(), 1u);
  EXPECT_FALSE(streamed[0].is_whole);
  EXPECT_NE(streamed[0].error, "");
}

// --- the simulator -------------------------------------------------------------------------------

TEST(ServeSimulatedTest, LarsSparesShortOnesTheConvoyThatWholePromptsMake) {
  // A row takes a millisecond, so that long prompts take three seconds and more.
  const ServedModel served{.predictor =
                               Predictor({.step = 1e-3, .row = {1e-3, 1e-3, 1e-3, 1e-3, 1e-3}})};
  constexpr Span kSpan{.from = 20, .seconds = 300, .end = 400};
  EngineOptions base{.step_costs = served.predictor.to_json()};
  const auto all = contenders(base, 0.1, 64);
  auto requests = draw_requests(poisson_trace(2000, 1), {}, 2, 300, 1);
  for (ServedRequest& request : requests)
    request.deadlines = {.ttft_slo = request.is_long ? 60.0 : 1.0, .tpot_slo = 0.2};
  std::vector<NamedFigures> figures;
  for (const Contender& who : all) {
    const ServedWindow window = serve_simulated(served, who, requests, kSpan);
    figures.push_back({who.name, figures_of(window)});
  }
  const ServeFigures &lars = figures.front().figures, &whole = figures.back().figures;
  EXPECT_GT(whole.short_ttft.p99, 5 * lars.short_ttft.p99);
  EXPECT_GT(lars.goodput, whole.goodput);
  EXPECT_LE(lars.gap_beside_long.p99, 0.11);
  EXPECT_GT(whole.gap_beside_long.p99, 1);
  const Table ratios = ratios_table("title", figures, 0.1);
  EXPECT_EQ(ratios.rows.back()[1], "1.00");
  const ServedWindow pools = serve_in_pools(served, all.back(), requests, kSpan);
  const ServeFigures in_pools = figures_of(pools);
  EXPECT_LT(in_pools.short_ttft.p99, whole.short_ttft.p99);
  EXPECT_GT(in_pools.long_ttft.p50, whole.long_ttft.p50);
}

TEST(ServeSimulatedTest, AblationsDifferInPolicyPrefillsAndChunks) {
  const ServedModel served{.predictor =
                               Predictor({.step = 1e-3, .row = {1e-3, 1e-3, 1e-3, 1e-3, 1e-3}})};
  constexpr Span kSpan{.from = 20, .seconds = 300, .end = 400};
  const auto all = ablations({.step_costs = served.predictor.to_json()}, 0.1, {512, 2048});
  ASSERT_EQ(all.size(), 10u);
  auto requests = draw_requests(poisson_trace(2000, 1), {}, 2, 300, 1);
  for (ServedRequest& request : requests)
    request.deadlines = {.ttft_slo = request.is_long ? 60.0 : 1.0, .tpot_slo = 0.2};
  std::vector<std::string> names;
  std::vector<ServeFigures> figures;
  for (size_t i = 0; i < all.size(); ++i) {
    names.push_back(all[i].name);
    EXPECT_EQ(all[i].many_prefills, i >= 8 || i % 2 == 0) << all[i].name;
    figures.push_back(figures_of(serve_simulated(served, all[i], requests, kSpan)));
    if (i < 8) {
      EXPECT_LE(figures[i].gap.p99, 0.11) << all[i].name;
    }
  }
  EXPECT_EQ(names[0], "LARS, many prefills");
  EXPECT_EQ(names[3], "EDF, one prefill");
  EXPECT_EQ(names[9], "FCFS, chunks of 2048");
  EXPECT_NEAR(figures[8].gap.p99, 0.513, 1e-3) << "a step of 512 rows";
  EXPECT_NEAR(figures[9].gap.p99, 2.049, 1e-3) << "a step of 2,048";
  EXPECT_LT(figures[0].short_ttft.p50, figures[1].short_ttft.p50) << "the long one leaves a share";
  EXPECT_GT(figures[6].short_ttft.p50, 5 * figures[2].short_ttft.p50) << "FCFS, EDF";
}

TEST(ServeTablesTest, SlackIsWhatARowTakesLessBesideOthers) {
  // Ten milliseconds for the weights, one for a row: 32 rows alone take 42, beside others 32.
  const Predictor predictor({.step = 10e-3, .row = {1e-3, 1e-3, 1e-3, 1e-3, 1e-3}, .key = 1e-7});
  const Table table = slack_table("title", predictor, 32, 8000, 0.2, 512);
  ASSERT_EQ(table.rows.size(), 8u);
  EXPECT_EQ(table.rows[0][0], "0");
  EXPECT_EQ(table.rows[1][0], "1000");
  EXPECT_EQ(table.rows[3][4], number(32 + 1e-4 * 32 * 33 / 2));
  EXPECT_LT(std::stoi(table.rows[7][1]), std::stoi(table.rows[0][1])) << "chunks shrink";
}

}  // namespace
}  // namespace pando::lab
