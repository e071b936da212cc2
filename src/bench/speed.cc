// The engine's own speed, and other engines beside it.
#include <fmt/format.h>

#include <span>
#include <vector>

#include "api/model_access.h"
#include "bench/cpu/kernel_rates.h"
#include "bench/peer.h"
#include "bench/registry.h"
#include "bench/speed_rows.h"
#include "bench/tokens.h"

namespace pando::bench {
namespace {

ModelSpec speed_model(const Harness& harness, WeightType weights) {
  // Peers have all layers.
  const bool whole = !harness.quick() || !harness.settings().peers.empty();
  return {.shape = "qwen3-0.6b", .n_layers = whole ? 0 : 2, .weights = weights};
}

std::vector<Lane> run_row(Harness& harness, const SpeedRow& row, WeightType weights,
                          const std::vector<KvType>& kv_types, int repetitions = 0) {
  const auto model = harness.model(speed_model(harness, weights));
  std::vector<Contestant> contestants;
  for (const KvType type : kv_types)
    contestants.push_back({.name = type == KvType::kF16 ? "f16" : "int8",
                           .sharing = "tree",
                           .model = model,
                           .kv_type = type,
                           .is_ready = true});
  return harness.contest(
      contestants,
      [&](int repetition) { return speed_workload(row, model->info().vocab, repetition); },
      repetitions);
}

void run_speed(Harness& harness) {
  Table table{.title = fmt::format("Tokens per second, {}, {} threads",
                                   harness.settings().model.empty()
                                       ? "qwen3-0.6b"
                                       : harness.name(speed_model(harness, WeightType::kAsStored)),
                                   harness.threads()),
              .columns = {"weights", "keys and values", "row", "tokens/s", "ms a step",
                          "products %", "attention %", "row by row %", "sampling %", "planning %",
                          "products, GOP/s", "weights, GB/s", "of reads %"}};
  const double reads = read_bandwidth(harness);
  table.notes.push_back(fmt::format(
      "Weights, GB/s: their bytes for each step over the whole time of a step. Of reads: of the "
      "{} GB/s at which this machine reads {}, measured just before.",
      number(1e-9 * reads), harness.quick() ? "8 MiB, from a cache" : "memory"));
  for (const SpeedWeights& weights : speed_weights(harness)) {
    const auto model = harness.model(speed_model(harness, weights.type));
    const auto bytes = static_cast<double>(weights_of(*model)->weight_bytes());
    for (const SpeedRow& row : speed_rows(harness)) {
      const bool is_shared = row.kind == SpeedRow::Kind::kShared;
      if (!harness.full() && is_shared && (row.n_prompt > 512 || !weights.all_rows)) continue;
      if (!weights.all_rows && row.n_prompt > 512) continue;
      const auto kv_types =
          weights.all_rows ? std::vector{KvType::kF16, KvType::kInt8} : std::vector{KvType::kF16};
      const std::vector<Lane> lanes = run_row(harness, row, weights.type, kv_types);
      note_missing(table, row.name(), lanes);
      for (const Lane& lane : lanes) {
        if (lane.samples.empty()) continue;
        const EngineStats& s = lane.median_sample().stats;
        const auto percent = [&](double seconds) {
          return fmt::format("{:.0f}", 100 * seconds / s.step_s);
        };
        const double rate = bytes * static_cast<double>(s.steps) / lane.seconds();
        table.add({weights.name, lane.name, row.name(), number(speed_tokens(row) / lane.seconds()),
                   number(1e3 * lane.seconds() / static_cast<double>(s.steps)), percent(s.linear_s),
                   percent(s.attention_s), percent(s.row_ops_s), percent(s.sampling_s),
                   percent(s.planning_s), number(1e-9 * s.linear_flops / s.linear_s),
                   number(1e-9 * rate), number(100 * rate / reads)});
      }
    }
  }
  harness.show(table, {.n_names = 3, .columns = {"tokens/s"}});
}

// One of two kinds of keys and values that we are compared with.
struct Ours {
  const char* name;
  KvType kv_type;
};
constexpr Ours kOurs[] = {{"pando", KvType::kF16}, {"pando, int8 keys and values", KvType::kInt8}};

double peer_speed(const Harness& harness, const std::string& peer, const SpeedRow& row,
                  const SpeedWeights& weights) {
  return value_of(run_peer(peer, {{"kind", row.kind_name()},
                                  {"tokens", std::to_string(row.n_prompt)},
                                  {"sequences", std::to_string(row.n_sequences)},
                                  {"answer", std::to_string(kSpeedAnswer)},
                                  {"threads", std::to_string(harness.threads())},
                                  {"weights", weights.name}}));
}

// Tokens per second of each, by repetition: peers, then ours. Peers begin, so that a command that
// fails does so at once.
std::vector<std::vector<double>> rates_in_turn(Harness& harness, const SpeedRow& row,
                                               const SpeedWeights& weights, Table& table) {
  const std::vector<std::string>& peers = harness.settings().peers;
  std::vector<std::vector<double>> rates(peers.size() + std::size(kOurs));
  const auto rate_of = [&](size_t who, int repetition) {
    if (who < peers.size()) return peer_speed(harness, peers[who], row, weights);
    const KvType kv_type = kOurs[who - peers.size()].kv_type;
    const Lane lane = run_row(harness, row, weights.type, {kv_type}, 1)[0];
    if (repetition == 0) note_missing(table, row.name(), {lane});
    return speed_tokens(row) / lane.sample(0).seconds;
  };
  // The longest take minutes of each engine; contest() warms ours up, llama.cpp its programs.
  const bool is_long = row.kind == SpeedRow::Kind::kShared && row.n_prompt > 512;
  if (is_long && !harness.full()) {
    for (size_t who = 0; who < rates.size(); ++who) rates[who].push_back(rate_of(who, 0));
    return rates;
  }
  harness.in_turn(rates.size(), [&](size_t who, int repetition) {
    const double rate = rate_of(who, repetition);
    if (repetition > 0) rates[who].push_back(rate);
    return speed_tokens(row) / rate;
  });
  return rates;
}

void compare_rows(Harness& harness, Table& table) {
  const size_t n_peers = harness.settings().peers.size();
  for (const SpeedWeights& weights : speed_weights(harness)) {
    for (const SpeedRow& row : speed_rows(harness)) {
      if (!weights.all_rows && row.n_prompt > 512) continue;
      const auto all = rates_in_turn(harness, row, weights, table);
      const std::span theirs = std::span(all).first(n_peers);
      const std::span ours = std::span(all).subspan(n_peers);
      std::vector<std::string> cells = {weights.name, row.name(), std::to_string(all[0].size())};
      for (const std::vector<double>& rates : ours) cells.push_back(number(median(rates)));
      for (const std::vector<double>& rates : theirs) {
        cells.push_back(number(median(rates)));
        std::string times;
        for (const std::vector<double>& our_rates : ours) {
          std::vector<double> ratios;
          for (size_t r = 0; r < rates.size(); ++r) ratios.push_back(our_rates[r] / rates[r]);
          times += fmt::format("{}{}", times.empty() ? "" : " / ", number(median(ratios)));
        }
        cells.push_back(times);
      }
      table.add(std::move(cells));
    }
  }
}

void run_compare(Harness& harness) {
  const std::vector<std::string>& peers = harness.settings().peers;
  Table table{
      .title = fmt::format("Tokens per second, {} threads", harness.threads()),
      .columns = {"weights", "row", "repetitions"},
      .notes = {"A peer's figure is the last line that its command prints; times: ours over "
                "theirs, the median of paired ratios, with keys and values in f16 / int8."}};
  for (const Ours& ours : kOurs) table.columns.emplace_back(ours.name);
  for (size_t i = 0; i < peers.size(); ++i) {
    table.columns.push_back(fmt::format("peer {}", i + 1));
    table.columns.emplace_back("times");
    table.notes.push_back(fmt::format("Peer {}: `{}`", i + 1, peers[i]));
  }
  if (const auto& variables = harness.settings().peer_variables; !variables.empty())
    table.notes.push_back(
        fmt::format("In the environment of peers: `{}`", fmt::join(variables, "`, `")));
  try {
    compare_rows(harness, table);
  } catch (const BenchmarkError&) {
    if (!table.rows.empty()) harness.show(table);  // may be the result of hours
    throw;
  }
  std::vector<std::string> drawn;
  for (size_t i = 3; i < table.columns.size(); ++i)
    if (table.columns[i] != "times") drawn.push_back(table.columns[i]);
  harness.show(table, {.n_names = 2, .columns = drawn});
}

}  // namespace

std::vector<Benchmark> speed_benchmarks() {
  return {
      {{"speed", "a prompt, an answer alone, 64 answers over a shared prompt", {.model = true}},
       run_speed},
      {{"compare", "the same in turn with other engines' commands", {.model = true, .peers = true}},
       run_compare}};
}

}  // namespace pando::bench
