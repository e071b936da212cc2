// Tables and figures of "Prepacking: A Simple Method for Fast Prefilling and Increased Throughput
// in Large Language Models".
#include "lab/papers/prepacking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/tokens.h"
#include "lab/data/prompts.h"
#include "lab/papers/papers.h"

namespace pando::lab {
namespace {

// So many of the data sets as are measured.
std::vector<LengthMix> mixes_of(const Harness& harness, const Model& model, size_t n) {
  std::vector<LengthMix> mixes =
      length_mixes(harness, model.info().vocab, harness.quick() ? 100 : 1000);
  mixes.resize(std::min(mixes.size(), n));
  return mixes;
}

void run_prepacking_table_1(Harness& harness) {
  Table table{
      .title = "Tokens of a prompt, samples of 1,000 at most",
      .columns = {"data set", "prompts", "min", "mean", "max", "paper: min", "paper: mean",
                  "paper: max"},
      .notes = {"Tokens of Qwen2.5 here; the paper does not say whose. MMLU is 48 of its 57 "
                "subjects, questions without options; Alpaca is a demonstration file with "
                "longer answers than the original. SAMSum and Anthropic HH are not here."}};
  for (const LengthMix& mix : length_mixes(harness, 1 << 30, 1000)) {
    size_t shortest = mix.longest();
    for (const auto& prompt : mix.prompts) shortest = std::min(shortest, prompt.size());
    table.add({mix.name, std::to_string(mix.prompts.size()), std::to_string(shortest),
               number(mix.mean()), std::to_string(mix.longest()), std::to_string(mix.paper_min),
               std::to_string(mix.paper_mean), std::to_string(mix.paper_max)});
  }
  harness.show(table, {.columns = {"mean"}});
}

constexpr int kDefaultRows = 16384;  // of a pass, of all planners here but tree
constexpr int kRowsOfPass = 65536;   // of figures 3 and 4: nearly any batch at once

std::string passes_note(int n_rows) {
  return fmt::format(
      "`tree` works in steps of {} rows, the others take whole prompts in passes of up to {}.",
      EngineOptions{}.step_rows, n_rows);
}

struct Spread {
  double mean, deviation;
};
template <class Of>
Spread spread(const Lane& lane, Of of) {
  double sum = 0, squares = 0;
  for (const Sample& sample : lane.samples) sum += of(sample);
  const auto n = static_cast<double>(lane.samples.size());
  for (const Sample& sample : lane.samples) squares += std::pow(of(sample) - sum / n, 2);
  return {sum / n, std::sqrt(squares / std::max(n - 1, 1.0))};
}
double wall_seconds(const Sample& sample) { return sample.seconds; }
double computing_seconds(const Sample& sample) {
  return sample.stats.linear_s + sample.stats.attention_s + sample.stats.row_ops_s;
}

// How much less `lane` computed than `padded`, over all batches.
double computed_ratio(const Lane& lane, const Lane& padded) {
  return mean_computed_tokens(padded) / mean_computed_tokens(lane);
}

void run_prepacking_figure_2(Harness& harness) {
  const ModelSpec spec = prepacking_spec(harness);
  const auto model = harness.model(spec);
  Table table{
      .title = fmt::format("Milliseconds for a batch of 16 prompts, {}", harness.name(spec)),
      .columns = {"data set", "planner", "prefill", "first token, mean", "deviation",
                  "tokens computed", "token ratio", "time ratio", "time / token ratio"},
      .notes = {"Batches are random, but those of length_ordered: 16 neighbours of the sorted "
                "sample. Ratios: padded over this. The goal for ragged prepacked: time ratio >= "
                "0.9 of the token ratio.",
                "The paper: A6000, models of 1.3B to 13B in 4 and 8 bits; prepacking is 1.6 to 3.5 "
                "times faster than padded batches, which `prepacked:dense` is to be compared with.",
                passes_note(kDefaultRows)}};
  Chart prefill{.title = table.title, .y_label = "ms of prefill"};
  Chart first_token{.title = table.title, .y_label = "ms to the first token"};
  for (const LengthMix& mix : mixes_of(harness, *model, harness.choose<size_t>(1, 4, 4))) {
    const auto contestant = [&](const char* name) {
      return Contestant{.name = name, .sharing = name, .model = model};
    };
    const int n = harness.choose(2, 6, 12);
    std::vector<std::vector<Token>> sorted = mix.prompts;
    std::ranges::stable_sort(sorted, {}, &std::vector<Token>::size);
    Contestant length_ordered = contestant("length_ordered");
    length_ordered.own = [&](int repetition) {
      const size_t n_batches = sorted.size() / kPrepackingBatch;
      // From all over the sample, in equal steps.
      const size_t batch =
          (static_cast<size_t>(repetition) * 2 + 1) * n_batches / (2 * static_cast<size_t>(n) + 2);
      const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(batch * kPrepackingBatch);
      return Workload{.timed = first_tokens({begin, begin + kPrepackingBatch}, repetition)};
    };
    const std::vector<Lane> lanes = harness.contest(
        {contestant("padded"), contestant("prepacked"), contestant("prepacked:dense"),
         contestant("tree"), length_ordered},
        [&](int repetition) {
          const auto seed = static_cast<uint64_t>(repetition) + 1;
          return Workload{
              .timed = first_tokens(sample_of(mix.prompts, kPrepackingBatch, seed), repetition)};
        },
        n);
    note_missing(table, mix.name, lanes);
    for (const Lane& lane : lanes) {
      const double prefill_ms = 1e3 * spread(lane, computing_seconds).mean;
      const Spread seconds = spread(lane, wall_seconds);
      PairedRatios ratios = paired_ratios(lane, lanes[0]);
      if (&lane == &lanes.back()) {  // it had batches of its own
        ratios.tokens = computed_ratio(lane, lanes[0]);
        ratios.time = spread(lanes[0], wall_seconds).mean / seconds.mean;
        ratios.time_by_tokens = ratios.time / ratios.tokens;
      }
      table.add({mix.name, lane.name, number(prefill_ms), number(1e3 * seconds.mean),
                 number(1e3 * seconds.deviation), number(mean_computed_tokens(lane)),
                 number(ratios.tokens), number(ratios.time), number(ratios.time_by_tokens)});
      add_by_name(prefill, mix.name, lane.name, prefill_ms);
      add_by_name(first_token, mix.name, lane.name, 1e3 * seconds.mean);
    }
  }
  harness.show(table);
  harness.show(prefill);
  harness.show(first_token);
}

void run_prepacking_figure_3(Harness& harness) {
  const ModelSpec spec = prepacking_spec(harness);
  const auto model = harness.model(spec);
  Table table{
      .title = fmt::format("Times faster than padded prefill, {}", harness.name(spec)),
      .columns = {"data set", "batch", "padded, ms", "prepacked:dense", "prepacked", "tree",
                  "token ratio"},
      .notes = {
          "The paper: up to 6 times with Llama2 1.3B and 4.5 with 7B, growing with the batch; "
          "to be compared with prepacked:dense.",
          passes_note(kRowsOfPass)}};
  std::vector<Chart> charts;
  const auto sizes = harness.choose<std::vector<size_t>>({2, 8}, {2, 8, 24}, {1, 4, 16, 64});
  for (const LengthMix& mix : mixes_of(harness, *model, harness.choose<size_t>(1, 2, 4))) {
    Chart& chart = charts.emplace_back(
        Chart{.title = fmt::format("Times faster than padded prefill, {}", mix.name),
              .x_label = "batch",
              .y_label = "times",
              .log_x = true,
              .series = {{"prepacked:dense", {}}, {"prepacked", {}}, {"tree", {}}}});
    for (const size_t k : sizes) {
      const std::string batch = fmt::format("batch={},rows={}", k, kRowsOfPass);
      const std::vector<Lane> lanes = harness.contest(
          {{.name = "padded", .sharing = "padded:" + batch, .model = model},
           {.name = "prepacked:dense", .sharing = "prepacked:dense," + batch, .model = model},
           {.name = "prepacked", .sharing = "prepacked:" + batch, .model = model},
           {.name = "tree", .sharing = "tree", .model = model}},
          [&](int repetition) {
            const auto seed = static_cast<uint64_t>(repetition) + 1;
            return Workload{.timed = first_tokens(sample_of(mix.prompts, k, seed), repetition)};
          });
      note_missing(table, fmt::format("{}, batch {}", mix.name, k), lanes);
      for (size_t i = 1; i < lanes.size(); ++i)
        chart.series[i - 1].points.emplace_back(static_cast<double>(k),
                                                times_faster(lanes[i], lanes[0]));
      table.add({mix.name, std::to_string(k), number(1e3 * lanes[0].seconds()),
                 number(times_faster(lanes[1], lanes[0])), number(times_faster(lanes[2], lanes[0])),
                 number(times_faster(lanes[3], lanes[0])),
                 number(computed_ratio(lanes[2], lanes[0]))});
    }
  }
  harness.show(table);
  for (const Chart& chart : charts) harness.show(chart);
}

void run_prepacking_figure_4(Harness& harness) {
  const ModelSpec spec = prepacking_spec(harness);
  const auto model = harness.model(spec);
  const auto lengths = harness.choose<std::vector<int>>({32}, {64, 256}, {64, 256, 512});
  const auto sizes =
      harness.choose<std::vector<int>>({1, 4}, {1, 2, 4, 8, 16, 32}, {1, 2, 4, 8, 16, 32, 64});
  Table table{.title = fmt::format("Prefill of k prompts of m tokens, {}", harness.name(spec)),
              .columns = {"m", "k", "ms", "ms a prompt", "times k = 1"},
              .notes = {"The paper shows on a GPU that latency grows with k although prompts are "
                        "computed in parallel, which is why fewer rows of bins pay; it gives "
                        "a plot. Comparable is how latency grows."}};
  Chart chart{.title = table.title, .x_label = "k", .y_label = "ms", .log_x = true, .log_y = true};
  for (const int m : lengths) {
    Chart::Series series{fmt::format("m = {}", m), {}};
    double alone = kNotMeasured;
    for (const int k : sizes) {
      const Lane lane = harness.contest(
          {{.name = "padded",
            .sharing = fmt::format("padded:batch={},rows={}", k, kRowsOfPass),
            .model = model}},
          [&](int repetition) {
            RandomTokens random(static_cast<uint64_t>(repetition), model->info().vocab);
            Workload workload;
            for (int i = 0; i < k; ++i) workload.timed.push_back(request_of(random(m), 1));
            return workload;
          })[0];
      note_missing(table, fmt::format("m = {}, k = {}", m, k), {lane});
      const double ms = 1e3 * lane.seconds();
      if (k == 1) alone = ms;
      series.points.emplace_back(k, ms);
      table.add(
          {std::to_string(m), std::to_string(k), number(ms), number(ms / k), number(ms / alone)});
    }
    chart.series.push_back(std::move(series));
  }
  harness.show(table);
  harness.show(chart);
}

void run_prepacking_figure_8(Harness& harness) {
  const ModelSpec spec = prepacking_spec(harness);
  const auto model = harness.model(spec);
  const size_t n_prompts = harness.choose<size_t>(32, 32, 64);
  Table table{
      .title = fmt::format("Milliseconds of prefill for each of {} prompts, {}", n_prompts,
                           harness.name(spec)),
      .columns = {"data set", "padded", "prepacked:dense", "length_ordered",
                  "prepacked:dense,dataset", "prepacked", "prepacked:dataset", "tree",
                  "dense,dataset over length_ordered", "tokens: the same"},
      .notes = {
          "Batches of 16 prompts, or of 16 bins. The paper: with all prompts at hand, packing "
          "the data set still beats ordering it by length.",
          passes_note(kDefaultRows)}};
  Chart chart{.title = table.title, .y_label = "ms a prompt"};
  for (const LengthMix& mix : mixes_of(harness, *model, harness.choose<size_t>(1, 2, 4))) {
    std::vector<Contestant> contestants;
    for (size_t i = 1; i + 2 < table.columns.size(); ++i)
      contestants.push_back(
          {.name = table.columns[i], .sharing = table.columns[i], .model = model});
    const std::vector<Lane> lanes = harness.contest(contestants, [&](int repetition) {
      const auto seed = static_cast<uint64_t>(repetition) + 1;
      return Workload{.timed = first_tokens(sample_of(mix.prompts, n_prompts, seed), repetition)};
    });
    note_missing(table, mix.name, lanes);
    std::vector<std::string> cells = {mix.name};
    for (const Lane& lane : lanes) {
      const double ms = 1e3 * lane.seconds() / static_cast<double>(n_prompts);
      cells.push_back(number(ms));
      add_by_name(chart, mix.name, lane.name, ms);
    }
    cells.push_back(number(times_faster(lanes[3], lanes[2])));
    cells.push_back(number(computed_ratio(lanes[3], lanes[2])));
    table.add(std::move(cells));
  }
  harness.show(table);
  harness.show(chart);
}

}  // namespace

std::vector<Benchmark> prepacking_benchmarks() {
  return {{{"prepacking-table-1",
            "lengths of prompts in data sets",
            {.files = length_mix_files(), .threads = false}},
           run_prepacking_table_1},
          {{"prepacking-figure-2",
            "time to the first token of a batch of real prompts",
            {.model = true, .files = length_mix_files()}},
           run_prepacking_figure_2},
          {{"prepacking-figure-3",
            "speed-up of prefill by batch size",
            {.model = true, .files = length_mix_files()}},
           run_prepacking_figure_3},
          {{"prepacking-figure-4",
            "prefill time by batch size, prompts of one length",
            {.model = true}},
           run_prepacking_figure_4},
          {{"prepacking-figure-8",
            "packing a data set against ordering it by length",
            {.model = true, .files = length_mix_files()}},
           run_prepacking_figure_8}};
}

}  // namespace pando::lab
