// Reranking of TREC's passage queries by a prompt for each candidate.
#include "pando/rerank.h"

#include <fmt/format.h>

#include "bench/tokens.h"
#include "lab/data/data_sets.h"
#include "lab/data/file_names.h"
#include "lab/data/prompts.h"
#include "lab/papers/papers.h"

namespace pando::lab {
namespace {

void run_reranking(Harness& harness) {
  const ModelSpec spec{.shape = "qwen3-0.6b", .n_layers = harness.choose(1, 1, 2), .vocab = 32000};
  const auto model = harness.model(spec);
  const TextTokens tokens(harness, model->info().vocab);
  const size_t n_passages = harness.choose<size_t>(8, 100, 100);
  const size_t n_queries = harness.choose<size_t>(1, 2, 6);  // asked at once
  Table table{
      .title = fmt::format("{} queries of TREC Deep Learning with {} candidates each, {}",
                           n_queries, n_passages, harness.name(spec)),
      .columns = {"year", "planner", "seconds", "pairs a second", "tokens computed", "token ratio",
                  "time ratio", "time / token ratio"},
      .notes = {
          "Prompts of Qwen3-Reranker's form, in tokens of Qwen2.5; each is asked for one "
          "token. Ratios: packed over this. The goal for tree: time ratio >= 0.9 of the token "
          "ratio."}};
  for (const int year : {19, 20}) {
    const std::vector<TrecQuery> queries = trec_queries(harness, year);
    std::vector<Contestant> contestants;
    for (const char* name : {"packed", "tree", "radix", "prefix_cached"})
      contestants.push_back({.name = name, .sharing = name, .model = model});
    const std::vector<Lane> lanes = harness.contest(contestants, [&](int repetition) {
      std::vector<std::vector<Token>> prompts;
      const auto seed = static_cast<uint64_t>(repetition) + 1;
      for (const TrecQuery& query : sample_of(queries, n_queries, seed))
        for (size_t i = 0; i < std::min(n_passages, query.passages.size()); ++i)
          prompts.push_back(tokens(rerank_prompt({}, query.query, query.passages[i])));
      return Workload{.timed = first_tokens(prompts, repetition)};
    });
    note_missing(table, fmt::format("20{}", year), lanes);
    for (const Lane& lane : lanes) {
      const PairedRatios ratios = paired_ratios(lane, lanes[0]);
      table.add({fmt::format("20{}", year), lane.name, number(lane.seconds()),
                 number(lane.requests_per_second()), number(mean_computed_tokens(lane)),
                 number(ratios.tokens), number(ratios.time), number(ratios.time_by_tokens)});
    }
  }
  harness.show(table, {.n_names = 2, .columns = {"token ratio", "time ratio"}});
}

}  // namespace

std::vector<Benchmark> rerank_benchmarks() {
  return {{{"reranking",
            "candidates of TREC queries, each with a prompt",
            {.model = true, .files = {kQwenTokenizer, kTrec19, kTrec20}}},
           run_reranking}};
}

}  // namespace pando::lab
