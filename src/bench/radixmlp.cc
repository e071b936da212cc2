// Tables and figures of "RadixMLP - Intra-batch Deduplication for Causal Transformers".
#include "bench/radixmlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>

#include "bench/process_memory.h"
#include "bench/radixmlp_model.h"
#include "bench/registry.h"
#include "bench/tokens.h"
#include "engine/model_parts.h"

namespace pando::bench {
namespace {

constexpr int kVocab = 4096;  // small, so that layers are what takes memory

struct PaperModel {
  const char* name;
  const char* shape;
  double base_s, radix_s;                         // table 1, mean
  double base_p50[2], radix_p50[2], vllm_p50[2];  // table 3, ratio 0.61 and 0.71
  double predicted, observed;                     // table 2
};
constexpr PaperModel kSmall = {"Qwen3-0.6B", "qwen3-0.6b", 0.78, 0.54, {0.78, 0.70},
                               {0.55, 0.57}, {0.71, 0.71}, 2.68, 2.74};
constexpr PaperModel kLarge = {"Qwen3-8B",   "qwen3-8b",   5.96, 3.75, {5.75, 5.23},
                               {3.66, 3.88}, {3.40, 3.77}, 4.82, 4.98};

std::vector<PaperModel> models(const Lab& lab) {
  return lab.quick() ? std::vector<PaperModel>{kSmall} : std::vector<PaperModel>{kSmall, kLarge};
}

bool is_large(const PaperModel& model) { return std::string(model.shape) == kLarge.shape; }

ModelSpec spec_of(const Lab& lab, const PaperModel& model) {
  return {.shape = model.shape,
          .n_layers = is_large(model) ? lab.choose(1, 1, 2) : lab.choose(1, 4, 4),
          .vocab = kVocab,
          .weights = WeightType::kAsStored};
}

Request embedding_of(std::vector<Token> tokens) {
  Request request = request_of(std::move(tokens), 1);
  request.pooling = Pooling::kLast;
  return request;
}

// Contestants of one forward pass over n_tokens of all copies.
std::vector<Contestant> all_ways(std::shared_ptr<const Model> model, size_t n_tokens,
                                 size_t unshared) {
  const std::string rows = fmt::format("rows={}", n_tokens);
  return {{.name = "off", .sharing = "packed", .model = model, .at_most = unshared},
          {.name = "radix", .sharing = "radix:" + rows, .model = model},
          {.name = "radix, stateless", .sharing = "radix:stateless," + rows, .model = model},
          {.name = "tree", .sharing = "tree", .model = model}};
}

// Times the requests a second of the first.
double speed_up(const std::vector<Lane>& lanes, size_t i) {
  return lanes[i].requests_per_second() / lanes[0].requests_per_second();
}

// A batch of the synthetic benchmark (a) of 4.1.
MakeWorkload sharing_prefix(int prefix, int suffix, int batch) {
  return [=](int repetition) {
    RandomTokens random(static_cast<uint64_t>(repetition) + 1, kVocab);
    const std::vector<Token> shared = random(prefix);
    Workload workload;
    for (int i = 0; i < batch; ++i)
      workload.timed.push_back(embedding_of(joined(shared, random(suffix))));
    return workload;
  };
}

struct Synthetic {
  int prefix, suffix, batch;
  int n_tokens() const { return batch * (prefix + suffix); }
  int n_compact() const { return prefix + batch * suffix; }
};

std::vector<Lane> forward(Lab& lab, const ModelSpec& spec, const Synthetic& s, size_t unshared) {
  return lab.contest(all_ways(lab.model(spec), static_cast<size_t>(s.n_tokens()), unshared),
                     sharing_prefix(s.prefix, s.suffix, s.batch), lab.choose(1, 1, 3));
}

double predicted(const Model& model, const Synthetic& s) {
  const model::ModelConfig& config = model.parts().weights.config;
  return predicted_speedup(position_wise_part({config.d_model, config.d_ff, s.prefix + s.suffix}),
                           shared_prefix_ratio(s.batch, s.prefix, s.suffix));
}

void add_missing(Table& table, const std::string& what, const std::vector<Lane>& lanes) {
  for (const Lane& lane : lanes)
    if (lane.samples.empty())
      table.notes.push_back(fmt::format("{}, {}: {}", what, lane.name, lane.why_not));
}

const char* const kUnshared =
    "Without sharing a sample of the sequences is computed, and what all would take is in "
    "proportion.";

void run_table_2(Lab& lab) {
  const Synthetic s = lab.quick() ? Synthetic{128, 16, 8} : Synthetic{2048, 256, 32};
  Table table{
      .title = fmt::format("RadixMLP table 2: prefill of {} sequences, {} shared tokens, {} of "
                           "their own, bf16 weights",
                           s.batch, s.prefix, s.suffix),
      .columns = {"model", "f_c", "r", "predicted", "radix", "radix / predicted",
                  "radix, stateless", "tree", "off, s", "radix, s", "tree, s", "paper: predicted",
                  "paper: observed"},
      .notes = {kUnshared,
                "Speed-ups over no sharing. Predicted: by the paper's formula, from the model's "
                "sizes. It counts attention to all positions; ours computes the causal half, so "
                "that more of the work is position-wise than f_c says. The paper: whole models on "
                "an H100, the same batch."}};
  for (const PaperModel& paper : models(lab)) {
    const ModelSpec spec = spec_of(lab, paper);
    const std::vector<Lane> lanes = forward(lab, spec, s, lab.choose<size_t>(2, 2, 8));
    const auto model = lab.model(spec);
    const model::ModelConfig& config = model->parts().weights.config;
    const auto seconds = [&](size_t i) { return s.batch / lanes[i].requests_per_second(); };
    table.add({spec.name(),
               number(position_wise_part({config.d_model, config.d_ff, s.prefix + s.suffix})),
               number(shared_prefix_ratio(s.batch, s.prefix, s.suffix)),
               number(predicted(*model, s)), number(speed_up(lanes, 1)),
               number(speed_up(lanes, 1) / predicted(*model, s)), number(speed_up(lanes, 2)),
               number(speed_up(lanes, 3)), number(seconds(0)), number(seconds(1)),
               number(seconds(3)), number(paper.predicted), number(paper.observed)});
    add_missing(table, spec.name(), lanes);
  }
  lab.show(table);
}

// Figures 2 and 3, and table 4, which has their numbers for Qwen3-4B.
void sweep(Lab& lab, const char* title, int suffix, int batch,
           const std::vector<std::pair<int, double>>& prefixes) {
  const ModelSpec spec{.shape = "qwen3-0.6b",
                       .n_layers = lab.choose(1, 1, 4),
                       .vocab = kVocab,
                       .weights = WeightType::kAsStored};
  Table table{.title = fmt::format("{}: prefill of {} sequences, {} tokens of their own, {}", title,
                                   batch, suffix, spec.name()),
              .columns = {"prefix", "N", "N'", "N'/N", "off, s", "radix, s", "tree, s", "radix",
                          "radix, stateless", "tree", "predicted", "paper: Qwen3-4B"},
              .notes = {kUnshared,
                        "Above the threshold of 0.95 `radix` leaves a batch as it is. The paper: "
                        "table 4, 32 sequences on an H100; f_c of Qwen3-4B is 88%, of this shape "
                        "73% at 2,304 tokens."}};
  Chart chart{.title = table.title,
              .x_label = "tokens of the prefix",
              .y_label = "times as fast as no sharing",
              .log_x = true};
  for (const char* name : {"radix", "radix, stateless", "tree", "predicted", "paper: Qwen3-4B"})
    chart.series.push_back({name, {}});
  for (const auto& [prefix, paper] : prefixes) {
    const Synthetic s{prefix, suffix, batch};
    const std::vector<Lane> lanes = forward(lab, spec, s, 4);
    const double predicts = predicted(*lab.model(spec), s);
    std::vector<std::string> cells = {std::to_string(prefix), std::to_string(s.n_tokens()),
                                      std::to_string(s.n_compact()),
                                      number(static_cast<double>(s.n_compact()) / s.n_tokens())};
    for (const size_t i : {0, 1, 3})
      cells.push_back(number(batch / lanes[i].requests_per_second()));
    const double values[] = {speed_up(lanes, 1), speed_up(lanes, 2), speed_up(lanes, 3), predicts,
                             paper};
    for (size_t i = 0; i < std::size(values); ++i) {
      cells.push_back(number(values[i]));
      chart.series[i].points.emplace_back(prefix, values[i]);
    }
    table.add(std::move(cells));
    add_missing(table, std::to_string(prefix), lanes);
  }
  lab.show(table);
  lab.show(chart);
}

void run_figure_2(Lab& lab) {
  const std::vector<std::pair<int, double>> all = {{1, 0.98},    {16, 1.01},  {32, 1.04},
                                                   {128, 1.37},  {256, 1.70}, {512, 2.40},
                                                   {1024, 3.36}, {2048, 4.14}};
  const std::vector<std::pair<int, double>> some = {
      {1, 0.98}, {32, 1.04}, {256, 1.70}, {1024, 3.36}};
  sweep(lab, "RadixMLP figure 2", lab.choose(16, 256, 256), lab.choose(4, 32, 32),
        lab.choose<std::vector<std::pair<int, double>>>({{1, 0.98}, {32, 1.04}}, some, all));
}

void run_figure_3(Lab& lab) {
  const std::vector<std::pair<int, double>> all = {
      {1, 0.98}, {32, 0.98}, {128, 1.06}, {256, 1.18}, {512, 1.38}, {1024, 1.78}, {2048, 2.27}};
  const std::vector<std::pair<int, double>> some = {{1, 0.98}, {256, 1.18}, {1024, 1.78}};
  sweep(lab, "RadixMLP figure 3", lab.choose(64, 1024, 1024), lab.choose(4, 8, 32),
        lab.choose<std::vector<std::pair<int, double>>>({{1, 0.98}, {32, 0.98}}, some, all));
}

// Prompts like those of benchmarks (b) and (c) of 4.1: a template that all have, a query that ten
// have, passages. So many tokens of template and query that N'/N is as published.
struct Reranking {
  double ratio;  // as published
  int n_template, n_query, shortest, longest;
};
constexpr Reranking kQueryFirst = {0.61, 45, 10, 75, 200};  // (b)
constexpr Reranking kFlipped = {0.71, 38, 0, 65, 200};      // (c): passages come first

MakeWorkload reranking(const Reranking& shape, int n_prompts) {
  return [=](int repetition) {
    const std::vector<Token> beginning = RandomTokens(1, kVocab)(shape.n_template);
    RandomTokens random(static_cast<uint64_t>(repetition) + 2, kVocab);
    std::mt19937_64 lengths(static_cast<uint64_t>(repetition) + 1);
    Workload workload{.warm = {embedding_of(beginning)}};
    std::vector<Token> query;
    for (int i = 0; i < n_prompts; ++i) {
      if (i % 10 == 0) query = random(shape.n_query);
      std::uniform_int_distribution<int> length(shape.shortest, shape.longest);
      const int n_own = length(lengths) - shape.n_template - shape.n_query;
      workload.timed.push_back(embedding_of(joined(joined(beginning, query), random(n_own))));
    }
    return workload;
  };
}

// Seconds of a part of the requests or less.
double quantile(const Lane& lane, double part) {
  std::vector<double> seconds;
  for (const Sample& sample : lane.samples) seconds.push_back(sample.seconds);
  if (seconds.empty()) return kNotMeasured;
  std::sort(seconds.begin(), seconds.end());
  return seconds[static_cast<size_t>(part * static_cast<double>(seconds.size() - 1) + 0.5)];
}

double mean(const Lane& lane) {
  double sum = 0;
  for (const Sample& sample : lane.samples) sum += sample.seconds;
  return sum / static_cast<double>(lane.samples.size());
}

double token_ratio(const MakeWorkload& make) {
  const Workload workload = make(1);
  return static_cast<double>(distinct_tokens(workload.timed)) /
         static_cast<double>(all_tokens(workload.timed));
}

int prompts_of_a_request(const Lab& lab) { return lab.choose(8, 32, 64); }

int requests_of(const Lab& lab, const PaperModel& model) {
  return is_large(model) ? lab.choose(1, 3, 9) : lab.choose(1, 5, 21);
}

const char* const kRequests =
    "A request is a batch of prompts of random tokens, of the lengths and the sharing of MS MARCO "
    "in the paper's template, all embedded; one is under way at a time. The paper: a server with "
    "32 requests of 64 prompts under way, on an H100.";

void run_table_1(Lab& lab) {
  const MakeWorkload make = reranking(kQueryFirst, prompts_of_a_request(lab));
  Table table{
      .title = fmt::format("RadixMLP table 1: seconds of a request of {} prompts, N'/N {}",
                           prompts_of_a_request(lab), number(token_ratio(make))),
      .columns = {"model", "off, P50", "radix, P50", "tree, P50", "off, mean", "radix, mean",
                  "tree, mean", "radix speed-up", "tree speed-up", "paper: speed-up"},
      .notes = {kRequests}};
  for (const PaperModel& paper : models(lab)) {
    const ModelSpec spec = spec_of(lab, paper);
    const auto model = lab.model(spec);
    const std::vector<Lane> lanes =
        lab.contest({{.name = "off", .sharing = "packed", .model = model},
                     {.name = "radix", .sharing = "radix", .model = model},
                     {.name = "tree", .sharing = "tree", .model = model}},
                    make, requests_of(lab, paper));
    std::vector<std::string> cells = {spec.name()};
    for (const Lane& lane : lanes) cells.push_back(number(lane.seconds()));
    for (const Lane& lane : lanes) cells.push_back(number(mean(lane)));
    for (const size_t i : {1, 2}) cells.push_back(number(mean(lanes[0]) / mean(lanes[i])));
    cells.push_back(number(paper.base_s / paper.radix_s));
    table.add(std::move(cells));
    add_missing(table, spec.name(), lanes);
  }
  lab.show(table);
}

void run_table_3(Lab& lab) {
  Table table{
      .title = fmt::format("RadixMLP table 3: seconds of a request of {} prompts, P50 (P90)",
                           prompts_of_a_request(lab)),
      .columns = {"model", "N'/N", "off", "radix", "prefix_cached", "tree", "radix / prefix_cached",
                  "tree / prefix_cached", "paper: off", "paper: radix", "paper: vLLM",
                  "paper: radix / vLLM"},
      .notes = {kRequests,
                "`prefix_cached` keeps what earlier requests computed, as vLLM does, and shares "
                "single tokens, where vLLM shares blocks of 32. Ratios above 1: faster than "
                "prefix_cached, or vLLM."}};
  for (const PaperModel& paper : models(lab)) {
    const ModelSpec spec = spec_of(lab, paper);
    const auto model = lab.model(spec);
    for (const int which : {0, 1}) {
      const MakeWorkload make =
          reranking(which == 0 ? kQueryFirst : kFlipped, prompts_of_a_request(lab));
      const std::vector<Lane> lanes =
          lab.contest({{.name = "off", .sharing = "packed", .model = model},
                       {.name = "radix", .sharing = "radix", .model = model},
                       {.name = "prefix_cached", .sharing = "prefix_cached", .model = model},
                       {.name = "tree", .sharing = "tree", .model = model}},
                      make, requests_of(lab, paper));
      std::vector<std::string> cells = {spec.name(), number(token_ratio(make))};
      for (const Lane& lane : lanes)
        cells.push_back(
            fmt::format("{} ({})", number(lane.seconds()), number(quantile(lane, 0.9))));
      cells.push_back(number(times_faster(lanes[1], lanes[2])));
      cells.push_back(number(times_faster(lanes[3], lanes[2])));
      for (const double p50 : {paper.base_p50[which], paper.radix_p50[which], paper.vllm_p50[which],
                               paper.vllm_p50[which] / paper.radix_p50[which]})
        cells.push_back(number(p50));
      table.add(std::move(cells));
      add_missing(table, spec.name(), lanes);
    }
  }
  lab.show(table);
}

// Section 5.1.
void run_memory(Lab& lab) {
  const ModelSpec spec{.shape = "qwen3-0.6b",
                       .n_layers = lab.choose(2, 4, 28),
                       .vocab = kVocab,
                       .weights = WeightType::kAsStored};
  const auto model = lab.model(spec);
  const int n_prompts = lab.choose(8, 32, 64);
  const MakeWorkload make = reranking(kQueryFirst, n_prompts);
  Table table{
      .title = fmt::format("RadixMLP section 5.1: memory of embedding {} prompts, {}", n_prompts,
                           spec.name()),
      .columns = {"planner", "keys and values, MB", "resident beside the weights, MB", "seconds"},
      .notes = {"Resident: most at a time, less what was before the engine was opened. "
                "`packed` and `tree` work in passes of 512 rows, `radix` in one pass over "
                "the batch. `tree` and `prefix_cached` keep what they computed, also of the batch "
                "before, as long as there is room. The paper: 17 GB of TEI, which keeps no keys "
                "and values, 79 GB "
                "of vLLM, which takes what there is, for Qwen3-8B."}};
  for (const char* planner : {"packed", "radix", "radix:stateless", "prefix_cached", "tree"}) {
    check(restart_peak_memory());
    const auto before = static_cast<double>(value_of(resident_bytes()));
    const std::vector<Lane> lanes =
        lab.contest({{.name = planner, .sharing = planner, .model = model}}, make, 1);
    const double peak = static_cast<double>(value_of(peak_resident_bytes())) - before;
    if (lanes[0].samples.empty()) {
      add_missing(table, spec.name(), lanes);
      continue;
    }
    const EngineStats& stats = lanes[0].samples[0].stats;
    table.add({planner, number(1e-6 * static_cast<double>(stats.kv_bytes_peak)),
               number(1e-6 * peak), number(lanes[0].seconds())});
  }
  lab.show(table);
}

}  // namespace

std::vector<Benchmark> radixmlp_benchmarks() {
  return {
      {{"radixmlp-table-1", "latency of requests like those of reranking"}, run_table_1},
      {{"radixmlp-table-2", "speed-up of prefill: predicted, radix, tree"}, run_table_2},
      {{"radixmlp-table-3", "the same requests, also with prefix_cached"}, run_table_3},
      {{"radixmlp-figure-2", "speed-up by length of the shared prefix (also table 4)"},
       run_figure_2},
      {{"radixmlp-figure-3", "the same with 1,024 tokens of their own (also table 4)"},
       run_figure_3},
      {{"radixmlp-table-5", "construction of the index maps"}, run_radixmlp_table_5},
      {{"radixmlp-table-6", "copies of rows"}, run_radixmlp_table_6},
      {{"radixmlp-memory", "memory with and without keys and values (section 5.1)"}, run_memory}};
}

}  // namespace pando::bench
