#include "lab/papers/serve_tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "schedule/remaining.h"

namespace pando::lab {
namespace {

std::string ms(double seconds) { return number(1e3 * seconds); }
std::string percent(double share) { return number(100 * share); }

}  // namespace

Table figures_table(std::string title, const std::vector<NamedFigures>& all) {
  Table table{.title = std::move(title),
              .columns = {"policy", "short: first token, ms, P50", "P90", "P99",
                          "long: first token, s, P50", "P90", "P99", "ms between tokens, P50",
                          "P99", "P99 while a long one waits", "answers/s", "in time %: short",
                          "long", "in time/s", "of requests", "long ones", "waiting at the end"}};
  for (const auto& [name, f] : all)
    table.add({name, ms(f.short_ttft.p50), ms(f.short_ttft.p90), ms(f.short_ttft.p99),
               number(f.long_ttft.p50), number(f.long_ttft.p90), number(f.long_ttft.p99),
               ms(f.gap.p50), ms(f.gap.p99), ms(f.gap_beside_long.p99),
               number(f.answers_per_second), percent(f.short_met), percent(f.long_met),
               number(f.goodput), std::to_string(f.n_requests), std::to_string(f.n_long),
               std::to_string(f.n_waiting)});
  return table;
}

Table ratios_table(std::string title, const std::vector<NamedFigures>& all, double budget) {
  const std::string& baseline = all.back().name;
  Table table{.title = std::move(title),
              .columns = {"policy", "short: first token, times sooner, P50", "P90", "P99",
                          "in time/s, times", "long in time %",
                          "P99 between tokens while a long prompt waits / budget",
                          "P99 of such answers' mean time a token (TPOT) / budget"},
              .notes = {"Times: against " + baseline + "."}};
  const ServeFigures& other = all.back().figures;
  for (const auto& [name, f] : all)
    table.add({name, number(other.short_ttft.p50 / f.short_ttft.p50),
               number(other.short_ttft.p90 / f.short_ttft.p90),
               number(other.short_ttft.p99 / f.short_ttft.p99), number(f.goodput / other.goodput),
               percent(f.long_met), number(f.gap_beside_long.p99 / budget),
               number(f.tpot_beside_long.p99 / budget)});
  return table;
}

Table slack_table(std::string title, const Predictor& predictor, uint32_t n_short, uint32_t n_long,
                  double budget, uint32_t n_rows) {
  constexpr uint32_t kParts = 8;
  Table table{.title = std::move(title),
              .columns = {"tokens before", "rows of its chunk", "ms", "tokens/s",
                          "ms more with the short prompt", "of it alone, %"}};
  const auto chunk = [](double begin, double rows) {
    return StepFeatures{.rows = rows, .keys = keys_seen(begin, rows), .reads = begin};
  };
  StepFeatures one_more = chunk(0, n_short);
  one_more.outputs = 1;
  const double alone = predictor.seconds(one_more);
  for (uint32_t part = 0; part < kParts; ++part) {
    const uint32_t begin = n_long / kParts * part;
    const uint32_t rows =
        std::max(1u, longest_chunk(predictor, budget, begin, std::min(n_rows, n_long - begin)));
    const StepFeatures step = chunk(begin, rows);
    const double seconds = predictor.seconds(step);
    const double more = predictor.seconds(step + one_more) - seconds;
    table.add({std::to_string(begin), std::to_string(rows), ms(seconds), number(rows / seconds),
               ms(more), percent(more / alone)});
  }
  return table;
}

}  // namespace pando::lab
