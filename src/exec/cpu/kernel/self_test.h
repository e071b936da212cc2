// A short check of an instruction set's matrix products on the processor at hand, before an engine
// relies on it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "exec/cpu/kernel/kernels.h"

namespace pando::kernel {

// The first type of weights with which a few products differ from the portable table's in any bit;
// nothing if none does. Takes some milliseconds.
std::optional<DType> first_wrong_product(const Kernels& kernels);
// Returns the same, computed once for each table; these live as long as the program. Any thread.
std::optional<DType> known_wrong_product(const Kernels& kernels);

struct KernelChoice {
  const Kernels* kernels;            // the first table without wrong products
  std::vector<std::string> refused;  // a line of text for each table before it
};
// tables: the fastest first, the portable one last.
KernelChoice choose_kernels(std::span<const Kernels* const> tables);

}  // namespace pando::kernel
