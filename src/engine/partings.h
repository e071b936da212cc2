// Nodes at which paths of the tree part.
#pragma once

#include <cstdint>

#include "cache/prefix_tree.h"

namespace pando {

// True if paths part after the node, or if the path of a sequence ends with it.
bool is_parting(const Node& node);

}  // namespace pando
