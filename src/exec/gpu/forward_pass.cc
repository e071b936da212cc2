#include "exec/gpu/forward_pass.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "exec/gpu/row_ops.h"
#include "exec/scalar/rows.h"
#include "exec/share.h"

namespace pando::exec::gpu {
namespace {

using model::FeedForward;
using model::Mixer;

// Rows whose logits are computed at once: 64 MB with a vocabulary of 256,000.
constexpr uint32_t kLogitRows = 64;

}  // namespace

ForwardPass::ForwardPass(Host& host, const Weights& weights, const ExecutorOptions& options,
                         const KvSizes& sizes)
    : host_(host),
      weights_(weights),
      spec_(spec_of_share(weights.on_host.spec, weights.on_host.share)),
      first_layer_(layers_of_share(weights.on_host.spec, weights.on_host.share).first),
      products_(host),
      attention_(host, spec_, options, sizes, products_),
      feed_forwards_(host, spec_, products_),
      layer_inputs_(host, weights, products_) {}

void ForwardPass::forward(const StepPlan& plan, const float* before) {
  PANDO_CHECK((before == nullptr) == weights_.on_host.share.is_first());
  attention_.begin(plan);
  if (before == nullptr || spec_.layer_input_dim > 0) embed(plan.tokens);
  layer_inputs_.begin(plan.tokens, x_);
  if (before != nullptr) {
    x_.resize(host_, plan.n_rows(), static_cast<size_t>(spec_.d_model));
    host_.write(x_.values, 0, before, x_.n * x_.width * sizeof(float));
  }
  for (int layer = 0; layer < spec_.n_layers(); ++layer) run_layer(layer);
  if (!weights_.on_host.share.is_last()) {
    std::swap(x_, result_);
    return;
  }
  wanted_.set(host_, plan.outputs);
  gather_rows(host_, x_, wanted_.buffer(), static_cast<uint32_t>(plan.outputs.size()), result_);
  norm_rows(host_, spec_, weights_.ends.values(Role::kFinalNorm), result_, result_);
}

void ForwardPass::embed(std::span<const Token> tokens) {
  const auto width = static_cast<size_t>(spec_.d_model);
  on_host_.resize(tokens.size() * width);
  for (size_t row = 0; row < tokens.size(); ++row) {
    const scalar::Values own = weights_.on_host.table_row(Role::kEmbedding, tokens[row]);
    std::ranges::copy(own, on_host_.data() + row * width);
  }
  scalar::scale(on_host_.data(), spec_.embedding_scale, on_host_.size());
  x_.resize(host_, static_cast<uint32_t>(tokens.size()), width);
  host_.write(x_.values, 0, on_host_.data(), on_host_.size() * sizeof(float));
}

const Rows& ForwardPass::normed(const Values& norm, Rows& to) {
  if (norm.empty()) return x_;
  norm_rows(host_, spec_, norm, x_, to);
  return to;
}

void ForwardPass::run_layer(int layer) {
  const LayerWeights& weights = weights_.layers[layer];
  const model::LayerConfig& kind = spec_.layers[layer];
  const Values& attention_norm = weights.values(Role::kAttentionNorm);
  const Values& own_norm = weights.values(Role::kFeedForwardNorm);
  const Values& norm = spec_.parallel && own_norm.empty() ? attention_norm : own_norm;
  if (kind.mixer == Mixer::kAttention)
    attention_.run(layer, weights, normed(attention_norm, h_), attended_);
  if (spec_.parallel) norm_rows(host_, spec_, norm, x_, before_);
  if (kind.mixer == Mixer::kAttention) {
    products_.multiply(weights.stack(Role::kO), attended_, part_);
    add_part(host_, spec_, weights.values(Role::kOBias), weights.values(Role::kAttentionSumNorm),
             part_, x_);
  }
  if (kind.feed_forward != FeedForward::kNone)
    add_feed_forward(layer, spec_.parallel ? before_ : normed(norm, h_));
  if (spec_.layer_input_dim > 0) {
    layer_inputs_.run(first_layer_ + layer, weights, x_, part_);
    add_part(host_, spec_, {}, weights.values(Role::kInputSumNorm), part_, x_);
  }
  const scalar::Values& factor = weights_.on_host.layers[layer].values(Role::kScale);
  if (!factor.empty()) scale_rows(host_, factor[0], x_);
}

void ForwardPass::add_feed_forward(int layer, const Rows& h) {
  const LayerWeights& weights = weights_.layers[layer];
  if (spec_.layers[layer].feed_forward == FeedForward::kDense)
    feed_forwards_.run(weights, scalar::kDenseRoles, h, part_);
  else
    feed_forwards_.mix(weights, weights_.on_host.layers[layer], x_, h, part_);
  add_part(host_, spec_, weights.values(Role::kDownBias),
           weights.values(Role::kFeedForwardSumNorm), part_, x_);
}

const float* ForwardPass::read_rows() {
  on_host_.resize(result_.n * result_.width);
  if (!on_host_.empty())
    host_.read(result_.values, 0, on_host_.data(), on_host_.size() * sizeof(float));
  return on_host_.data();
}

void ForwardPass::logits_or_largest(uint32_t first, const std::vector<bool>& is_wanted, float* out,
                                    Token* largest) {
  const auto n = static_cast<uint32_t>(is_wanted.size());
  for (uint32_t begin = 0; begin < n; begin += kLogitRows) {
    std::vector<uint32_t> own(std::min(kLogitRows, n - begin));
    std::iota(own.begin(), own.end(), first + begin);
    wanted_.set(host_, own);
    gather_rows(host_, result_, wanted_.buffer(), static_cast<uint32_t>(own.size()), hidden_);
    finish_logits_of_hidden();

    const auto end_of_block = is_wanted.begin() + begin + logits_.n;
    auto run = is_wanted.begin() + begin;
    if (std::find(run, end_of_block, false) != end_of_block) {
      greatest(host_, logits_, largest_);
      host_.read(largest_, 0, largest + begin, logits_.n * sizeof(Token));
    }
    while ((run = std::find(run, end_of_block, true)) != end_of_block) {
      const auto end = std::find(run, end_of_block, false);
      const auto row = static_cast<uint32_t>(run - is_wanted.begin());
      read_logits(row - begin, static_cast<uint32_t>(end - run), out + row * logits_.width);
      run = end;
    }
  }
}

void ForwardPass::logits_of(const float* hidden, uint32_t n, float* out) {
  if (weights_.ends.stack(Role::kHead).empty()) return;
  const auto width = static_cast<size_t>(spec_.d_model);
  for (uint32_t row = 0; row < n; row += kLogitRows) {
    hidden_.resize(host_, std::min(kLogitRows, n - row), width);
    host_.write(hidden_.values, 0, hidden + row * width, hidden_.n * width * sizeof(float));
    finish_logits_of_hidden();
    read_logits(0, logits_.n, out + row * logits_.width);
  }
}

void ForwardPass::finish_logits_of_hidden() {
  products_.multiply(weights_.ends.stack(Role::kHead), hidden_, logits_);
  finish_logits(host_, spec_, weights_.ends.values(Role::kHeadBias), logits_);
}

void ForwardPass::read_logits(uint32_t first, uint32_t n, float* out) {
  const size_t row_bytes = logits_.width * sizeof(float);
  host_.read(logits_.values, first * row_bytes, out, n * row_bytes);
}

}  // namespace pando::exec::gpu
