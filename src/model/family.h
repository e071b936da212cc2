// The architectures that are known, and in what they differ.
#pragma once

#include <span>
#include <string_view>

namespace pando::model {

enum class Family { kLlama, kMistral, kQwen2, kQwen3, kPhi3, kOlmo2 };

// RMSNorm of queries and keys, before the rotation: of each head, or of all heads together.
enum class QkNorm { kNone, kPerHead, kFullWidth };

// How a config.json speaks of a sliding window.
enum class WindowFields {
  kNone,     // a window is refused
  kAlways,   // sliding_window: every layer has it
  kByLayer,  // use_sliding_window, sliding_window, max_window_layers, layer_types
};

// What an architecture fixes. Everything else is read from its config.json.
struct FamilyTraits {
  Family family;
  const char* name;          // model_type of config.json
  const char* architecture;  // its class in the transformers library
  QkNorm qk_norm = QkNorm::kNone;
  bool post_norm = false;          // norms behind attention and feed-forward, none before them
  bool qkv_bias = false;           // queries, keys and values have a bias
  bool optional_bias = false;      // attention_bias gives one to these and to the output projection
  bool fused_projections = false;  // the checkpoint holds qkv_proj and gate_up_proj
  bool partial_rotary = false;     // partial_rotary_factor may leave channels unrotated
  WindowFields window = WindowFields::kNone;
  // What the transformers library takes where a field is absent; 0: required.
  int head_dim = 0;                // else hidden_size / num_attention_heads
  int sliding_window = 0;          // where there is one
  bool kv_heads_as_heads = false;  // num_key_value_heads is num_attention_heads
  double rms_eps = 1e-6;
};

std::span<const FamilyTraits> families();
const FamilyTraits& traits_of(Family family);
inline const char* family_name(Family family) { return traits_of(family).name; }

}  // namespace pando::model
