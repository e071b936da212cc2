// First-fit-decreasing bin packing: Prepacking, section 3.1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pando::lab {

// Returns bins of `capacity`, each with the indices of its lengths in the order they were placed:
// longest first, of equal lengths the earlier first. No length may exceed the capacity.
std::vector<std::vector<uint32_t>> first_fit_decreasing(std::span<const uint32_t> lengths,
                                                        uint32_t capacity);

}  // namespace pando::lab
