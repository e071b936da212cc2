// What `pando inspect` prints of an input.
#pragma once

#include <cstdint>
#include <string>

#include "pando/inspect.h"

namespace pando::cli {

std::string inspection_text(const Inspection& inspection);

// n / all; 0 of nothing.
double part_of(uint64_t n, uint64_t all);

}  // namespace pando::cli
