#include "model/share.h"

#include <algorithm>

#include "base/check.h"
#include "base/errors.h"

namespace pando::model {
namespace {

// Outputs that stand one after another, divided by themselves into n_parts. If there are more ranks
// than parts, several ranks have the same part.
struct Piece {
  int n;
  int n_parts;
};

// Of the pieces that a layer's projections and vectors are made of.
class Pieces {
 public:
  Pieces(const ModelConfig& config, Mixer mixer, int n_ranks)
      : config_(config), mixer_(mixer), n_ranks_(n_ranks) {}

  Pieces& add(int n) { return all_.push_back({n, n_ranks_}), *this; }
  // Queries or keys of recurrent layers, or a value for each channel of theirs.
  Pieces& add_keys() {
    const RecurrentConfig& r = config_.recurrent;
    return all_.push_back({r.key_width(), std::min(r.n_key_heads, n_ranks_)}), *this;
  }
  // `each` values for a value head. Those of a rank's key heads may lie apart.
  Pieces& add_heads(int each) {
    const RecurrentConfig& r = config_.recurrent;
    if (!r.heads_interleaved) return add(r.n_heads * each);
    for (int i = 0; i < r.n_heads / r.n_key_heads; ++i) add(r.n_key_heads * each);
    return *this;
  }
  Pieces& add_channels() {
    const int value_dim = config_.recurrent.value_dim;
    switch (mixer_) {
      case Mixer::kAttention:
        break;
      case Mixer::kShortConv:
        return add(config_.d_model);
      case Mixer::kDeltaNet:
        return add_keys().add_keys().add_heads(value_dim);
      case Mixer::kMamba2:
        return add_heads(value_dim).add_keys().add_keys();
    }
    return *this;
  }
  Pieces& add_projection() {
    const int value_dim = config_.recurrent.value_dim;
    switch (mixer_) {
      case Mixer::kAttention:
        if (config_.attention_gate) add(config_.q_dim());
        return add(config_.q_dim()).add(config_.kv_dim()).add(config_.kv_dim());
      case Mixer::kShortConv:
        return add(config_.d_model).add(config_.d_model).add(config_.d_model);
      case Mixer::kDeltaNet:
        return add_channels().add_heads(value_dim).add_heads(1).add_heads(1);
      case Mixer::kMamba2:
        return add_heads(value_dim).add_channels().add_heads(1);
    }
    return *this;
  }

  const std::vector<Piece>& all() const { return all_; }

 private:
  const ModelConfig& config_;
  Mixer mixer_;
  int n_ranks_;
  std::vector<Piece> all_;
};

// Empty: every rank has the whole of it.
std::vector<Piece> pieces_of(const ModelConfig& config, Mixer mixer, const LayerPart& part,
                             int n_rows, int n_ranks) {
  using W = LayerWeights;
  Pieces pieces(config, mixer, n_ranks);
  const auto is = [&](auto member) { return part == LayerPart(member); };
  if (is(&W::qkv) || is(&W::qkv_bias)) {
    pieces.add_projection();
  } else if (is(&W::gate_up)) {
    pieces.add(config.d_ff).add(config.d_ff);
  } else if (is(&W::conv)) {
    for (int tap = 0; tap < config.recurrent.conv_taps; ++tap) pieces.add_channels();
  } else if (is(&W::conv_bias)) {
    pieces.add_channels();
  } else if (is(&W::decay) || is(&W::dt_bias) || is(&W::skip)) {
    pieces.add_heads(1);
  } else if (!std::holds_alternative<std::vector<float> W::*>(part)) {
    pieces.add(n_rows);
  }
  return pieces.all();
}

Status check_heads(const ModelConfig& config, int n_ranks) {
  if (config.n_heads % n_ranks != 0 || config.n_kv_heads % n_ranks != 0)
    return invalid_argument(
        "tp is {}, expected a divisor of the model's {} query heads and {} heads of keys and "
        "values",
        n_ranks, config.n_heads, config.n_kv_heads);
  const RecurrentConfig& r = config.recurrent;
  if (config.has(Mixer::kDeltaNet) && r.n_key_heads % n_ranks != 0)
    return invalid_argument(
        "tp is {}, expected a divisor of the {} key heads of the model's delta-nets", n_ranks,
        r.n_key_heads);
  const bool shares_groups = r.n_key_heads > 0 && n_ranks % r.n_key_heads == 0;
  if (config.has(Mixer::kMamba2) &&
      (r.n_heads % n_ranks != 0 || (r.n_key_heads % n_ranks != 0 && !shares_groups)))
    return invalid_argument(
        "tp is {}, expected a divisor of the {} Mamba2 heads that is also a divisor or a multiple "
        "of their {} groups",
        n_ranks, r.n_heads, r.n_key_heads);
  return {};
}

}  // namespace

std::pair<int, int> part_of(int n, int part, int n_parts) {
  const auto begin = [&](int64_t i) { return static_cast<int>(n * i / n_parts); };
  return {begin(part), begin(part + 1)};
}

std::vector<std::pair<int, int>> parts_of(std::span<const int> sizes, int part, int n_parts) {
  std::vector<std::pair<int, int>> parts;
  int before = 0;
  for (const int size : sizes) {
    const auto [begin, end] = part_of(size, part, n_parts);
    parts.emplace_back(before + begin, before + end);
    before += size;
  }
  return parts;
}

Status check_share(const ModelConfig& config, const Share& share) {
  if (config.n_layers() < share.n_stages)
    return invalid_argument("spp is {}, expected at most the {} layers of the model",
                            share.n_stages, config.n_layers());
  if (share.n_ranks == 1) return {};
  if (Status status = check_heads(config, share.n_ranks); !status) return status;
  if (share.n_ranks > std::min(config.d_model, config.d_ff))
    return invalid_argument("tp is {}, expected at most {}, the width of the model", share.n_ranks,
                            std::min(config.d_model, config.d_ff));
  return {};
}

ModelConfig config_of_share(const ModelConfig& config, const Share& share) {
  ModelConfig own = config;
  const auto [begin, end] = part_of(config.n_layers(), share.stage, share.n_stages);
  own.layers.assign(config.layers.begin() + begin, config.layers.begin() + end);
  own.n_heads /= share.n_ranks;
  own.n_kv_heads /= share.n_ranks;
  const auto width = [&](int n) {
    const auto [first, last] = part_of(n, share.rank, share.n_ranks);
    return last - first;
  };
  own.d_ff = width(config.d_ff);
  RecurrentConfig& recurrent = own.recurrent;
  recurrent.n_heads /= share.n_ranks;
  if (recurrent.n_key_heads > 0)
    recurrent.n_key_heads = std::max(1, recurrent.n_key_heads / share.n_ranks);
  if (config.has(Mixer::kShortConv)) recurrent.short_channels = width(config.d_model);
  return own;
}

std::vector<std::pair<int, int>> rows_of_share(const ModelConfig& config, Mixer mixer,
                                               const LayerPart& part, int n_rows,
                                               const Share& share) {
  const std::vector<Piece> pieces = pieces_of(config, mixer, part, n_rows, share.n_ranks);
  if (share.n_ranks == 1 || pieces.empty()) return {{0, n_rows}};
  std::vector<std::pair<int, int>> ranges;
  int before = 0;
  for (const auto& [n, n_parts] : pieces) {
    const auto [begin, end] = part_of(n, share.rank * n_parts / share.n_ranks, n_parts);
    ranges.emplace_back(before + begin, before + end);
    before += n;
  }
  PANDO_CHECK(before == n_rows);
  return ranges;
}

std::vector<int> mixed_pieces(const ModelConfig& config, Mixer mixer) {
  Pieces pieces(config, mixer, /*n_ranks=*/1);
  switch (mixer) {
    case Mixer::kAttention:
      return {config.q_dim()};
    case Mixer::kShortConv:
      return {config.d_model};
    case Mixer::kDeltaNet:
    case Mixer::kMamba2:
      pieces.add_heads(config.recurrent.value_dim);
  }
  std::vector<int> sizes;
  for (const Piece& piece : pieces.all()) sizes.push_back(piece.n);
  return sizes;
}

}  // namespace pando::model
