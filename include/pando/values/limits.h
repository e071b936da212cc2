// Bounds of options.
#pragma once

namespace pando {

inline constexpr int kMostThreads = 1024;  // of a model that is loaded, and of an engine

}  // namespace pando
