#include "model/share.h"

#include <algorithm>

#include "base/errors.h"

namespace pando::model {

std::pair<int, int> part_of(int n, int part, int n_parts) {
  const auto begin = [&](int64_t i) { return static_cast<int>(n * i / n_parts); };
  return {begin(part), begin(part + 1)};
}

Status check_share(const ModelConfig& config, const Share& share) {
  if (config.n_layers() < share.n_stages)
    return invalid_argument("spp is {}, expected at most the {} layers of the model",
                            share.n_stages, config.n_layers());
  if (share.n_ranks == 1) return {};
  if (config.n_heads % share.n_ranks != 0 || config.n_kv_heads % share.n_ranks != 0)
    return invalid_argument(
        "tp is {}, expected a divisor of the model's {} query heads and {} heads of keys and "
        "values",
        share.n_ranks, config.n_heads, config.n_kv_heads);
  if (share.n_ranks > std::min(config.d_model, config.d_ff))
    return invalid_argument("tp is {}, expected at most the model's width", share.n_ranks);
  if (config.n_recurrent_layers() > 0)
    return unsupported("tp is {}, expected 1 for models with recurrent layers, such as {}",
                       share.n_ranks, config.family->name);
  if (config.qk_norm == QkNorm::kFullWidth)
    return unsupported("tp is {}, expected 1 for {}, whose norms of queries are over all heads",
                       share.n_ranks, config.family->name);
  return {};
}

ModelConfig config_of_share(const ModelConfig& config, const Share& share) {
  ModelConfig own = config;
  const auto [begin, end] = part_of(config.n_layers(), share.stage, share.n_stages);
  own.layers.assign(config.layers.begin() + begin, config.layers.begin() + end);
  own.n_heads /= share.n_ranks;
  own.n_kv_heads /= share.n_ranks;
  const auto [first, last] = part_of(config.d_ff, share.rank, share.n_ranks);
  own.d_ff = last - first;
  return own;
}

std::vector<std::pair<int, int>> rows_of_share(const ModelConfig& config, const LayerPart& part,
                                               int n_rows, const Share& share) {
  std::vector<int> sizes = {n_rows};  // of what is divided by itself
  const bool is_vector = std::holds_alternative<std::vector<float> LayerWeights::*>(part);
  if (part == LayerPart(&LayerWeights::qkv) || part == LayerPart(&LayerWeights::qkv_bias)) {
    sizes = {config.q_dim(), config.kv_dim(), config.kv_dim()};
    if (config.attention_gate) sizes.insert(sizes.begin(), config.q_dim());
  } else if (part == LayerPart(&LayerWeights::gate_up)) {
    sizes = {config.d_ff, config.d_ff};
  } else if (is_vector) {
    return {{0, n_rows}};
  }
  if (share.n_ranks == 1) return {{0, n_rows}};
  std::vector<std::pair<int, int>> ranges;
  int before = 0;
  for (const int size : sizes) {
    const auto [begin, end] = part_of(size, share.rank, share.n_ranks);
    ranges.emplace_back(before + begin, before + end);
    before += size;
  }
  return ranges;
}

}  // namespace pando::model
