// The laboratory: published techniques beside the product's own, and the experiments of their
// papers. The product builds without it, and of the product only src/cli/laboratory.cc knows it.
#pragma once

namespace pando::lab {

// Adds its benchmarks to those of `pando bench`, the first time it is called.
void open();

}  // namespace pando::lab
