// RadixMLP's tables 1 and 3, and its memory: batches of prompts like those of reranking.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/tokens.h"
#include "lab/papers/own_process.h"
#include "lab/papers/process_memory.h"
#include "lab/papers/radixmlp.h"

namespace pando::lab {
namespace {

double mean(const Lane& lane) {
  double sum = 0;
  for (const Sample& sample : lane.samples) sum += sample.seconds;
  return sum / static_cast<double>(lane.samples.size());
}

int prompts_of_a_request(const Harness& harness) { return harness.choose(8, 12, 32); }

// As many as any row has, but with --full, where they are the samples of a distribution.
int requests_of(const Harness& harness, const RadixMlpModel& model) {
  const bool is_large = model.n_layers_full < 4;
  return harness.full() ? is_large ? 5 : 9 : 0;
}

const char* const kRequests =
    "A request is a batch of prompts of random tokens, of the lengths and the sharing of MS MARCO "
    "in the paper's template, all embedded; one is under way at a time. The paper: a server with "
    "32 requests of 64 prompts under way, on an H100.";

}  // namespace

std::vector<RadixMlpModel> radixmlp_models(const Harness& harness) {
  static constexpr RadixMlpModel kSmall = {
      "qwen3-0.6b", 1, 4, 0.78, 0.54, 2.68, 2.74, {0.78, 0.70}, {0.55, 0.57}, {0.71, 0.71}};
  static constexpr RadixMlpModel kMiddle = {
      "qwen3-4b", 1, 2, 3.75, 2.41, 4.14, 4.14, {3.65, 3.33}, {2.39, 2.52}, {2.22, 2.44}};
  static constexpr RadixMlpModel kLarge = {
      "qwen3-8b", 1, 2, 5.96, 3.75, 4.82, 4.98, {5.75, 5.23}, {3.66, 3.88}, {3.40, 3.77}};
  constexpr double kX = kNotMeasured;
  static constexpr RadixMlpModel kGiven = {"", 0, 4, kX, kX, kX, kX, {kX, kX}, {kX, kX}, {kX, kX}};
  if (!harness.settings().model.empty()) return {kGiven};
  return harness.choose<std::vector<RadixMlpModel>>({kSmall}, {kSmall, kLarge},
                                                    {kSmall, kMiddle, kLarge});
}

ModelSpec radixmlp_spec(const RadixMlpModel& model, int n_layers) {
  return {.shape = model.shape,
          .n_layers = n_layers,
          .vocab = kRadixMlpVocab,
          .weights = WeightType::kAsStored};
}

Request embedding_request(std::vector<Token> tokens) {
  Request request = request_of(std::move(tokens), 1);
  request.pooling = Pooling::kLast;
  return request;
}

MakeWorkload reranking_prompts(const RerankingShape& shape, int n_prompts, int vocab) {
  return [=](int repetition) {
    const std::vector<Token> beginning = RandomTokens(1, vocab)(shape.n_template);
    RandomTokens random(static_cast<uint64_t>(repetition) + 2, vocab);
    std::mt19937_64 lengths(static_cast<uint64_t>(repetition) + 1);
    Workload workload{.warm = {embedding_request(beginning)}};
    std::vector<Token> query;
    for (int i = 0; i < n_prompts; ++i) {
      if (i % 10 == 0) query = random(shape.n_query);
      std::uniform_int_distribution<int> length(shape.shortest, shape.longest);
      const int n_own = length(lengths) - shape.n_template - shape.n_query;
      workload.timed.push_back(embedding_request(joined(joined(beginning, query), random(n_own))));
    }
    return workload;
  };
}

double token_ratio(const Workload& workload) {
  return static_cast<double>(distinct_tokens(workload.timed)) /
         static_cast<double>(all_tokens(workload.timed));
}

void run_radixmlp_table_1(Harness& harness) {
  const int n_prompts = prompts_of_a_request(harness);
  Table table{
      .title = fmt::format("RadixMLP table 1: seconds of a request of {} prompts", n_prompts),
      .columns = {"model", "N'/N", "off, P50", "radix, P50", "tree, P50", "off, mean",
                  "radix, mean", "tree, mean", "radix speed-up", "tree speed-up",
                  "paper: speed-up"},
      .notes = {kRequests}};
  for (const RadixMlpModel& paper : radixmlp_models(harness)) {
    const ModelSpec spec = radixmlp_spec(paper, paper.n_layers);
    const auto model = harness.model(spec);
    const MakeWorkload make = reranking_prompts(kQueryFirst, n_prompts, model->info().vocab);
    const std::vector<Lane> lanes =
        harness.contest({{.name = "off", .sharing = "packed", .model = model},
                         {.name = "radix", .sharing = "radix", .model = model},
                         {.name = "tree", .sharing = "tree", .model = model}},
                        make, requests_of(harness, paper));
    std::vector<std::string> cells = {harness.name(spec), number(token_ratio(make(1)))};
    for (const Lane& lane : lanes) cells.push_back(number(lane.seconds()));
    for (const Lane& lane : lanes) cells.push_back(number(mean(lane)));
    for (const size_t i : {1, 2}) cells.push_back(number(mean(lanes[0]) / mean(lanes[i])));
    cells.push_back(number(paper.base_s / paper.radix_s));
    table.add(std::move(cells));
    note_missing(table, harness.name(spec), lanes);
  }
  harness.show(table, {.columns = {"radix speed-up", "tree speed-up"}});
}

void run_radixmlp_table_3(Harness& harness) {
  Table table{
      .title = fmt::format("RadixMLP table 3: seconds of a request of {} prompts, P50 (P90)",
                           prompts_of_a_request(harness)),
      .columns = {"model", "N'/N", "off", "radix", "prefix_cached", "tree", "radix / prefix_cached",
                  "tree / prefix_cached", "paper: off", "paper: radix", "paper: vLLM",
                  "paper: radix / vLLM"},
      .notes = {kRequests,
                "`prefix_cached` keeps what earlier requests computed, as vLLM does, and shares "
                "single tokens, where vLLM shares blocks of 32. Ratios above 1: faster than "
                "prefix_cached, or vLLM."}};
  for (const RadixMlpModel& paper : radixmlp_models(harness)) {
    const ModelSpec spec = radixmlp_spec(paper, paper.n_layers);
    const auto model = harness.model(spec);
    for (const int which : {0, 1}) {
      const MakeWorkload make = reranking_prompts(
          which == 0 ? kQueryFirst : kFlipped, prompts_of_a_request(harness), model->info().vocab);
      const std::vector<Lane> lanes =
          harness.contest({{.name = "off", .sharing = "packed", .model = model},
                           {.name = "radix", .sharing = "radix", .model = model},
                           {.name = "prefix_cached", .sharing = "prefix_cached", .model = model},
                           {.name = "tree", .sharing = "tree", .model = model}},
                          make, requests_of(harness, paper));
      std::vector<std::string> cells = {harness.name(spec), number(token_ratio(make(1)))};
      for (const Lane& lane : lanes)
        cells.push_back(fmt::format("{} ({})", number(lane.seconds()),
                                    number(quantile(lane.all_seconds(), 0.9))));
      cells.push_back(number(times_faster(lanes[1], lanes[2])));
      cells.push_back(number(times_faster(lanes[3], lanes[2])));
      for (const double p50 : {paper.base_p50[which], paper.radix_p50[which], paper.vllm_p50[which],
                               paper.vllm_p50[which] / paper.radix_p50[which]})
        cells.push_back(number(p50));
      table.add(std::move(cells));
      note_missing(table, harness.name(spec), lanes);
      if (which == 0)
        table.notes.push_back(fmt::format("P50 and P90 of {} are those of {} requests.",
                                          harness.name(spec), lanes[0].samples.size()));
    }
  }
  harness.show(table, {.n_names = 2, .columns = {"off", "radix", "prefix_cached", "tree"}});
}

// Sections 4.4 and 5.1.
void run_radixmlp_memory(Harness& harness) {
  const ModelSpec spec{.shape = "qwen3-0.6b",
                       .n_layers = 4,  // stateless keeps one of them
                       .vocab = kRadixMlpVocab,
                       .weights = WeightType::kAsStored};
  const auto model = harness.model(spec);
  const int n_prompts = harness.choose(8, 32, 64);
  const MakeWorkload make = reranking_prompts(kQueryFirst, n_prompts, model->info().vocab);
  Table table{
      .title = fmt::format("RadixMLP, sections 4.4 and 5.1: memory of embedding {} prompts, {}",
                           n_prompts, harness.name(spec)),
      .columns = {"planner", "keys and values, MB", "resident beside the weights, MB", "seconds"},
      .notes = {"Resident: most at a time in a second run of all repetitions, less what the first "
                "left, each planner in a process of its own. "
                "`packed` and `tree` work in passes of --step-rows, `radix` in one pass over the "
                "batch. `tree` and `prefix_cached` keep what they computed, also of the batch "
                "before, as long as there is room. The paper: 17 GB of TEI, which keeps no keys "
                "and values, 79 GB of vLLM, which takes what there is, for Qwen3-8B."}};
  for (const char* planner : {"packed", "radix", "radix:stateless", "prefix_cached", "tree"}) {
    const nlohmann::json measured = in_own_process([&]() -> nlohmann::json {
      std::vector<Lane> lanes;
      const auto peak = static_cast<double>(value_of(peak_memory_of([&] {
        lanes = harness.contest({{.name = planner, .sharing = planner, .model = model}}, make);
      })));
      Table own;
      note_missing(own, harness.name(spec), lanes);
      if (!lanes[0].samples.empty())
        own.add({planner,
                 number(1e-6 * static_cast<double>(lanes[0].median_sample().stats.kv_bytes_peak)),
                 number(1e-6 * peak), number(lanes[0].seconds())});
      return {{"rows", own.rows}, {"notes", own.notes}};
    });
    for (const auto& row : measured.at("rows")) table.add(row);
    for (const auto& note : measured.at("notes")) table.notes.push_back(note);
  }
  harness.show(table, {.columns = {"resident beside the weights, MB"}});
}

}  // namespace pando::lab
