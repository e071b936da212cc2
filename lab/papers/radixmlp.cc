// Tables and figures of "RadixMLP - Intra-batch Deduplication for Causal Transformers".
#include "lab/papers/radixmlp.h"

#include <fmt/format.h>

#include <string>

#include "api/model_access.h"
#include "bench/tokens.h"
#include "lab/papers/papers.h"
#include "lab/papers/radixmlp_model.h"

namespace pando::lab {
namespace {

// Contestants of one forward pass over n_tokens of all copies.
std::vector<Contestant> all_ways(std::shared_ptr<const Model> model, size_t n_tokens,
                                 size_t unshared) {
  const std::string rows = fmt::format("rows={}", n_tokens);
  return {{.name = "off", .sharing = "packed", .model = model, .at_most = unshared},
          {.name = "radix", .sharing = "radix:" + rows, .model = model},
          {.name = "tree", .sharing = "tree", .model = model}};
}

double speed_up(const std::vector<Lane>& lanes, size_t i) {
  return times_faster(lanes[i], lanes[0]);
}

// A batch of the synthetic benchmark (a) of 4.1.
MakeWorkload sharing_prefix(int vocab, int prefix, int suffix, int batch) {
  return [=](int repetition) {
    const SharedPrompts shape{.n_prompts = batch, .n_shared = prefix, .n_own = suffix};
    Workload workload = shared_prompts(shape, vocab)(repetition);
    for (Request& request : workload.timed) request.pooling = Pooling::kLast;
    return workload;
  };
}

struct Synthetic {
  int prefix, suffix, batch;
  int n_tokens() const { return batch * (prefix + suffix); }
  int n_compact() const { return prefix + batch * suffix; }
  double ratio() const { return static_cast<double>(n_compact()) / n_tokens(); }  // N'/N
};

std::vector<Lane> forward(Harness& harness, const ModelSpec& spec, const Synthetic& s,
                          size_t unshared) {
  const auto model = harness.model(spec);
  return harness.contest(all_ways(model, static_cast<size_t>(s.n_tokens()), unshared),
                         sharing_prefix(model->info().vocab, s.prefix, s.suffix, s.batch));
}

double predicted(const Model& model, const Synthetic& s) {
  const model::ModelSpec& config = spec_of(model);
  return predicted_speedup(position_wise_part({config.d_model, config.d_ff, s.prefix + s.suffix}),
                           shared_prefix_ratio(s.batch, s.prefix, s.suffix));
}

const char* const kUnshared =
    "Without sharing a sample of the sequences is computed, and what all would take is in "
    "proportion.";

void run_radixmlp_table_2(Harness& harness) {
  const Synthetic s =
      harness.choose(Synthetic{128, 16, 8}, Synthetic{512, 64, 32}, {2048, 256, 32});
  Table table{
      .title = fmt::format("RadixMLP table 2: prefill of {} sequences, {} shared tokens, {} of "
                           "their own, bf16 weights",
                           s.batch, s.prefix, s.suffix),
      .columns = {"model", "f_c", "measured f_c", "r", "predicted", "predicted by measured f_c",
                  "radix", "radix / predicted", "radix / by measured", "tree", "off, s", "radix, s",
                  "tree, s", "planning of radix, ms", "paper: predicted", "paper: observed"},
      .notes = {
          kUnshared,
          "Speed-ups over no sharing. Predicted: by the paper's formula, with f_c from the "
          "model's sizes, or measured: the part of the time without sharing that is not "
          "attention. The former is that of a GPU, where both kinds of work have one rate. "
          "Planning: the maps, and the layout of rows and tasks, on the engine's thread before "
          "the pass. The paper: whole models on an H100, 32 sequences, 2,048 shared tokens, "
          "256 of their own; it prints an f_c of 73% for Qwen3-0.6B, by its formula 74%, and "
          "so predicts 2.68 where we have 2.78."}};
  for (const RadixMlpModel& paper : radixmlp_models(harness)) {
    const ModelSpec spec =
        radixmlp_spec(paper, harness.full() ? paper.n_layers_full : paper.n_layers);
    const std::vector<Lane> lanes = forward(harness, spec, s, harness.choose<size_t>(2, 2, 4));
    const auto model = harness.model(spec);
    const model::ModelSpec& config = spec_of(*model);
    const auto seconds = [&](size_t i) { return s.batch / lanes[i].requests_per_second(); };
    const double ratio = shared_prefix_ratio(s.batch, s.prefix, s.suffix);
    const double measured_part = 1 - lanes[0].seconds_of(&EngineStats::attention_s) /
                                         lanes[0].seconds_of(&EngineStats::step_s);
    const double expected = predicted_speedup(measured_part, ratio);
    const double by_sizes = predicted(*model, s);
    table.add({harness.name(spec),
               number(position_wise_part({config.d_model, config.d_ff, s.prefix + s.suffix})),
               number(measured_part), number(ratio), number(by_sizes), number(expected),
               number(speed_up(lanes, 1)), number(speed_up(lanes, 1) / by_sizes),
               number(speed_up(lanes, 1) / expected), number(speed_up(lanes, 2)),
               number(seconds(0)), number(seconds(1)), number(seconds(2)),
               number(1e3 * lanes[1].seconds_of(&EngineStats::planning_s)), number(paper.predicted),
               number(paper.observed)});
    note_missing(table, harness.name(spec), lanes);
  }
  harness.show(table, {.columns = {"predicted", "radix", "tree"}});
}

// Figures 2 and 3, and table 4, which has their numbers for Qwen3-4B: by prefixes, behind which the
// paper has `paper_suffix` tokens.
void sweep(Harness& harness, const char* title, int suffix, int batch, int paper_suffix,
           const std::vector<std::pair<int, double>>& prefixes) {
  const ModelSpec spec{.shape = "qwen3-0.6b",
                       .n_layers = 1,
                       .vocab = kRadixMlpVocab,
                       .weights = WeightType::kAsStored};
  Table table{.title = fmt::format("{}: prefill of {} sequences, {} tokens of their own, {}", title,
                                   batch, suffix, harness.name(spec)),
              .columns = {"prefix", "N", "N'", "N'/N", "paper: N'/N", "off, s", "radix, s",
                          "tree, s", "radix", "tree", "predicted", "paper: Qwen3-4B"},
              .notes = {kUnshared,
                        fmt::format("Above the threshold of 0.95 `radix` leaves a batch as it is. "
                                    "The paper: table 4, 32 sequences on an H100, {} tokens of "
                                    "their own. Beside each other are figures of one prefix; with "
                                    "fewer sequences N'/N is larger. At 2,304 tokens f_c is 90% of "
                                    "Qwen3-4B by the paper's formula (it prints 88%), 74% of this "
                                    "shape (73%).",
                                    paper_suffix)}};
  Chart chart{.title = table.title,
              .x_label = "tokens of the prefix",
              .y_label = "times as fast as no sharing",
              .log_x = true};
  for (const char* name : {"radix", "tree", "predicted", "paper: Qwen3-4B"})
    chart.series.push_back({name, {}});
  for (const auto& [prefix, paper] : prefixes) {
    const Synthetic s{prefix, suffix, batch};
    const std::vector<Lane> lanes = forward(harness, spec, s, 4);
    const double predicts = predicted(*harness.model(spec), s);
    std::vector<std::string> cells = {std::to_string(prefix), std::to_string(s.n_tokens()),
                                      std::to_string(s.n_compact()), number(s.ratio()),
                                      number(Synthetic{prefix, paper_suffix, 32}.ratio())};
    for (const size_t i : {0, 1, 2})
      cells.push_back(number(batch / lanes[i].requests_per_second()));
    const double values[] = {speed_up(lanes, 1), speed_up(lanes, 2), predicts, paper};
    for (size_t i = 0; i < std::size(values); ++i) {
      cells.push_back(number(values[i]));
      chart.series[i].points.emplace_back(prefix, values[i]);
    }
    table.add(std::move(cells));
    note_missing(table, std::to_string(prefix), lanes);
  }
  harness.show(table);
  harness.show(chart);
}

void run_radixmlp_figure_2(Harness& harness) {
  const std::vector<std::pair<int, double>> all = {{1, 0.98},    {16, 1.01},  {32, 1.04},
                                                   {128, 1.37},  {256, 1.70}, {512, 2.40},
                                                   {1024, 3.36}, {2048, 4.14}};
  const std::vector<std::pair<int, double>> some = {
      {1, 0.98}, {32, 1.04}, {256, 1.70}, {1024, 3.36}};
  sweep(harness, "RadixMLP figure 2", harness.choose(16, 256, 256), harness.choose(4, 16, 32), 256,
        harness.choose<std::vector<std::pair<int, double>>>({{1, 0.98}, {32, 1.04}}, some, all));
}

void run_radixmlp_figure_3(Harness& harness) {
  const std::vector<std::pair<int, double>> all = {
      {1, 0.98}, {32, 0.98}, {128, 1.06}, {256, 1.18}, {512, 1.38}, {1024, 1.78}, {2048, 2.27}};
  const std::vector<std::pair<int, double>> some = {{1, 0.98}, {256, 1.18}, {1024, 1.78}};
  sweep(harness, "RadixMLP figure 3", harness.choose(64, 1024, 1024), harness.choose(4, 8, 16),
        1024,
        harness.choose<std::vector<std::pair<int, double>>>({{1, 0.98}, {32, 0.98}}, some, all));
}

}  // namespace

std::vector<Benchmark> radixmlp_benchmarks() {
  return {{{"radixmlp-table-1", "latency of requests like those of reranking", {.model = true}},
           run_radixmlp_table_1},
          {{"radixmlp-table-2", "speed-up of prefill: predicted, radix, tree", {.model = true}},
           run_radixmlp_table_2},
          {{"radixmlp-table-3", "the same requests, also with prefix_cached", {.model = true}},
           run_radixmlp_table_3},
          {{"radixmlp-figure-2",
            "speed-up by length of the shared prefix (also table 4)",
            {.model = true}},
           run_radixmlp_figure_2},
          {{"radixmlp-figure-3",
            "the same with 1,024 tokens of their own (also table 4)",
            {.model = true}},
           run_radixmlp_figure_3},
          {{"radixmlp-table-5", "construction of the index maps", {.threads = false}},
           run_radixmlp_table_5},
          {{"radixmlp-table-6", "copies of rows"}, run_radixmlp_table_6},
          {{"radixmlp-memory",
            "memory with and without keys and values (section 5.1)",
            {.model = true}},
           run_radixmlp_memory}};
}

}  // namespace pando::lab
