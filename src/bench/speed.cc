// The engine's own speed, and other engines beside it.
#include <fmt/format.h>

#include "base/errors.h"
#include "bench/peer.h"
#include "bench/registry.h"
#include "bench/speed_rows.h"
#include "bench/tokens.h"

namespace pando::bench {
namespace {

ModelSpec speed_model(const Lab& lab, WeightType weights) {
  return {.shape = "qwen3-0.6b", .n_layers = lab.choose(2, 0, 0), .weights = weights};
}

std::vector<Lane> run_row(Lab& lab, const SpeedRow& row, const SpeedTypes& types,
                          int repetitions = 0) {
  const auto model = lab.model(speed_model(lab, types.weights));
  const int vocab = std::min(model->info().vocab, 32000);
  return lab.contest(
      {{.name = "tree", .sharing = "tree", .model = model, .kv_type = types.kv_type}},
      [&](int repetition) { return speed_workload(row, vocab, repetition); }, repetitions);
}

void run_speed(Lab& lab) {
  Table table{
      .title = fmt::format("Tokens per second, {}, {} threads",
                           speed_model(lab, WeightType::kQ8_0).shape, lab.threads()),
      .columns = {"weights", "keys and values", "row", "tokens/s", "ms a step", "products %",
                  "attention %", "row by row %", "sampling %", "planning %", "products, GOP/s"}};
  for (const SpeedTypes& types : speed_types(lab)) {
    for (const SpeedRow& row : speed_rows(lab)) {
      const Lane lane = run_row(lab, row, types)[0];
      if (lane.samples.empty()) {
        table.notes.push_back(fmt::format("{}: {}", row.name(), lane.why_not));
        continue;
      }
      const EngineStats& s = lane.median_sample().stats;
      const auto percent = [&](double seconds) {
        return fmt::format("{:.0f}", 100 * seconds / s.step_s);
      };
      table.add({types.weights_name, types.kv_name, row.name(),
                 number(speed_tokens(row) / lane.seconds()),
                 number(1e3 * lane.seconds() / static_cast<double>(s.steps)), percent(s.linear_s),
                 percent(s.attention_s), percent(s.row_ops_s), percent(s.sampling_s),
                 percent(s.planning_s), number(1e-9 * s.linear_flops / s.linear_s)});
    }
  }
  lab.show(table);
}

// Ours and theirs take turns, row by row.
void run_compare(Lab& lab) {
  const std::vector<std::string>& peers = lab.settings().peers;
  if (peers.empty())
    throw BenchmarkError(invalid_argument("compare without --peer, expected --peer COMMAND"));
  Table table{.title = fmt::format("Tokens per second, {} threads", lab.threads()),
              .columns = {"weights", "keys and values", "row", "pando"},
              .notes = {"A peer's figure is the last line that its command prints."}};
  for (size_t i = 0; i < peers.size(); ++i) {
    table.columns.push_back(peers.size() == 1 ? "peer" : fmt::format("peer {}", i + 1));
    table.columns.push_back("times");
    table.notes.push_back(fmt::format("{}: `{}`", table.columns[4 + 2 * i], peers[i]));
  }
  const int n = lab.choose(1, 3, 5);
  for (const SpeedTypes& types : speed_types(lab)) {
    const auto model = lab.model(speed_model(lab, types.weights));
    for (const SpeedRow& row : speed_rows(lab)) {
      std::vector<double> ours;
      std::vector<std::vector<double>> theirs(peers.size()), times(peers.size());
      for (int repetition = 0; repetition < n; ++repetition) {
        const Lane lane = run_row(lab, row, types, 1)[0];
        if (lane.samples.empty())
          throw BenchmarkError(
              make_error(ErrorCode::kUnavailable, "{}: {}", row.name(), lane.why_not));
        ours.push_back(speed_tokens(row) / lane.seconds());
        for (size_t i = 0; i < peers.size(); ++i) {
          theirs[i].push_back(
              value_of(run_peer(peers[i], {{"kind", row.kind_name()},
                                           {"tokens", std::to_string(row.n_prompt)},
                                           {"sequences", std::to_string(row.n_sequences)},
                                           {"answer", std::to_string(kSpeedAnswer)},
                                           {"threads", std::to_string(lab.threads())},
                                           {"weights", types.weights_name}})));
          times[i].push_back(ours.back() / theirs[i].back());
        }
      }
      std::vector<std::string> cells = {types.weights_name, types.kv_name, row.name(),
                                        number(median(ours))};
      for (size_t i = 0; i < peers.size(); ++i) {
        cells.push_back(number(median(theirs[i])));
        cells.push_back(number(median(times[i])));
      }
      table.add(std::move(cells));
    }
  }
  lab.show(table);
}

}  // namespace

std::vector<Benchmark> speed_benchmarks() {
  return {{{"speed", "a prompt, an answer alone, 64 answers over a shared prompt"}, run_speed},
          {{"compare", "the same in turn with other engines' commands (--peer)"}, run_compare}};
}

}  // namespace pando::bench
