// Level cuts divide a document with questions into instruction, context and question, found from
// the tree: the three levels of IPPD 4.1.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "cache/prefix_tree.h"

namespace pando::lab {

// The nodes whose ends are cuts. Every tip has at most one context on its path.
struct LevelCuts {
  std::set<const Node*> instructions;  // for each root: what all its tips share
  std::set<const Node*> contexts;      // a group of tips shares these
};

// Contexts are those nodes, at most one on the path to a tip, that save the most tokens: a context
// of n tokens and m tips saves (m - 1) n.
LevelCuts level_cuts(std::span<Node* const> tips);

}  // namespace pando::lab
