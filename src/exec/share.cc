#include "exec/share.h"

#include <algorithm>

#include "base/check.h"
#include "base/errors.h"
#include "exec/cut_layers.h"

namespace pando::exec {
namespace {

using namespace model;

// Outputs that stand one after another, divided by themselves into n_parts. If there are more ranks
// than parts, several ranks have the same part.
struct Piece {
  int n;
  int n_parts;
};

// Pieces that the projections and vectors of a layer consist of.
class Pieces {
 public:
  Pieces(const ModelSpec& spec, int layer, int n_ranks)
      : spec_(spec), layer_(spec.layers[layer]), heads_(spec.heads(layer)), n_ranks_(n_ranks) {}

  Pieces& add(int n) { return all_.push_back({n, n_ranks_}), *this; }
  Pieces& add_undivided(int n) { return all_.push_back({n, 1}), *this; }
  // Adds heads of keys and values, n values in all.
  Pieces& add_kv_heads(int n) {
    return all_.push_back({n, std::min(heads_.n_kv, n_ranks_)}), *this;
  }
  // Queries or keys of recurrent layers, or a value for each channel of theirs.
  Pieces& add_keys() {
    const RecurrentConfig& r = spec_.recurrent;
    return all_.push_back({r.key_width(), std::min(r.n_key_heads, n_ranks_)}), *this;
  }
  // Adds `each` values for each value head. The value heads of a rank's key heads may lie apart.
  Pieces& add_heads(int each) {
    const RecurrentConfig& r = spec_.recurrent;
    if (!r.heads_interleaved) return add(r.n_heads * each);
    for (int i = 0; i < r.n_heads / r.n_key_heads; ++i) add(r.n_key_heads * each);
    return *this;
  }
  Pieces& add_channels() {
    const int value_dim = spec_.recurrent.value_dim;
    switch (layer_.mixer) {
      case Mixer::kNone:
      case Mixer::kAttention:
        break;
      case Mixer::kShortConv:
        return add(spec_.d_model);
      case Mixer::kDeltaNet:
        return add_keys().add_keys().add_heads(value_dim);
      case Mixer::kMamba2:
        return add_heads(value_dim).add_keys().add_keys();
    }
    return *this;
  }
  Pieces& add_projection() {
    const int value_dim = spec_.recurrent.value_dim;
    switch (layer_.mixer) {
      case Mixer::kNone:
        break;
      case Mixer::kAttention:
        if (spec_.has_latent()) return add_latent_projection();
        if (spec_.attention_gate) add(heads_.q_dim());
        add(heads_.q_dim());
        if (layer_.keys_back > 0) return *this;
        if (!layer_.values_are_keys) add_kv_heads(heads_.kv_dim());
        return add_kv_heads(heads_.kv_dim());
      case Mixer::kShortConv:
        return add(spec_.d_model).add(spec_.d_model).add(spec_.d_model);
      case Mixer::kDeltaNet:
        return add_channels().add_heads(value_dim).add_heads(1).add_heads(1);
      case Mixer::kMamba2:
        return add_heads(value_dim).add_channels().add_heads(1);
    }
    return *this;
  }

  const std::vector<Piece>& all() const { return all_; }

 private:
  // All heads have the same latent, and the queries of all are made of the same inner row.
  Pieces& add_latent_projection() {
    const LatentConfig& l = spec_.latent;
    if (l.query_rank > 0)
      add_undivided(l.query_rank);
    else
      add(spec_.n_heads * l.query_dim());
    return add_undivided(spec_.head_dim);
  }

  const ModelSpec& spec_;
  const LayerConfig& layer_;
  Heads heads_;
  int n_ranks_;
  std::vector<Piece> all_;
};

// Empty: every rank has the whole of it.
std::vector<Piece> pieces_of(const ModelSpec& spec, int layer, Role role, int n_rows, int n_ranks) {
  Pieces pieces(spec, layer, n_ranks);
  switch (role) {
    case Role::kQkv:
    case Role::kQkvBias:
      pieces.add_projection();
      break;
    case Role::kSinks:
      pieces.add(spec.n_heads);
      break;
    case Role::kQNorm:
      if (spec.qk_norm == QkNorm::kLayerPerHead) pieces.add(n_rows);
      break;
    case Role::kKNorm:
      if (spec.qk_norm == QkNorm::kLayerPerHead) pieces.add_kv_heads(n_rows);
      break;
    case Role::kGateUp:
    case Role::kGateUpBias:
    case Role::kExpertGateUp:
    case Role::kExpertGateUpBias:
      for (int i = 0; i < spec.n_inner(); ++i) pieces.add(n_rows / spec.n_inner());
      break;
    case Role::kConv:
      for (int tap = 0; tap < spec.recurrent.conv_taps; ++tap) pieces.add_channels();
      break;
    case Role::kConvBias:
      pieces.add_channels();
      break;
    case Role::kDecay:
    case Role::kDtBias:
    case Role::kSkip:
      pieces.add_heads(1);
      break;
    case Role::kQUp:
    case Role::kLatentUp:
    case Role::kO:
    case Role::kDown:
    case Role::kExpertDown:
    case Role::kExpertDownBias:
      pieces.add(n_rows);
      break;
    default:  // norms, the router and others that are too small to be divided
      break;
  }
  return pieces.all();
}

Status check_heads(const ModelSpec& spec, int n_ranks) {
  if (spec.has_latent() && spec.n_heads % n_ranks != 0)
    return invalid_argument("tp is {}, expected a divisor of the model's {} query heads", n_ranks,
                            spec.n_heads);
  if (spec.has_latent()) return {};
  for (int layer = 0; layer < spec.n_layers(); ++layer) {
    const Heads heads = spec.heads(layer);
    if (heads.n % n_ranks != 0 || (heads.n_kv % n_ranks != 0 && n_ranks % heads.n_kv != 0))
      return invalid_argument(
          "tp is {}, expected a divisor of the model's {} query heads that is also a divisor or a "
          "multiple of its {} heads of keys and values",
          n_ranks, heads.n, heads.n_kv);
  }
  const RecurrentConfig& r = spec.recurrent;
  if (spec.has(Mixer::kDeltaNet) && r.n_key_heads % n_ranks != 0)
    return invalid_argument(
        "tp is {}, expected a divisor of the {} key heads of the model's delta-nets", n_ranks,
        r.n_key_heads);
  const bool shares_groups = r.n_key_heads > 0 && n_ranks % r.n_key_heads == 0;
  if (spec.has(Mixer::kMamba2) &&
      (r.n_heads % n_ranks != 0 || (r.n_key_heads % n_ranks != 0 && !shares_groups)))
    return invalid_argument(
        "tp is {}, expected a divisor of the {} Mamba2 heads that is also a divisor or a multiple "
        "of their {} groups",
        n_ranks, r.n_heads, r.n_key_heads);
  return {};
}

// Values of all matrices of a layer that one row is multiplied by, in units of d_model.
int64_t row_cost(const ModelSpec& spec, int layer) {
  int64_t n = 0;
  Pieces pieces(spec, layer, /*n_ranks=*/1);
  for (const Piece& piece : pieces.add_projection().all()) n += piece.n;
  for (const int piece : mixed_pieces(spec, layer)) n += piece;
  const int64_t n_matrices = spec.n_inner() + 1;
  if (spec.layers[layer].feed_forward == FeedForward::kDense) n += n_matrices * spec.d_ff_of(layer);
  if (spec.layers[layer].feed_forward == FeedForward::kExperts)
    n += n_matrices * (int64_t{spec.experts.n_used} * spec.experts.d_ff + spec.experts.shared_d_ff);
  return n;
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

Status check_share(const ModelSpec& spec, const ModelShare& share) {
  const bool is_cut = share.end_layer > 0;
  if (!is_cut && spec.n_layers() < share.n_stages)
    return invalid_argument("spp is {}, expected at most the {} layers of the model",
                            share.n_stages, spec.n_layers());
  const size_t most = first_layers(spec).size();
  if (!is_cut && most < static_cast<size_t>(share.n_stages))
    return invalid_argument(
        "spp is {}, expected at most {}, because a layer is in one stage with the layer whose keys "
        "it reads",
        share.n_stages, most);
  if (share.n_ranks == 1) return {};
  if (Status status = check_heads(spec, share.n_ranks); !status) return status;
  int width = std::min(spec.d_model, spec.d_ff);
  if (spec.has(FeedForward::kExperts)) width = std::min(width, spec.experts.d_ff);
  if (spec.experts.shared_d_ff > 0) width = std::min(width, spec.experts.shared_d_ff);
  if (share.n_ranks > width)
    return invalid_argument("tp is {}, expected at most {}, the width of the model", share.n_ranks,
                            width);
  return {};
}

std::vector<int> first_layers(const ModelSpec& spec) {
  std::vector<int> firsts;
  int earliest = spec.n_layers();  // layer whose keys are read from there on
  for (int first = spec.n_layers() - 1; first >= 0; --first) {
    earliest = std::min(earliest, first - spec.layers[first].keys_back);
    if (earliest >= first) firsts.push_back(first);
  }
  std::ranges::reverse(firsts);
  return firsts;
}

std::pair<int, int> layers_of_share(const ModelSpec& spec, const ModelShare& share) {
  if (share.end_layer > 0) return {share.first_layer, share.end_layer};
  if (share.n_stages == 1) return {0, spec.n_layers()};
  std::vector<double> costs;
  for (int layer = 0; layer < spec.n_layers(); ++layer)
    costs.push_back(static_cast<double>(row_cost(spec, layer)));
  const std::vector<double> no_more(share.n_stages, 0.0);
  const std::vector<int> cut = cut_layers(costs, first_layers(spec), no_more);
  return {cut[share.stage], cut[share.stage + 1]};
}

std::pair<int, int> logits_of_share(const ModelSpec& spec, const ModelShare& share) {
  if (!share.has_head() || spec.both_ways) return {0, 0};
  if (!share.divides_head) return {0, spec.vocab};
  constexpr int kStrip = 16;  // outputs that kernels compute together
  const int n_strips = (spec.vocab + kStrip - 1) / kStrip;
  if (n_strips < share.n_ranks) return part_of(spec.vocab, share.rank, share.n_ranks);
  const auto [first, last] = part_of(n_strips, share.rank, share.n_ranks);
  return {first * kStrip, std::min(last * kStrip, spec.vocab)};
}

ModelSpec spec_of_share(const ModelSpec& spec, const ModelShare& share) {
  ModelSpec own = spec;
  const auto [begin, end] = layers_of_share(spec, share);
  own.layers.assign(spec.layers.begin() + begin, spec.layers.begin() + end);
  own.n_heads /= share.n_ranks;
  // Several ranks have the same head if there are fewer heads than ranks.
  const auto kv_heads = [&](int n) { return n == 0 ? 0 : std::max(1, n / share.n_ranks); };
  if (!spec.has_latent()) own.n_kv_heads = kv_heads(spec.n_kv_heads);
  const auto width = [&](int n) {
    const auto [first, last] = part_of(n, share.rank, share.n_ranks);
    return last - first;
  };
  own.d_ff = width(spec.d_ff);
  own.experts.d_ff = width(spec.experts.d_ff);
  own.experts.shared_d_ff = width(spec.experts.shared_d_ff);
  for (LayerConfig& layer : own.layers) {
    layer.n_kv_heads = kv_heads(layer.n_kv_heads);
    layer.d_ff = width(layer.d_ff);
  }
  RecurrentConfig& recurrent = own.recurrent;
  recurrent.n_heads /= share.n_ranks;
  if (recurrent.n_key_heads > 0)
    recurrent.n_key_heads = std::max(1, recurrent.n_key_heads / share.n_ranks);
  if (spec.has(Mixer::kShortConv)) recurrent.short_channels = width(spec.d_model);
  return own;
}

std::vector<std::pair<int, int>> rows_of_share(const ModelSpec& spec, int layer, Role role,
                                               int n_rows, const ModelShare& share) {
  const std::vector<Piece> pieces = pieces_of(spec, layer, role, n_rows, share.n_ranks);
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

std::vector<int> mixed_pieces(const ModelSpec& spec, int layer) {
  Pieces pieces(spec, layer, /*n_ranks=*/1);
  switch (spec.layers[layer].mixer) {
    case Mixer::kNone:
      break;
    case Mixer::kAttention:
      return {spec.attended_dim(layer)};
    case Mixer::kShortConv:
      return {spec.d_model};
    case Mixer::kDeltaNet:
    case Mixer::kMamba2:
      pieces.add_heads(spec.recurrent.value_dim);
  }
  std::vector<int> sizes;
  for (const Piece& piece : pieces.all()) sizes.push_back(piece.n);
  return sizes;
}

}  // namespace pando::exec
