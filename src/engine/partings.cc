#include "engine/partings.h"

namespace pando {

bool is_parting(const Node& node) {
  uint32_t n_pins = 0;
  bool leaves_public = false;
  for (const auto& [key, child] : node.children) {
    n_pins += child->n_pins;
    leaves_public |= child->owner != node.owner;
  }
  return node.children.size() > 1 || leaves_public ||
         (node.children.size() == 1 && node.n_pins > n_pins);
}

}  // namespace pando
