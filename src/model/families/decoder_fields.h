// The fields of a config.json that decoders have in common; a family calls what it has.
#pragma once

#include "base/json.h"
#include "model/config.h"
#include "model/rope_config.h"

namespace pando::model {

// What a family allows, and what the transformers library takes where a field is absent.
struct DecoderFields {
  int head_dim = 0;  // 0: hidden_size / num_attention_heads
  bool kv_heads_as_heads =
      false;  // num_key_value_heads is num_attention_heads; else it must be there
  double rms_eps = 1e-6;
  bool attention_bias = false;  // may be true: queries, keys, values and the output have one
  RopeFields rope = {};
};

// Sizes, norms, rotation, embeddings and special tokens. Sets the number of layers, and refuses
// everything that would change the computation and is not offered.
void read_decoder(FieldReader& fields, const DecoderFields& usual, ModelConfig& config);

// Windows of layers, once their number is read. Null is none; where `sliding_window` is absent it
// is `absent` tokens, 0 for none.
void refuse_window(FieldReader& fields, const ModelConfig& config);
// Every layer has it.
void read_window(FieldReader& fields, int absent, ModelConfig& config);
// As use_sliding_window, max_window_layers and layer_types say.
void read_layer_windows(FieldReader& fields, int absent, ModelConfig& config);

// What the two read.
void write_window(const ModelConfig& config, nlohmann::ordered_json& object);
void write_layer_windows(const ModelConfig& config, nlohmann::ordered_json& object);

}  // namespace pando::model
