// First-fit-decreasing bin packing: Prepacking, section 3.1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pando::lab {

// Bins of `capacity` with the indices of the lengths in them, in the order they were placed:
// longest first, of equal ones the earlier. No length may exceed the capacity.
std::vector<std::vector<uint32_t>> first_fit_decreasing(std::span<const uint32_t> lengths,
                                                        uint32_t capacity);

}  // namespace pando::lab
