#include "exec/gpu/head_ops.h"

#include "base/check.h"
#include "exec/gpu/kernels/codes.h"
#include "exec/gpu/row_ops.h"
#include "exec/rope.h"

namespace pando::exec::gpu {
namespace {

Rotation rotation_of(Host& host, const RopeTable& rope, int context) {
  const int half = rope.rotary_dim() / 2;
  const size_t n_bytes = static_cast<size_t>(context) * half * sizeof(float);
  Rotation rotation{Buffer(host, n_bytes), Buffer(host, n_bytes), half};
  if (n_bytes == 0) return rotation;
  host.write(rotation.cos, 0, rope.cos(0), n_bytes);
  host.write(rotation.sin, 0, rope.sin(0), n_bytes);
  return rotation;
}

int32_t steps_of_heads(const model::ModelSpec& spec) {
  const int32_t steps = HEAD_TURN | (spec.value_norm ? HEAD_VALUES : 0);
  switch (spec.qk_norm) {
    using enum model::QkNorm;
    case kNone:
    case kFullWidth:  // before a head is alone
      break;
    case kPerHead:
      return steps | HEAD_NORM;
    case kPerHeadTurned:
      return steps | HEAD_NORM_TURNED;
    case kLayerPerHead:
      return steps | HEAD_SUBTRACT_MEAN | HEAD_NORM;
  }
  return steps;
}

// The columns of a layer's products.
struct HeadColumns {
  HeadColumns(const model::ModelSpec& spec, int layer)
      : heads(spec.heads(layer)),
        n_queries(static_cast<size_t>(heads.q_dim()) * (spec.attention_gate ? 2 : 1)) {
    if (spec.layers[layer].keys_back > 0) return;
    n_keys = static_cast<size_t>(heads.kv_dim());
    n_values = spec.layers[layer].values_are_keys ? 0 : n_keys;
  }
  size_t all() const { return n_queries + n_keys + n_values; }

  model::Heads heads;
  size_t n_queries;  // with gates
  size_t n_keys = 0, n_values = 0;
};

}  // namespace

Rotations::Rotations(Host& host, const model::ModelSpec& spec, int context) {
  const RopeTables ropes(spec, context);
  of_layer_ = ropes.places();
  for (const RopeTable& rope : ropes.all()) tables_.push_back(rotation_of(host, rope, context));
}

std::vector<float> query_growth(const model::RopeConfig& rotation,
                                std::span<const uint32_t> positions) {
  std::vector<float> growth;
  if (rotation.query_growth == 0.0f) return growth;
  for (const uint32_t position : positions) growth.push_back(rotation.query_factor(position));
  return growth;
}

KeysAndValues project(Host& host, const HeadCall& call, const Values& qkv_bias,
                      const Values& q_norm, const Values& k_norm, Rows& all, Rows& spare) {
  const model::ModelSpec& spec = call.spec;
  const HeadColumns columns(spec, call.layer);
  const model::Heads& heads = columns.heads;
  const auto head_dim = static_cast<size_t>(heads.head_dim);
  PANDO_CHECK(all.width == columns.all() && heads.head_dim <= kWidestHead);
  PANDO_CHECK(qkv_bias.empty() || qkv_bias.n == all.width);
  const bool for_all = spec.qk_norm == model::QkNorm::kFullWidth;
  PANDO_CHECK(!for_all || columns.n_keys == columns.n_values);  // keys after the norm are no values
  if (for_all) {
    add_bias(host, qkv_bias, all);
    const auto norm_part = [&](const Values& weight, size_t first) {
      norm_columns(host, {.norm = NORM_RMS, .eps = spec.rms_eps, .first = first, .n = weight.n},
                   weight, all, all);
    };
    norm_part(q_norm, 0);
    if (columns.n_keys > 0) norm_part(k_norm, columns.n_queries);
  }
  const bool needs_spare = columns.n_keys > columns.n_values;
  if (needs_spare) spare.resize(host, all.n, columns.n_keys);
  const int32_t norm_stride = spec.qk_norm == model::QkNorm::kLayerPerHead ? heads.head_dim : 0;
  const Arg args[] = {&all.values,
                      for_all ? nullptr : &qkv_bias.buffer,
                      &q_norm.buffer,
                      &k_norm.buffer,
                      &call.rotation.cos,
                      &call.rotation.sin,
                      &call.positions,
                      &call.growth,
                      needs_spare ? &spare.values : nullptr,
                      uint64_t{all.width},
                      heads.n,
                      static_cast<int32_t>(columns.n_queries / head_dim),
                      static_cast<int32_t>(columns.n_keys / head_dim),
                      heads.head_dim,
                      call.rotation.half,
                      steps_of_heads(spec),
                      norm_stride,
                      spec.rms_eps};
  host.launch(Kernel::head_project, {all.n, static_cast<uint32_t>(all.width / head_dim)}, args);
  if (columns.n_keys == 0) return {};
  const Columns keys{&all, columns.n_queries, columns.n_keys};
  if (needs_spare) return {keys, {&spare, 0, columns.n_keys}};
  return {keys, {&all, columns.n_queries + columns.n_keys, columns.n_values}};
}

void gate_heads(Host& host, const model::ModelSpec& spec, const Rows& all, Rows& attended) {
  if (!spec.attention_gate) return;
  PANDO_CHECK(all.n == attended.n && all.width >= 2 * attended.width);
  const Arg args[] = {&all.values, &attended.values, uint64_t{all.width},
                      static_cast<int32_t>(attended.width)};
  host.launch(Kernel::head_gate, parts_of_rows(attended.n, attended.width), args);
}

}  // namespace pando::exec::gpu
