// Tables and figures of "Hydragen: High-Throughput LLM Inference with Shared Prefixes".
#include "lab/papers/hydragen.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "api/model_access.h"
#include "bench/cpu/kernel_rates.h"
#include "lab/papers/papers.h"

namespace pando::lab {
namespace {

std::vector<Lane> decode(Harness& harness, const ModelSpec& spec, int prefix, int batch,
                         int n_tokens) {
  const auto model = harness.model(spec);
  std::vector<Contestant> contestants;
  for (const char* name : {"tree", "hydragen", "prefix_cached", "no_attention"})
    contestants.push_back({.name = name, .sharing = name, .model = model, .max_running = batch});
  return harness.contest(
      contestants, shared_prompts(decodes_behind(prefix, batch, n_tokens), model->info().vocab));
}

// Holds what was measured at one setting.
struct Point {
  int prefix, batch;
  std::vector<Lane> lanes;
};

// Thousands of tokens a second in a table of the paper, CodeLlama-7B.
constexpr int kPaperPrefixes[] = {1024, 2048, 4096, 8192, 16256};
struct PaperRow {
  int batch;
  double hydragen[5], vllm[5];  // by prefix; vLLM without tokenisation
  double ceiling;
};
struct PaperTable {
  const char* name;
  PaperRow rows[4];
};
constexpr PaperTable kPaperTables[] = {
    {"table 1, 128 tokens",
     {{32, {2.7, 2.7, 2.6, 2.6, 2.5}, {1.7, 1.8, 1.7, 0.6, 0.4}, 3.1},
      {64, {5.0, 4.9, 4.9, 4.8, 4.6}, {3.5, 3.5, 2.9, 0.7, 0.4}, 5.7},
      {128, {8.6, 8.5, 8.4, 8.3, 8.0}, {6.1, 5.5, 3.2, 0.8, 0.4}, 10.3},
      {256, {13.3, 13.3, 13.1, 12.8, 12.3}, {8.9, 5.6, 3.1, 0.8, 0.4}, 15.8}}},
    {"table 2, 256 tokens",
     {{32, {2.6, 2.6, 2.6, 2.5, 2.4}, {1.7, 1.8, 1.7, 0.6, 0.4}, 3.1},
      {64, {4.8, 4.8, 4.8, 4.7, 4.5}, {3.4, 3.3, 2.7, 0.7, 0.4}, 5.7},
      {128, {8.2, 8.2, 8.1, 7.9, 7.7}, {6.3, 5.0, 2.9, 0.8, 0.4}, 10.2},
      {256, {12.7, 12.6, 12.5, 12.2, 11.8}, {8.8, 5.5, 3.1, 0.8, 0.4}, 15.7}}},
};

// Both ratios of a table of the paper at a setting.
std::vector<std::string> paper_cells(const PaperTable& paper, int prefix, int batch) {
  const auto at = std::ranges::find(kPaperPrefixes, prefix) - std::begin(kPaperPrefixes);
  const auto row = std::ranges::find(paper.rows, batch, &PaperRow::batch);
  if (at == std::ssize(kPaperPrefixes) || row == std::end(paper.rows))
    return {number(kNotMeasured), number(kNotMeasured)};
  return {number(row->hydragen[at] / row->vllm[at]), number(row->hydragen[at] / row->ceiling)};
}

struct Grid {
  std::string title;
  std::vector<int> prefixes, batches;
  std::string x_label;  // of a chart over what there are several of; empty: none
  std::string note;
  std::span<const PaperTable> paper = {};  // whose ratios stand beside ours
};

// A row for each setting: tokens/s of every contestant, and the tree's share of the ceiling.
std::vector<Point> show(Harness& harness, const ModelSpec& spec, const Grid& grid) {
  const int n_tokens = harness.choose(2, 3, 4);
  Table table{
      .title = fmt::format("{}, {}, {} tokens an answer, tokens per second", grid.title,
                           harness.name(spec), n_tokens),
      .columns = {"prefix", "batch", "tree", "hydragen", "prefix_cached", "no_attention (wrong)",
                  "tree / hydragen", "tree / prefix_cached", "tree / ceiling", "attention %"},
      .notes = {grid.note}};
  for (const PaperTable& its : grid.paper) {
    table.columns.push_back(fmt::format("the paper's {}: Hydragen / vLLM", its.name));
    table.columns.push_back(fmt::format("the paper's {}: Hydragen / ceiling", its.name));
  }
  Chart chart{.title = table.title,
              .x_label = grid.x_label,
              .y_label = "tokens per second",
              .log_x = true,
              .log_y = true};
  const bool by_batch = grid.batches.size() > 1;
  std::vector<Point> points;
  for (const int prefix : grid.prefixes) {
    for (const int batch : grid.batches) {
      std::vector<Lane> lanes = decode(harness, spec, prefix, batch, n_tokens);
      note_missing(table, fmt::format("prefix {}, batch {}", prefix, batch), lanes);
      std::vector<std::string> cells = {std::to_string(prefix), std::to_string(batch)};
      for (size_t i = 0; i < lanes.size(); ++i) {
        const double rate = batch * n_tokens / lanes[i].seconds();
        cells.push_back(number(rate));
        if (grid.x_label.empty()) continue;
        if (chart.series.size() <= i) chart.series.push_back({table.columns[2 + i], {}});
        chart.series[i].points.emplace_back(by_batch ? batch : prefix, rate);
      }
      for (size_t i = 1; i < lanes.size(); ++i)
        cells.push_back(number(times_faster(lanes[0], lanes[i])));
      cells.push_back(
          number(100 * lanes[0].seconds_of(&EngineStats::attention_s) / lanes[0].seconds()));
      for (const PaperTable& its : grid.paper)
        for (std::string& cell : paper_cells(its, prefix, batch)) cells.push_back(std::move(cell));
      table.add(std::move(cells));
      points.push_back({prefix, batch, std::move(lanes)});
    }
  }
  if (grid.x_label.empty()) {
    harness.show(table, {.n_names = 2, .columns = {"tree", "hydragen", "prefix_cached"}});
  } else {
    harness.show(table);
    harness.show(chart);
  }
  return points;
}

// The tree's shares beside what the rates of single kernels allow.
void show_allowed(Harness& harness, const ModelSpec& spec, const std::vector<Point>& points) {
  const auto model = harness.model(spec);
  const model::ModelSpec& config = spec_of(*model);
  // The rates are those of dense layers that are all alike.
  if (config.has(model::FeedForward::kExperts) || config.has(model::FeedForward::kNone)) return;
  MachineRates rates{};
  Table table{
      .title =
          "The tree's share of the ceiling, and its ratio over prefix_cached, as measured and "
          "as the rates of single kernels allow",
      .columns = {"prefix", "batch", "products, GFLOP/s", "attention, GFLOP/s",
                  "attention of each by itself, GB/s", "share of ceiling", "allowed",
                  "share / allowed", "times prefix_cached", "predicted", "times / predicted"},
      .notes = {"Allowed: the time of the products beside that of products and attention, at the "
                "rates of `gemm` and `attention` measured in this run. Predicted: the same with "
                "attention as prefix_cached has it, where every sequence reads the prefix for "
                "itself, at the rate at which the kernel alone does that over as long a prefix."}};
  double products_s = 0;
  int batch = 0;
  for (const Point& point : points) {
    if (point.batch != batch) products_s = product_seconds(harness, *model, batch = point.batch);
    rates.shared_attention =
        attention_rate(harness, batch * config.n_heads / config.n_kv_heads, point.prefix,
                       config.head_dim, config.n_kv_heads, KvType::kF16);
    rates.own_reads = own_read_rate(harness, {.batch = batch,
                                              .prefix = point.prefix,
                                              .n_heads = config.n_heads,
                                              .n_kv_heads = config.n_kv_heads,
                                              .head_dim = config.head_dim});
    const StepParts parts = step_parts(config, point.prefix, batch, 2, products_s, rates);
    const double share = times_faster(point.lanes[0], point.lanes[3]);
    const double times = times_faster(point.lanes[0], point.lanes[2]);
    const double multiplied =
        2.0 * batch *
        (static_cast<double>(model->info().n_parameters) -
         (config.tied_embeddings ? 0.0 : static_cast<double>(config.vocab) * config.d_model));
    table.add({std::to_string(point.prefix), std::to_string(batch),
               number(1e-9 * multiplied / products_s), number(1e-9 * rates.shared_attention),
               number(1e-9 * rates.own_reads), number(share), number(parts.share_of_ceiling()),
               number(share / parts.share_of_ceiling()), number(times), number(parts.times_own()),
               number(times / parts.times_own())});
  }
  harness.show(table);
}

void run_hydragen_figure_3(Harness& harness) {
  const ModelSpec spec = llama_spec("codellama-13b", harness.choose(1, 1, 2));
  const std::string paper = "The paper: CodeLlama-13b, 8 A100, 128 tokens an answer; ";
  show(harness, spec,
       {.title = "Figure 3 (a)",
        .prefixes = {harness.choose(128, 1024, 2048)},
        .batches = harness.choose<std::vector<int>>({4, 8}, {8, 128}, {16, 256}),
        .x_label = "batch",
        .note = paper + "a prefix of 2,048. There Hydragen stays within 50% of the ceiling at all "
                        "batches."});
  const std::vector<Point> points = show(
      harness, spec,
      {.title = "Figure 3 (b)",
       .prefixes = harness.choose<std::vector<int>>({64, 128}, {1024, 2048}, {1024, 4096, 16256}),
       .batches = {harness.choose(8, 256, 256)},
       .x_label = "tokens of the prefix",
       .note = paper + "batch 1,024. There Hydragen stays within 70% of the ceiling up to 16K "
                       "tokens, at up to 32 times the best baseline."});
  show_allowed(harness, spec, points);
}

void run_tables_1_2(Harness& harness) {
  ModelSpec spec = llama_spec("llama-2-7b", harness.choose(1, 1, 2));
  if (harness.full()) spec.context = 16384;  // CodeLlama's, where Llama 2 has 4,096
  show(harness, spec,
       {.title = "Tables 1 and 2",
        .prefixes = harness.choose<std::vector<int>>(
            {64, 128}, {1024, 2048}, {std::begin(kPaperPrefixes), std::end(kPaperPrefixes)}),
        .batches = harness.choose<std::vector<int>>({4, 8}, {32, 64}, {32, 64, 128, 256}),
        .note = "The paper: CodeLlama-7B (the shape of Llama 2 7B), 8 A100; vLLM without "
                "detokenisation (its \"No Tokenization\"), which reads the prefix once for each "
                "sequence. At batch 1,024 and 16,256 tokens of prefix (table 1; 16,128 in table 2) "
                "Hydragen has 22.4 thousand tokens/s, vLLM 0.4, the ceiling 30.1.",
        .paper = kPaperTables});
}

}  // namespace

ModelSpec llama_spec(const char* shape, int n_layers) {
  return {
      .shape = shape, .n_layers = n_layers, .weights = WeightType::kAsStored, .all_rows = false};
}

SharedPrompts decodes_behind(int prefix, int batch, int n_tokens) {
  return {.n_prompts = batch,
          .n_shared = prefix,
          .n_own = 1,
          .n_answer = n_tokens,
          .is_warm = true,
          .is_kept = true};
}

std::vector<Benchmark> hydragen_benchmarks() {
  return {{{"hydragen-figure-3",
            "decoding over a shared prefix, by batch and by prefix",
            {.model = true}},
           run_hydragen_figure_3},
          {{"hydragen-figure-4", "the attention operators alone, by batch, prefix and suffix"},
           run_hydragen_figure_4},
          {{"hydragen-tables-1-2", "decoding over a shared prefix, as a grid", {.model = true}},
           run_tables_1_2}};
}

}  // namespace pando::lab
