// The laboratory: published techniques beside the product's own, and the experiments of their
// papers. The product builds without it, and only its src/cli/laboratory.cc includes it.
#pragma once

namespace pando::lab {

// Adds its techniques to what EngineOptions::sharing can name, and its benchmarks to those of
// `pando bench`, the first time it is called. Before any engine is opened.
void open();

}  // namespace pando::lab
