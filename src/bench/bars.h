// A table drawn as bars, as SVG.
#pragma once

#include <string>
#include <vector>

#include "bench/table.h"

namespace pando::bench {

struct Bars {
  size_t n_names = 1;                // number of first columns that name a row
  std::vector<std::string> columns;  // columns with a bar in every row whose cell is a number
};

// Empty if there is no number. Draws the first of several columns with one name.
std::string to_svg(const Table& table, const Bars& bars);

}  // namespace pando::bench
