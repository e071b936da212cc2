// The text that `pando inspect` prints about an input.
#pragma once

#include <cstdint>
#include <string>

#include "pando/inspect.h"

namespace pando::cli {

std::string inspection_text(const Inspection& inspection);

// n / all; 0 if `all` is 0.
double part_of(uint64_t n, uint64_t all);

}  // namespace pando::cli
