// Parts of RadixMLP's benchmarks with files of their own.
#pragma once

#include <string>
#include <vector>

#include "lab/experiment.h"

namespace pando::lab {

constexpr int kRadixMlpVocab = 4096;  // of our models: small, so that layers are what takes memory

// A model of the paper, and what it says of it. Pairs are for N'/N of 0.61 and 0.71.
struct RadixMlpModel {
  const char* shape;
  int n_layers, n_layers_full;                    // of ours; the latter in table 2 with --full
  double base_s, radix_s;                         // table 1, mean
  double predicted, observed;                     // table 2
  double base_p50[2], radix_p50[2], vllm_p50[2];  // table 3
};
// One without figures of the paper where --model is given.
std::vector<RadixMlpModel> radixmlp_models(const Harness& harness);
ModelSpec radixmlp_spec(const RadixMlpModel& model, int n_layers);

Request embedding_request(std::vector<Token> tokens);

// Prompts like those of benchmarks (b) and (c) of 4.1: a template that all have, a query that ten
// have, passages. So many tokens of template and query that N'/N is as published for 64 prompts.
struct RerankingShape {
  int n_template, n_query, shortest, longest;  // tokens; the latter two of a prompt
};
constexpr RerankingShape kQueryFirst = {45, 10, 75, 200};  // (b), 0.61
constexpr RerankingShape kFlipped = {38, 0, 65, 200};      // (c), 0.71: passages come first
MakeWorkload reranking_prompts(const RerankingShape& shape, int n_prompts, int vocab);
// N'/N of what is timed.
double token_ratio(const Workload& workload);

void run_radixmlp_table_1(Harness& harness);  // radixmlp_requests.cc, as the next two
void run_radixmlp_table_3(Harness& harness);
void run_radixmlp_memory(Harness& harness);
void run_radixmlp_table_5(Harness& harness);  // radixmlp_index.cc
void run_radixmlp_table_6(Harness& harness);

}  // namespace pando::lab
