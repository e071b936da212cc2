// Memory of this process, as Linux counts it.
#pragma once

#include <cstdint>

#include "pando/result.h"

namespace pando::bench {

// Gives free memory of the allocator back, and makes what is resident now the peak. kIo where the
// system does not let it.
Status restart_peak_memory();
// Bytes resident; now, and at most since the last restart. kIo.
Result<uint64_t> resident_bytes();
Result<uint64_t> peak_resident_bytes();

}  // namespace pando::bench
