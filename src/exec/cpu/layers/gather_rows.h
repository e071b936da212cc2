// Rows whose parts are on several ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace pando::exec {

// Joins the parts of rows that the ranks of a stage have computed. sizes: sizes of the pieces of a
// row, n in all; parts_of divides each. own: [n_rows, own part] f32; all: [n_rows, n] f32, the same
// on every rank.
using GatherRows =
    std::function<void(const float* own, uint32_t n_rows, std::span<const int> sizes, float* all)>;

}  // namespace pando::exec
