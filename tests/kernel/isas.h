// The instruction sets that this machine has.
#pragma once

#include <vector>

#include "exec/cpu/kernel/kernels.h"

namespace pando::kernel {

inline std::vector<Isa> isas() {
  std::vector<Isa> all = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx};
  std::erase_if(all, [](Isa isa) { return kernels_for(isa) == nullptr; });
  return all;
}

inline std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> tables;
  for (const Isa isa : isas()) tables.push_back(kernels_for(isa));
  return tables;
}

}  // namespace pando::kernel
