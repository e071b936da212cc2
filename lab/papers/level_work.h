// The published operator of Hydragen over the sequences of an AttentionWork.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/cpu/attention_work.h"
#include "lab/experiment.h"
#include "lab/kernel/level_attention.h"

namespace pando::lab {

// Prefix, suffixes, and their results combined.
class LevelWork {
 public:
  LevelWork(const AttentionCase& shape, const AttentionWork& work);

  // On the next layer of the work that it was made for.
  void run(ThreadPool& pool, AttentionWork& work) const;

 private:
  std::vector<kernel::LevelTask> levels_;
  std::vector<uint32_t> states_begin_, states_;
};

}  // namespace pando::lab
