// The fields of a config.json that decoders have in common. A family calls the functions for the
// fields that it has.
#pragma once

#include "base/fields.h"
#include "base/json.h"
#include "model/config.h"
#include "model/config_ranges.h"
#include "model/rope_config.h"

namespace pando::model {

// What a family allows, and what the transformers library takes where a field is absent.
struct DecoderFields {
  int n_layers = 0;  // 0: num_hidden_layers, which is then required
  int head_dim = 0;  // 0: hidden_size / num_attention_heads
  // True: an absent num_key_value_heads means num_attention_heads. False: it must be there.
  bool kv_heads_as_heads = false;
  double rms_eps = 1e-6;
  const char* rms_eps_name = "rms_norm_eps";
  const char* d_ff_name = "intermediate_size";
  WholeRange d_ff_sizes = kFeedForwardSizes;
  const char* activation = "silu";
  const char* older_activation = nullptr;  // another name of it in `hidden_act`; null: none
  bool tied = false;                       // where the file does not say it
  bool attention_bias = false;  // may be true: then queries, keys, values and the output have one
  RopeFields rope = {};
};

// Reads sizes, norms, rotation, embeddings and special tokens. Sets the number of layers. Refuses
// every field that would change the computation in a way that is not supported.
void read_decoder(Fields& fields, const DecoderFields& usual, ModelConfig& config);

}  // namespace pando::model
