// The instruction sets that this machine has.
#pragma once

#include <vector>

#include "exec/cpu/kernel/kernels.h"

namespace pando::kernel {

inline std::vector<Isa> isas() {
  std::vector<Isa> all(std::begin(kIsas), std::end(kIsas));
  std::erase_if(all, [](Isa isa) { return kernels_for(isa) == nullptr; });
  return all;
}

inline std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> tables;
  for (const Isa isa : isas()) tables.push_back(kernels_for(isa));
  return tables;
}

}  // namespace pando::kernel
