#include "lab/techniques/level_pass.h"

namespace pando::lab {

exec::LayerAttention LevelPlanner::attention() const {
  return [levels = levels_](const exec::LayerPass& layer) {
    kernel::level_attention(layer.kernels, layer.pool, layer.args,
                            {.tasks = levels->tasks,
                             .pages = levels->pages,
                             .states_begin = levels->states_begin,
                             .states = levels->states},
                            layer.scratch);
  };
}

}  // namespace pando::lab
