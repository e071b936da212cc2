// RadixMLP's tables of parts alone (radixmlp_index.cc).
#pragma once

#include "bench/lab.h"

namespace pando::bench {

void run_radixmlp_table_5(Lab& lab);
void run_radixmlp_table_6(Lab& lab);

}  // namespace pando::bench
