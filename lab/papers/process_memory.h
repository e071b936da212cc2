// Memory of this process, as Linux counts it.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "pando/values/result.h"

namespace pando::lab {

// Bytes that are resident at most during `work`, above what is resident when it was done once
// before: code, and weights that are read where they lie in files, are there then. kIo where the
// system does not tell.
Result<uint64_t> peak_memory_of(FunctionRef<void()> work);

}  // namespace pando::lab
