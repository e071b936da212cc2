#include "lab/techniques/level_cuts.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace pando::lab {
namespace {

struct Branch {
  uint64_t n_tips = 0;          // at or below the node
  bool ends_tip = false;        // a tip itself
  std::vector<Node*> children;  // with tips
};

class Cutter {
 public:
  explicit Cutter(std::span<Node* const> tips) {
    for (Node* tip : tips) {
      branches_[tip].ends_tip = true;
      for (Node* node = tip;; node = node->parent) {
        Branch& branch = branches_[node];
        if (++branch.n_tips == 1) order_.push_back(node);
        if (node->is_root()) break;
        if (branch.n_tips == 1) branches_[node->parent].children.push_back(node);
      }
    }
  }

  LevelCuts run() {
    LevelCuts cuts;
    for (Node* node : order_)
      if (node->is_root()) cut_tree(node, cuts);
    return cuts;
  }

 private:
  void cut_tree(Node* root, LevelCuts& cuts) {
    // The instruction ends at the first node where tips part or end.
    Node* top = root;
    while (!branches_[top].ends_tip && branches_[top].children.size() == 1)
      top = branches_[top].children[0];
    if (branches_[top].n_tips == 1) return;
    if (!top->is_root()) cuts.instructions.insert(top);

    // Below it the best choice of contexts, children before parents.
    std::vector<Node*> below;
    for (std::vector<Node*> stack = branches_[top].children; !stack.empty();) {
      Node* node = stack.back();
      stack.pop_back();
      below.push_back(node);
      stack.insert(stack.end(), branches_[node].children.begin(), branches_[node].children.end());
    }
    std::unordered_map<Node*, uint64_t> best;  // tokens saved at or below
    for (size_t i = below.size(); i-- > 0;) {
      uint64_t of_children = 0;
      for (Node* child : branches_[below[i]].children) of_children += best[child];
      best[below[i]] = std::max(of_children, saved(below[i], top));
    }
    for (std::vector<Node*> stack = branches_[top].children; !stack.empty();) {
      Node* node = stack.back();
      stack.pop_back();
      if (best[node] == 0) continue;
      if (best[node] == saved(node, top)) {
        cuts.contexts.insert(node);
      } else {
        stack.insert(stack.end(), branches_[node].children.begin(), branches_[node].children.end());
      }
    }
  }

  uint64_t saved(Node* node, const Node* top) {
    return (branches_[node].n_tips - 1) * (node->end() - top->end());
  }

  std::unordered_map<const Node*, Branch> branches_;
  std::vector<Node*> order_;
};

}  // namespace

LevelCuts level_cuts(std::span<Node* const> tips) { return Cutter(tips).run(); }

}  // namespace pando::lab
