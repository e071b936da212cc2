// The simulator says this of the windows that were served, and of more. Medha, figures 1 and 14.
#include <fmt/format.h>

#include <algorithm>

#include "base/statistics.h"
#include "lab/papers/serve_run.h"

namespace pando::lab {
namespace {

constexpr uint64_t kRequestSeed = 1;

// Who shows in tables of the simulator: the contenders, and the pools of 6.5.
struct Simulated {
  std::string name;
  ServedWindow window;
  ServeFigures figures() const { return figures_of(window); }
};

std::vector<Simulated> simulate_all(const ServeRun& run, const ChatMix& mix, double rate) {
  const Span span = run.span(run.simulated_seconds, rate);
  const std::vector<ServedRequest> requests = run.requests(mix, rate, span.seconds, kRequestSeed);
  std::vector<Simulated> all;
  for (const Contender& who : run.contenders)
    all.push_back({who.name, serve_simulated(run.served, who, requests, span)});
  all.push_back({"FCFS, pools", serve_in_pools(run.served, run.baseline(), requests, span)});
  return all;
}

void show_check(Harness& harness, const ServeRun& run, const LiveGrid& live) {
  Table table{
      .title = "The simulator on the same requests: served / simulated",
      .columns = {"load", "policy", "short: first token, P50", "P99", "long: P50", "P99",
                  "between tokens, P99", "in time/s"},
      .notes = {"The simulator knows the steps as they were fitted; HTTP, other work on the "
                "machine and errors of prediction are not in it."}};
  for (const LiveGrid::Point& point : live.points)
    for (size_t who = 0; who < run.contenders.size(); ++who) {
      std::vector<ServedWindow> simulated;
      for (const ServedWindow& window : point.windows[who])
        simulated.push_back(
            serve_simulated(run.served, run.contenders[who], window.requests, window.span));
      const ServeFigures a = figures_of(point.windows[who]), b = figures_of(simulated);
      table.add(
          {number(point.load.load), run.contenders[who].name,
           number(a.short_ttft.p50 / b.short_ttft.p50), number(a.short_ttft.p99 / b.short_ttft.p99),
           number(a.long_ttft.p50 / b.long_ttft.p50), number(a.long_ttft.p99 / b.long_ttft.p99),
           number(a.gap.p99 / b.gap.p99), number(a.goodput / b.goodput)});
    }
  harness.show(table);
}

void show_loads(Harness& harness, const ServeRun& run) {
  Chart chart{.title = "Short requests' first token by load, simulated",
              .x_label = "load, part of the simulator's capacity",
              .y_label = "P99, ms",
              .log_y = true};
  for (const double load : {0.5, 0.7, 0.9}) {
    std::vector<NamedFigures> figures;
    const double rate = run.simulated_rate(load);
    const std::vector<Simulated> all = simulate_all(run, run.mix, rate);
    chart.series.resize(all.size());
    for (size_t who = 0; who < all.size(); ++who) {
      figures.push_back({all[who].name, all[who].figures()});
      chart.series[who].name = all[who].name;
      chart.series[who].points.emplace_back(load, 1e3 * figures[who].figures.short_ttft.p99);
    }
    harness.show(figures_table(
        fmt::format("Simulated, at {} of the simulator's capacity: {} requests a second for {} s",
                    number(load), number(rate), number(run.simulated_seconds)),
        figures));
  }
  harness.show(chart);
}

// Medha, figure 1.
void show_shares(Harness& harness, const ServeRun& run) {
  const double rate = run.simulated_rate(0.7);
  const auto shares =
      harness.choose<std::vector<double>>({0, 0.05}, {0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06},
                                          {0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08});
  Table table{
      .title = fmt::format("Simulated, by the share of long requests: first token of short "
                           "ones, ms, P50 and P99, {} requests a second",
                           number(rate)),
      .columns = {"policy"},
      .notes = {"The paper (6.4, figure 1): with 1% long requests LoongServe's latency is 8 times "
                "as high, with 5% 30 times at P50 and 174 times at P90 (P99 in its abstract)."}};
  Chart p50{.title = "Short requests' first token by share of long ones, simulated",
            .x_label = "long requests, %",
            .y_label = "P50, ms",
            .log_y = true};
  Chart p99 = p50;
  p99.y_label = "P99, ms";
  for (const double share : shares) {
    const std::vector<Simulated> all = simulate_all(run, run.mix.with_share(share), rate);
    table.columns.push_back(number(100 * share) + "%, P50");
    table.columns.push_back("P99");
    table.rows.resize(all.size());
    p50.series.resize(all.size());
    p99.series.resize(all.size());
    for (size_t who = 0; who < all.size(); ++who) {
      const ServeFigures figures = all[who].figures();
      std::vector<std::string>& row = table.rows[who];
      if (row.empty()) row.push_back(all[who].name);
      row.push_back(number(1e3 * figures.short_ttft.p50));
      row.push_back(number(1e3 * figures.short_ttft.p99));
      p50.series[who].name = p99.series[who].name = all[who].name;
      p50.series[who].points.emplace_back(100 * share, 1e3 * figures.short_ttft.p50);
      p99.series[who].points.emplace_back(100 * share, 1e3 * figures.short_ttft.p99);
    }
  }
  harness.show(table);
  harness.show(p50);
  harness.show(p99);
}

std::string least_median_most(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{}, {}, {}", number(least), number(median(values)), number(most));
}

// How much the ratios of a window say, by its length.
void show_places(Harness& harness, const ServeRun& run) {
  const uint64_t n_places = harness.choose(2, 12, 12);
  const double rate = run.simulated_rate(0.7);
  Table table{.title = fmt::format(
                  "Simulated, at 0.7 of the simulator's capacity, {} against {}: windows from {} "
                  "places of the trace, least, median and most of them",
                  run.contenders[0].name, run.baseline().name, n_places),
              .columns = {"seconds of a window", "short: first token, times sooner, P50", "P99",
                          "in time/s, times"}};
  for (const double seconds :
       harness.choose<std::vector<double>>({2}, {30, 120, 300}, {30, 120, 300})) {
    const Span span = run.span(seconds, rate);
    std::vector<double> p50, p99, goodput;
    for (uint64_t place = 1; place <= n_places; ++place) {
      const std::vector<ServedRequest> requests = run.requests(run.mix, rate, span.seconds, place);
      const auto figures = [&](const Contender& who) {
        return figures_of(serve_simulated(run.served, who, requests, span));
      };
      const ServeFigures ours = figures(run.contenders[0]), whole = figures(run.baseline());
      p50.push_back(whole.short_ttft.p50 / ours.short_ttft.p50);
      p99.push_back(whole.short_ttft.p99 / ours.short_ttft.p99);
      goodput.push_back(ours.goodput / whole.goodput);
    }
    table.add({number(seconds), least_median_most(p50), least_median_most(p99),
               least_median_most(goodput)});
  }
  harness.show(table);
}

}  // namespace

void show_simulated(Harness& harness, const ServeRun& run, const LiveGrid& live) {
  show_check(harness, run, live);
  show_places(harness, run);
  show_loads(harness, run);
  show_shares(harness, run);
  Table slack =
      slack_table(fmt::format("A short prompt of {} tokens in the steps of one of {}, as predicted",
                              run.n_short, run.mix.most_long),
                  run.served.predictor, run.n_short, run.mix.most_long, run.budget,
                  static_cast<uint32_t>(run.baseline().engine.step_rows));
  slack.notes.push_back(
      "What packing gains over LARS alone: a row beside others takes less than in a step of its "
      "own. Operations bound a row here, so that it saves little but the reading of weights; a GPU "
      "has more slack.");
  harness.show(slack);
}

}  // namespace pando::lab
