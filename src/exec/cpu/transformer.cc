#include "exec/cpu/transformer.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "base/fault.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/kernel/kv_write.h"
#include "exec/cpu/kernel/read_weights.h"
#include "exec/cpu/layers/activate.h"
#include "exec/cpu/layers/rows.h"
#include "exec/cpu/layers/stopwatch.h"
#include "exec/share.h"
#include "exec/slice.h"

namespace pando::exec {

namespace {

// The first of the last layers that all read the keys of others.
int first_reader(const model::ModelSpec& spec) {
  int first = spec.n_layers();
  while (first > 0 && spec.layers[first - 1].keys_back > 0) --first;
  return first;
}

int last_mixer(const model::ModelSpec& spec) {
  int last = spec.n_layers() - 1;
  while (last >= 0 && spec.layers[last].mixer == model::Mixer::kNone) --last;
  return last;
}

}  // namespace

Transformer::Transformer(const Weights& weights, const kernel::Kernels& kernels, ThreadPool& pool,
                         const TransformerOptions& options)
    : weights_(weights),
      spec_(spec_of_share(weights.spec, weights.share)),
      kernels_(kernels),
      pool_(pool),
      all_rows_(options.all_rows),
      gather_(options.gather),
      first_layer_(layers_of_share(weights.spec, weights.share).first),
      first_reader_(options.all_rows || options.attention || options.spread ||
                            !weights.share.is_last()
                        ? spec_.n_layers()
                        : first_reader(spec_)),
      last_mixer_(last_mixer(spec_)),
      products_(kernels, pool, times_),
      x_(kernels, spec_),
      attention_(spec_, kernels, pool,
                 {.context = options.context,
                  .window_pages = options.window_pages,
                  .attention = options.attention,
                  .spread = options.spread,
                  .gather = options.gather,
                  .share = weights.share},
                 times_),
      state_layout_(spec_),
      recurrent_(spec_, kernels, pool, times_, /*is_divided=*/options.gather != nullptr),
      experts_(spec_, weights.spec, kernels, pool, gather_, times_),
      layer_inputs_(weights, first_layer_, kernels, pool, times_) {}

const float* Transformer::forward(const StepPlan& plan, RowRange own, const KvViews& kv,
                                  const StateMemory& states, const float* before) {
  Stopwatch watch;
  const StepPlan* step = &plan;
  StepPlan of_outputs;
  const auto first_output = std::ranges::lower_bound(plan.outputs, own.begin);
  PANDO_CHECK(!spec_.both_ways);
  std::span outputs(first_output, std::lower_bound(first_output, plan.outputs.end(), own.end));
  const auto n_outputs = static_cast<uint32_t>(outputs.size());
  uint32_t n_rows = own.size();
  x_.begin(n_rows);
  attention_.begin(plan.n_rows());
  if (spec_.n_recurrent_layers() > 0) {
    PANDO_CHECK(states.base != nullptr && !plan.state_tasks.empty());
    recurrent_.begin(n_rows);
  }
  for (int i = 0; i < spec_.n_layers(); ++i)
    if (spec_.layers[i].feed_forward == model::FeedForward::kDense)
      gate_up_.reserve(size_t{n_rows} * spec_.n_inner() * spec_.d_ff_of(i) * sizeof(float));
  hidden_.reserve(size_t{n_outputs} * spec_.d_model * sizeof(float));
  for (const kernel::KvView& group : kv.pages) kernel::copy_pages(group, plan.copies);
  for (const kernel::KvView& group : kv.windows) kernel::copy_pages(group, plan.windows.copies);
  PANDO_CHECK((before == nullptr) == weights_.share.is_first());
  const std::span tokens = std::span(plan.tokens).subspan(own.begin, n_rows);
  if (before == nullptr) {
    embed(tokens, x_.row(0));
  } else {
    std::memcpy(x_.row(0), before, size_t{n_rows} * spec_.d_model * sizeof(float));
  }
  watch.lap(times_.row_ops_s);
  if (!layer_inputs_.empty()) begin_layer_inputs(tokens);
  const bool drops_rows = weights_.share.is_last() && !all_rows_;
  if (drops_rows && last_mixer_ < 0) {
    keep_outputs(outputs, own.begin, /*with_mixed=*/false);
    n_rows = n_outputs;
  }
  for (int i = 0; i < spec_.n_layers(); ++i) {
    if (i == first_reader_) {
      of_outputs = leave_outputs(plan, outputs, own.begin);
      step = &of_outputs;
      outputs = of_outputs.outputs;
      own = {0, n_outputs};
      n_rows = n_outputs;
    }
    mix(i, *step, own, kv, states);
    if (drops_rows && i == last_mixer_) {
      keep_outputs(outputs, own.begin, /*with_mixed=*/true);
      n_rows = n_outputs;
    }
    if (n_rows == 0) continue;
    if (spec_.parallel) {
      add_both(i, n_rows);
    } else {
      add_mixed(i, n_rows);
      feed_forward(i, n_rows);
    }
    if (!layer_inputs_.empty()) layer_inputs_.add(i, n_rows, x_, products_);
  }
  watch.lap();
  if (all_rows_ || !weights_.share.is_last()) {
    if (!fault_on(Fault::kStageSumLost))
      for_rows(pool_, n_rows, [&](uint32_t row) { x_.read(row, {}, n_rows, nullptr); });
    x_.end_add();
    if (!weights_.share.is_last()) return x_.row(0);
    keep_outputs(outputs, own.begin, /*with_mixed=*/false);
  }
  for_rows(pool_, n_outputs, [&](uint32_t row) {
    float* const out = hidden_.as<float>() + size_t{row} * spec_.d_model;
    x_.read(row, weights_.final_norm, n_outputs, out);
  });
  watch.lap(times_.row_ops_s);
  return hidden_.as<float>();
}

void Transformer::logits(const float* hidden, uint32_t n, float* out) {
  const int n_columns = weights_.head.n();
  if (n_columns == 0) return;
  products_.multiply(
      weights_.head, n, [&](int row, float*) { return hidden + int64_t{row} * spec_.d_model; },
      out);
  const float divisor = spec_.logit_divisor, scale = spec_.logit_scale;
  const float cap = spec_.logit_cap;
  const std::vector<float>& bias = weights_.head_bias;
  if (bias.empty() && divisor == 1.0f && scale == 1.0f && cap == 0.0f) return;
  for_rows(pool_, n, [&](uint32_t row) {
    float* const logits = out + size_t{row} * n_columns;
    if (!bias.empty()) kernels_.add(logits, bias.data(), n_columns);
    for (int i = 0; i < n_columns; ++i) logits[i] = logits[i] / divisor * scale;
    if (cap > 0.0f) kernels_.soft_cap(logits, cap, n_columns);
  });
}

void Transformer::embed(std::span<const Token> tokens, float* out) {
  const model::Tensor& table = *weights_.embedding;
  const int64_t n = spec_.d_model;
  for_rows(pool_, static_cast<uint32_t>(tokens.size()), [&](uint32_t row) {
    const std::byte* from = table.in_place() + tokens[row] * stored_bytes(table.type, n);
    float* const to = out + row * n;
    kernel::read_weights(kernels_, table.type, from, n, to);
    if (spec_.embedding_scale != 1.0f) kernels_.scale(to, spec_.embedding_scale, spec_.d_model, to);
  });
}

// Stages behind the first make the embeddings again.
void Transformer::begin_layer_inputs(std::span<const Token> tokens) {
  const float* embeddings = x_.row(0);
  if (!weights_.share.is_first()) {
    Stopwatch watch;
    embeddings_.reserve(tokens.size() * spec_.d_model * sizeof(float));
    embed(tokens, embeddings_.as<float>());
    embeddings = embeddings_.as<float>();
    watch.lap(times_.row_ops_s);
  }
  layer_inputs_.begin(tokens, embeddings, products_);
}

// Mixes each row with the rows before it: mixed = mixer(norm(x)).
void Transformer::mix(int i, const StepPlan& plan, RowRange own, const KvViews& kv,
                      const StateMemory& states) {
  switch (spec_.layers[i].mixer) {
    case model::Mixer::kNone:
      return;
    case model::Mixer::kAttention:
      return attention_.run(i, weights_.layers[i], plan, own, kv, x_, products_);
    case model::Mixer::kDeltaNet:
    case model::Mixer::kShortConv:
    case model::Mixer::kMamba2:
      return recurrent_.run(i, weights_.layers[i], plan, state_layout_.view(states, i), x_,
                            products_);
  }
}

// Input of the output projection of layer i.
float* Transformer::mixed(int i, uint32_t row) {
  return spec_.layers[i].mixer == model::Mixer::kAttention ? attention_.row(i, row)
                                                           : recurrent_.row(row);
}

int Transformer::mixed_dim(int i) const {
  return spec_.layers[i].mixer == model::Mixer::kAttention ? attention_.dim(i) : recurrent_.dim();
}

// Returns the same of all ranks.
float* Transformer::gathered_mixed(int i, uint32_t n_rows) {
  const model::Mixer mixer = spec_.layers[i].mixer;
  const LayerWeights& layer = weights_.layers[i];
  std::vector<int> sizes = mixed_pieces(weights_.spec, first_layer_ + i);
  if (fault_on(Fault::kHeadRunsJoined)) sizes = {layer.o.k()};
  float* const all = gathered(mixed(i, 0), n_rows, sizes);
  if (mixer == model::Mixer::kMamba2)
    for_rows(pool_, n_rows, [&](uint32_t row) {
      recurrent_.norm_groups(layer, weights_.spec.recurrent, all + size_t{row} * layer.o.k());
    });
  return all;
}

// x += W_o mixed
void Transformer::add_mixed(int i, uint32_t n_rows) {
  if (spec_.layers[i].mixer == model::Mixer::kNone) return;
  const LayerWeights& layer = weights_.layers[i];
  if (gather_) {
    const int n = layer.o.k();
    const float* all = gathered_mixed(i, n_rows);
    add_product(layer.o, n_rows, [=](int row, float*) { return all + int64_t{row} * n; });
  } else {
    add_product(layer.o, n_rows, [&](int row, float*) { return mixed(i, row); });
  }
  x_.add(layer.o_bias, layer.attention_sum_norm);
}

// sums = W rows
void Transformer::add_product(const kernel::PackedMatrix& w, uint32_t n_rows,
                              kernel::RowSource source) {
  if (!gather_) return products_.multiply(w, n_rows, source, x_.sums());
  own_.reserve(size_t{n_rows} * w.n() * sizeof(float));
  products_.multiply(w, n_rows, source, own_.as<float>());
  gather_(own_.as<float>(), n_rows, {{spec_.d_model}}, x_.sums());
}

// The parts of all ranks: [n_rows, sum of sizes].
float* Transformer::gathered(const float* own, uint32_t n_rows, std::span<const int> sizes) {
  const auto n = std::accumulate(sizes.begin(), sizes.end(), size_t{0});
  gathered_.reserve(n_rows * n * sizeof(float));
  gather_(own, n_rows, sizes, gathered_.as<float>());
  return gathered_.as<float>();
}

// x += W_o mixed, then x += the feed-forward of the row that the mixer read.
void Transformer::add_both(int i, uint32_t n_rows) {
  const LayerWeights& layer = weights_.layers[i];
  x_.end_add();
  const bool has_own_norm = !layer.feed_forward_norm.empty();
  gate_and_up(layer, has_own_norm ? layer.feed_forward_norm : layer.attention_norm, n_rows);
  add_mixed(i, n_rows);
  for_rows(pool_, n_rows, [&](uint32_t row) { x_.read(row, {}, n_rows, nullptr); });
  down(layer, n_rows);
  add_feed_forward(layer);
}

void Transformer::feed_forward(int i, uint32_t n_rows) {
  const LayerWeights& layer = weights_.layers[i];
  switch (spec_.layers[i].feed_forward) {
    case model::FeedForward::kNone:
      return;
    case model::FeedForward::kDense:
      gate_and_up(layer, layer.feed_forward_norm, n_rows);
      down(layer, n_rows);
      break;
    case model::FeedForward::kExperts:
      experts_.run(layer, n_rows, x_, products_);
  }
  add_feed_forward(layer);
}

// x += the sums of the feed-forward, which end the layer where it has no inputs of its own.
void Transformer::add_feed_forward(const LayerWeights& layer) {
  const bool ends_layer = layer_inputs_.empty() && !layer.scale.empty();
  x_.add(layer.down_bias, layer.feed_forward_sum_norm, ends_layer ? layer.scale[0] : 1.0f);
}

void Transformer::gate_and_up(const LayerWeights& layer, std::span<const float> norm,
                              uint32_t n_rows) {
  products_.multiply(
      layer.gate_up, n_rows, [&](int row, float* own) { return x_.read(row, norm, n_rows, own); },
      gate_up_.as<float>());
}

// sums = W_down activation(gate, up), where biases are added to gate and up.
void Transformer::down(const LayerWeights& layer, uint32_t n_rows) {
  float* const gate_up = gate_up_.as<float>();
  const std::vector<float>& bias = layer.gate_up_bias;
  int d_ff = 0;  // of this rank
  for (const kernel::PackedMatrix& matrix : layer.gate_up) d_ff += matrix.n();
  const int inner = d_ff;
  d_ff /= spec_.n_inner();
  const auto gated = [&](int row, float* own) {  // called once for each row
    float* const x = gate_up + int64_t{row} * inner;
    if (!bias.empty()) kernels_.add(x, bias.data(), inner);
    activate(kernels_, spec_, x, d_ff, own);
    return own;
  };
  if (gather_) {
    own_.reserve(size_t{n_rows} * d_ff * sizeof(float));
    for_rows(pool_, n_rows, [&](uint32_t row) {
      gated(static_cast<int>(row), own_.as<float>() + size_t{row} * d_ff);
    });
    const int all_ff = layer.down.k();
    const float* all = gathered(own_.as<float>(), n_rows, {{all_ff}});
    add_product(layer.down, n_rows, [=](int row, float*) { return all + int64_t{row} * all_ff; });
  } else {
    add_product(layer.down, n_rows, gated);
  }
}

// Between two layers: output rows take their pending summands and move to the front. Returns the
// plan for these rows.
StepPlan Transformer::leave_outputs(const StepPlan& plan, std::span<const uint32_t> outputs,
                                    uint32_t first_row) {
  const auto n = static_cast<uint32_t>(outputs.size());
  for_rows(pool_, n, [&](uint32_t i) { x_.read(outputs[i] - first_row, {}, n, nullptr); });
  x_.end_add();
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t row = outputs[i] - first_row;
    std::memmove(x_.row(i), x_.row(row), spec_.d_model * sizeof(float));
    layer_inputs_.move(row, i);
  }
  return attention_of(plan, outputs);
}

// Moves the rows of the plan's outputs to the front. Outputs ascend, so no row is overwritten
// unread.
void Transformer::keep_outputs(std::span<const uint32_t> outputs, uint32_t first_row,
                               bool with_mixed) {
  const int n_mixed = with_mixed ? mixed_dim(last_mixer_) : 0;
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const uint32_t row = outputs[i] - first_row;
    std::memmove(x_.row(i), x_.row(row), spec_.d_model * sizeof(float));
    if (with_mixed)
      std::memmove(mixed(last_mixer_, i), mixed(last_mixer_, row), n_mixed * sizeof(float));
    layer_inputs_.move(row, i);
  }
}

}  // namespace pando::exec
