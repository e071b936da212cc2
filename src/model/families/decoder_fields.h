// The fields of a config.json that decoders have in common. A family calls the functions for the
// fields that it has.
#pragma once

#include "base/fields.h"
#include "base/json.h"
#include "model/config.h"
#include "model/rope_config.h"

namespace pando::model {

// What a family allows, and what the transformers library takes where a field is absent.
struct DecoderFields {
  int head_dim = 0;  // 0: hidden_size / num_attention_heads
  // True: an absent num_key_value_heads means num_attention_heads. False: it must be there.
  bool kv_heads_as_heads = false;
  double rms_eps = 1e-6;
  bool attention_bias = false;  // may be true: then queries, keys, values and the output have one
  RopeFields rope = {};
};

// Reads sizes, norms, rotation, embeddings and special tokens. Sets the number of layers. Refuses
// every field that would change the computation in a way that is not supported.
void read_decoder(Fields& fields, const DecoderFields& usual, ModelConfig& config);

// These three read the windows of layers, once read_decoder has set the number of layers. A null
// `sliding_window` means no window. An absent one means `absent` tokens, 0 for no window.
//
// Refuses any window.
void refuse_window(Fields& fields, const ModelConfig& config);
// Gives the window to every layer.
void read_window(Fields& fields, int absent, ModelConfig& config);
// Gives it to the layers that use_sliding_window, max_window_layers and layer_types name.
void read_layer_windows(Fields& fields, int absent, ModelConfig& config);

// Write what read_window and read_layer_windows read.
void write_window(const ModelConfig& config, nlohmann::ordered_json& object);
void write_layer_windows(const ModelConfig& config, nlohmann::ordered_json& object);

}  // namespace pando::model
