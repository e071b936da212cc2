// Division of layers over stages by their cost.
#pragma once

#include <span>
#include <vector>

namespace pando::exec {

// The slowest stage of a pipeline sets its speed. Returns the layers before each stage, then the
// number of all layers, [n_stages + 1]: the cost of the slowest stage is smallest, and among such
// cuts the costs are the most even (smallest sum of squares). costs: [n_layers] of layers, not
// negative. firsts: layers that a stage may begin with, ascending, 0 among them, at least one for
// each stage. more: [n_stages] costs of each stage besides its layers.
std::vector<int> cut_layers(std::span<const double> costs, std::span<const int> firsts,
                            std::span<const double> more);

// The cost of the slowest stage of a cut.
double slowest_stage(std::span<const double> costs, std::span<const int> cut,
                     std::span<const double> more);

}  // namespace pando::exec
