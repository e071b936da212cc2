#include "exec/cpu/state_layout.h"

namespace pando::exec {

kernel::StateShape state_shape(const model::ModelSpec& spec, model::Mixer mixer) {
  using enum model::Mixer;
  if (!model::is_recurrent(mixer)) return {};
  const model::RecurrentConfig& recurrent = spec.recurrent;
  kernel::StateShape shape{.conv_rows = recurrent.conv_taps - 1,
                           .channels = spec.conv_channels(mixer)};
  if (mixer == kShortConv) return shape;
  shape.n_heads = recurrent.n_heads;
  shape.key_dim = recurrent.key_dim;
  shape.value_dim = recurrent.value_dim;
  return shape;
}

StateLayout::StateLayout(const model::ModelSpec& spec) {
  for (const model::LayerConfig& layer : spec.layers) {
    parts_.push_back({slot_floats_, state_shape(spec, layer.mixer)});
    slot_floats_ += parts_.back().shape.n_floats();
  }
}

}  // namespace pando::exec
