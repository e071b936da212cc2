// `pando bench serve`: what scheduling does to short requests that come among long ones. Medha,
// section 6.4, over HTTP.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "lab/data/file_names.h"
#include "lab/papers/papers.h"
#include "lab/papers/serve_run.h"

namespace pando::lab {
namespace {

constexpr double kRatioLoad = 0.7;

// Windows of all contenders by turns, in some order; each time of the same requests.
LiveGrid::Point live_point(const ServeRun& run, ServeRun::Load load) {
  const size_t n = run.contenders.size();
  LiveGrid::Point point{.load = load};
  point.windows.resize(n);
  std::vector<double> timed(n), error(n);
  const double rate = run.live_rate(load.load);
  const Span span = run.span(load.seconds, rate);
  std::vector<size_t> turns(n);
  std::iota(turns.begin(), turns.end(), size_t{0});
  for (int window = 0; window < load.n_windows; ++window) {
    const auto seed = static_cast<uint64_t>(window + 1);
    const std::vector<ServedRequest> requests = run.requests(run.mix, rate, span.seconds, seed);
    // Other turns in each run: what the machine does meanwhile falls on others.
    std::shuffle(turns.begin(), turns.end(), std::random_device());
    for (const size_t who : turns) {
      LiveWindow live = serve_live(run.served, run.contenders[who], requests, span);
      point.windows[who].push_back(std::move(live.window));
      point.order.push_back(run.contenders[who].name);
      timed[who] += live.stats.timed_s;
      error[who] += live.stats.prediction_error_s;
    }
  }
  for (size_t who = 0; who < n; ++who)
    point.prediction_error.push_back(timed[who] > 0 ? 100 * error[who] / timed[who] : kNotMeasured);
  return point;
}

void show_point(Harness& harness, const ServeRun& run, const LiveGrid::Point& point) {
  const std::vector<NamedFigures> figures = figures_of(run, point);
  Table table = figures_table(
      fmt::format(
          "Over HTTP, at {} of the capacity: {} requests a second, {} of {} s for each",
          number(point.load.load), number(run.live_rate(point.load.load)),
          point.load.n_windows == 1 ? "a window" : fmt::format("{} windows", point.load.n_windows),
          number(point.load.seconds)),
      figures);
  table.columns.push_back("prediction error %");
  table.notes.push_back(fmt::format("In this order: {}.", fmt::join(point.order, "; ")));
  for (size_t who = 0; who < figures.size(); ++who)
    table.rows[who].push_back(number(point.prediction_error[who]));
  harness.show(table);
  if (point.load.load != kRatioLoad) return;
  Table ratios = ratios_table(
      fmt::format("At {} of the capacity, against {}", number(kRatioLoad), run.baseline().name),
      figures, run.budget);
  ratios.notes.insert(ratios.notes.end(), run.notes.begin(), run.notes.end());
  ratios.notes.push_back(
      "The aims were 30 times for the median and 100 for P99, 3 times as many in time, long ones "
      "in time, and at most 1.3 budgets. The paper: 30 and 174 times against LoongServe, which "
      "takes whole prompts, on 16 A100s at a fixed rate.");
  harness.show(ratios);
}

void run_serve(Harness& harness) {
  ServeRun run = serve_run(harness);
  const int n_backlog = harness.choose(40, 100, 200), n_times = harness.choose(1, 3, 3);
  measure_capacities(run, n_backlog, n_times);
  run.notes.push_back(fmt::format(
      "Capacity: {} requests a second, of {} that all come at once, by {}, median of {}; {} in the "
      "simulator. Requests of the {} s before a window load the machine and do not count; after it "
      "none come, and it is watched until all are answered, {} s at most: who has no first token "
      "then counts as having waited until then.",
      number(run.capacity), n_backlog, run.baseline().name, n_times, number(run.simulated_capacity),
      number(run.head), number(run.tail)));
  LiveGrid live;
  for (const ServeRun::Load& load : run.loads) {
    live.points.push_back(live_point(run, load));
    show_point(harness, run, live.points.back());
  }
  show_simulated(harness, run, live);
}

}  // namespace

std::vector<Benchmark> serve_benchmarks() {
  return {{{"serve",
            "short requests among long ones, over HTTP, by scheduling policy and load",
            {.model = true, .files = {kTrace}, .files_optional = true}},
           run_serve}};
}

}  // namespace pando::lab
