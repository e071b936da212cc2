#include "contract/model_spec.h"

#include <algorithm>
#include <cmath>

namespace pando::model {

float RopeConfig::query_factor(uint32_t pos) const {
  if (query_growth == 0.0f) return 1.0f;
  const auto n = static_cast<double>(pos / static_cast<uint32_t>(original_positions));
  return static_cast<float>(1.0 + query_growth * std::log(1.0 + n));
}

double RopeConfig::score_factor() const {
  const double root = 0.1 * score_mscale * std::log(factor) + 1.0;
  return root * root;
}

bool ModelSpec::has(Mixer mixer) const {
  return std::ranges::find(layers, mixer, &LayerConfig::mixer) != layers.end();
}

bool ModelSpec::has(FeedForward kind) const {
  return std::ranges::find(layers, kind, &LayerConfig::feed_forward) != layers.end();
}

int ModelSpec::n_attention_layers() const {
  return static_cast<int>(std::ranges::count(layers, Mixer::kAttention, &LayerConfig::mixer));
}

int ModelSpec::n_recurrent_layers() const {
  return static_cast<int>(std::ranges::count_if(layers, is_recurrent, &LayerConfig::mixer));
}

Heads ModelSpec::heads(int layer) const {
  const LayerConfig& own = layers[layer];
  return {n_heads, own.n_kv_heads > 0 ? own.n_kv_heads : n_kv_heads,
          own.head_dim > 0 ? own.head_dim : head_dim};
}

int ModelSpec::widest_head() const {
  int widest = head_dim;
  for (const LayerConfig& layer : layers) widest = std::max(widest, layer.head_dim);
  return widest;
}

int ModelSpec::conv_channels(Mixer mixer) const {
  switch (mixer) {
    case Mixer::kNone:
    case Mixer::kAttention:
      return 0;
    case Mixer::kShortConv:
      return recurrent.short_channels > 0 ? recurrent.short_channels : d_model;
    case Mixer::kDeltaNet:  // queries, keys, values
    case Mixer::kMamba2:    // x, B, C
      return 2 * recurrent.key_width() + recurrent.value_width();
  }
  return 0;
}

}  // namespace pando::model
