#include "exec/scalar/recurrent.h"

#include <algorithm>

#include "base/check.h"
#include "exec/scalar/recurrence.h"

namespace pando::exec::scalar {
namespace {

using model::Mixer;

// Zeros before the first position of a path.
PathState read_state(const kernel::StateView& view, StateSlot slot) {
  const kernel::StateShape& shape = view.shape;
  const size_t n_inputs = static_cast<size_t>(shape.conv_rows) * shape.channels;
  const size_t n_heads = static_cast<size_t>(shape.n_heads) * shape.key_dim * shape.value_dim;
  PathState state{std::vector<float>(n_inputs), std::vector<float>(n_heads)};
  if (slot == kNoStateSlot) return state;
  const float* const from = view.slot(slot);
  state.inputs.assign(from, from + n_inputs);
  state.heads.assign(from + n_inputs, from + n_inputs + n_heads);
  return state;
}

void write_state(const kernel::StateView& view, StateSlot slot, const PathState& state) {
  float* const to = view.slot(slot);
  std::ranges::copy(state.inputs, to);
  std::ranges::copy(state.heads, to + state.inputs.size());
}

}  // namespace

Rows recur(const model::ModelSpec& spec, int layer, const LayerWeights& weights,
           const StepPlan& plan, const kernel::StateView& view, const Rows& h, ThreadPool& pool) {
  const Mixer mixer = spec.layers[layer].mixer;
  const bool is_short = mixer == Mixer::kShortConv;
  const auto recur_row = is_short                    ? short_convolution_row
                         : mixer == Mixer::kDeltaNet ? delta_net_row
                                                     : mamba2_row;
  const Rows projected = multiply(weights.stack(Role::kQkv), h, pool);
  Rows mixed(h.n, is_short ? spec.conv_channels(mixer) : spec.recurrent.value_width());
  PANDO_CHECK(h.n == 0 || !plan.state_tasks.empty());
  auto write = plan.state_writes.begin();
  for (const StateTask& task : plan.state_tasks) {
    PathState state = read_state(view, task.from);
    for (uint32_t row = task.row_begin; row < task.row_end; ++row) {
      const std::span own(projected.row(row), projected.width);
      recur_row({spec, weights, own}, state, mixed.row(row));
      if (write == plan.state_writes.end() || write->row != row) continue;
      write_state(view, write->to, state);
      ++write;
    }
  }
  return mixed;
}

}  // namespace pando::exec::scalar
