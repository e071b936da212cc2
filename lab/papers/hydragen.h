// Parts of Hydragen's benchmarks with files of their own.
#pragma once

#include "bench/tokens.h"
#include "contract/model_spec.h"
#include "lab/experiment.h"

namespace pando::lab {

void run_hydragen_figure_4(Harness& harness);

// A Llama in bf16 with so many of its layers.
ModelSpec llama_spec(const char* shape, int n_layers);
// `batch` answers of n_tokens behind a prefix that is there already, each after a token of its own:
// decoding alone, as in appendix D.1.
SharedPrompts decodes_behind(int prefix, int batch, int n_tokens);

// Seconds of a decoding step of `batch` rows over a prefix, which parts with known rates add up to.
struct StepParts {
  double products;
  double shared_attention;  // every key meets all rows at once
  double own_attention;     // every sequence reads the prefix for itself
  double share_of_ceiling() const { return products / (products + shared_attention); }
  double times_own() const { return (products + own_attention) / (products + shared_attention); }
};

// The parts are computed from these: a second on the clock, all threads.
struct MachineRates {
  double shared_attention;  // operations of rows that meet keys together
  double own_reads;         // bytes of rows that meet the same keys one after another
};

// Operations of all attention of a step against the prefix, by its layers.
double attention_operations(const model::ModelSpec& config, int prefix, int batch);
// Products are given: of all layers and of the LM head.
StepParts step_parts(const model::ModelSpec& config, int prefix, int batch, int kv_element_bytes,
                     double products_s, const MachineRates& rates);
// At the measured rate of each matrix.
double product_seconds(const Harness& harness, const Model& model, int batch);

}  // namespace pando::lab
