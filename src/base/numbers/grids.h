// The codebooks of IQ1, IQ2 and IQ3: which tuples of values their blocks may name. The numbers are
// the format's own, as the published `gguf` package for Python has them. An entry holds the places
// of its values in a short list of levels (grid_blocks.cc): eight of two bits, or four of four.
#pragma once

#include <cstdint>

namespace pando {

extern const uint16_t kIq2XxsGrid[256], kIq2XsGrid[512], kIq2SGrid[1024];  // eight values each
extern const uint16_t kIq3XxsGrid[256], kIq3SGrid[512];                    // four
extern const uint16_t kIq1Grid[2048];                                      // eight

}  // namespace pando
