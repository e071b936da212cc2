// Where paths of the tree part.
#pragma once

#include <cstdint>

#include "cache/prefix_tree.h"

namespace pando {

// Whether paths part after a node, or a path that a sequence wants ends there.
bool is_parting(const Node& node);

}  // namespace pando
