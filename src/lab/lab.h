// The laboratory: published techniques beside the product's own, and the experiments of their
// papers. The product builds without it, and of the product only src/cli/laboratory.cc knows it.
#pragma once

namespace pando::lab {

// Adds its techniques to what EngineOptions::sharing can name, and its benchmarks to those of
// `pando bench`, the first time it is called. Before any engine is opened.
void open();

}  // namespace pando::lab
