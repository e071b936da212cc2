#include "lab/papers/level_work.h"

#include "exec/cpu/kernel/kernels.h"

namespace pando::lab {

LevelWork::LevelWork(const AttentionCase& shape, const AttentionWork& work) {
  const std::vector<uint32_t>& paths = work.paths();
  const auto batch = static_cast<uint32_t>(shape.batch),
             prefix = static_cast<uint32_t>(shape.prefix),
             suffix = static_cast<uint32_t>(shape.suffix);
  const auto page_len = static_cast<uint32_t>(work.args().kv.shape.page_len);
  const uint32_t n_shared = (prefix + page_len - 1) / page_len;
  if (prefix > 0) levels_.push_back({0, batch, 0, prefix, paths[0], n_shared, 0});
  const uint32_t n_own = (suffix + page_len - 1) / page_len;
  for (uint32_t row = 0; row < batch; ++row) {
    states_begin_.push_back(static_cast<uint32_t>(states_.size()));
    if (prefix > 0) states_.push_back(row);
    if (n_own == 0) continue;
    const uint32_t state = (prefix > 0 ? batch : 0) + row;
    levels_.push_back({row, row + 1, prefix, prefix + suffix, paths[row] + n_shared, n_own, state});
    states_.push_back(state);
  }
  states_begin_.push_back(static_cast<uint32_t>(states_.size()));
}

void LevelWork::run(ThreadPool& pool, AttentionWork& work) const {
  work.run([&](const kernel::AttentionArgs& args, kernel::AttentionScratch& scratch) {
    kernel::level_attention(kernel::best_kernels(), pool, args,
                            {.tasks = levels_,
                             .pages = args.task_pages,
                             .states_begin = states_begin_,
                             .states = states_},
                            scratch);
  });
}

}  // namespace pando::lab
