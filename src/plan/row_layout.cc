#include "plan/row_layout.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"

namespace pando {
namespace {

// Work of a step at and below one node.
struct NodeWork {
  std::set<uint32_t> recomputed;  // offsets of committed tokens whose outputs are wanted
  std::vector<FanOut> fan_outs;   // pages made below that also take rows of this node
  std::vector<Node*> children;    // nodes with work at or below them, in order of mention
};

// The rows of a node: recomputed rows, ascending, then new rows.
struct NodeRows {
  uint32_t row_begin;
  std::vector<uint32_t> recomputed;  // offsets
  uint32_t new_begin;                // offset

  uint32_t row_of(uint32_t offset) const {
    if (offset >= new_begin)
      return row_begin + static_cast<uint32_t>(recomputed.size()) + offset - new_begin;
    const auto found = std::lower_bound(recomputed.begin(), recomputed.end(), offset);
    return row_begin + static_cast<uint32_t>(found - recomputed.begin());
  }
};

// Calls use(node, first, last) for the offsets [first, last) of each node that hold the positions
// [begin, end) of a path.
template <class Use>
void for_each_part(Node* tip, uint32_t begin, uint32_t end, const Use& use) {
  for (Node* node = tip; !node->is_root() && node->end() > begin; node = node->parent) {
    const uint32_t first = std::max(begin, node->start) - node->start;
    const uint32_t last = std::min(end, node->end());
    if (last > node->start + first) use(node, first, last - node->start);
  }
}

class RowLayouter {
 public:
  explicit RowLayouter(const KvCache& cache)
      : cache_(cache),
        page_len_(static_cast<uint32_t>(cache.page_len())),
        plan_(layout_.step.plan) {}

  RowLayout run(const std::vector<WantedOutput>& wanted) {
    for (const Issued& issued : cache_.issued()) mark(issued.node);
    for (const WantedOutput& want : wanted) mark_output(want);
    for (const FanOut& fan_out : cache_.fan_outs()) mark_fan_out(fan_out);
    plan_.copies = cache_.copies();
    plan_.slot_begin.push_back(0);
    visit_all();
    resolve_outputs(wanted);
    return std::move(layout_);
  }

 private:
  // Lists a node with its ancestors, each once.
  void mark(Node* node) {
    for (; marked_.insert(node).second; node = node->parent) {
      if (node->is_root()) {
        roots_.push_back(node);
        return;
      }
      work_[node->parent].children.push_back(node);
    }
  }

  void mark_output(const WantedOutput& want) {
    const uint32_t begin = std::min(want.begin, want.first_row);
    for_each_part(want.tip, begin, want.end, [&](Node* node, uint32_t first, uint32_t last) {
      PANDO_CHECK(last <= node->n_issued);
      mark(node);
      std::set<uint32_t>& recomputed = work_[node].recomputed;
      for (uint32_t i = first; i < std::min(last, node->n_submitted); ++i) recomputed.insert(i);
    });
  }

  void mark_fan_out(const FanOut& fan_out) {
    for (Node* up = fan_out.below->parent; !up->is_root() && up->end() > fan_out.pos_begin;
         up = up->parent)
      if (up->n_issued > up->n_submitted) work_[up].fan_outs.push_back(fan_out);
  }

  void visit_all() {
    std::vector<Node*> stack(roots_.rbegin(), roots_.rend());
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      NodeWork& work = work_[node];
      if (!node->is_root()) visit(node, work);
      const auto next = std::find(work.children.begin(), work.children.end(), next_child(node));
      if (next != work.children.end()) std::rotate(work.children.begin(), next, next + 1);
      stack.insert(stack.end(), work.children.rbegin(), work.children.rend());
    }
  }

  // The child whose rows come directly behind the node's. One that goes on from the state of the
  // node's last row, where no place has that state. Otherwise the child that goes on in the node's
  // last page: both share that tile's tasks.
  const Node* next_child(const Node* node) {
    const Places& places = cache_.places();
    if (places.any() && !node->is_root() && places.find(node, node->end()) == nullptr)
      for (const Node* child : work_[node].children)
        if (work_[child].recomputed.contains(0) || (child->n_submitted == 0 && child->n_issued > 0))
          return child;
    return node->pages.tail_child;
  }

  void visit(Node* node, const NodeWork& work) {
    // Siblings never touch page indices below their own first one, so the table of the path above
    // is still in place.
    table_.resize(node->start / page_len_);
    table_.insert(table_.end(), node->pages.ids.begin(), node->pages.ids.end());

    const uint32_t row_begin = plan_.n_rows();
    for (const uint32_t offset : work.recomputed) add_row(node, offset);
    layout_.step.n_recomputed += static_cast<uint32_t>(work.recomputed.size());
    for (uint32_t i = node->n_submitted; i < node->n_issued; ++i) {
      const uint32_t pos = add_row(node, i);
      plan_.slots.push_back({table_[pos / page_len_], pos % page_len_});
      for (const FanOut& out : work.fan_outs)
        if (pos >= out.pos_begin && pos < out.pos_end)
          plan_.slots.push_back({out.page, pos - out.pos_begin});
      plan_.slot_begin.back() = static_cast<uint32_t>(plan_.slots.size());
    }
    if (plan_.n_rows() == row_begin) return;

    const uint32_t n_pages = plan_.positions.back() / page_len_ + 1;
    layout_.runs.push_back({row_begin, plan_.n_rows(), static_cast<uint32_t>(layout_.pages.size()),
                            n_pages, node, node->parent == last_run_});
    layout_.pages.insert(layout_.pages.end(), table_.begin(), table_.begin() + n_pages);
    last_run_ = node;
    rows_[node] = {row_begin, {work.recomputed.begin(), work.recomputed.end()}, node->n_submitted};
  }

  // Returns the position of the row.
  uint32_t add_row(const Node* node, uint32_t offset) {
    plan_.tokens.push_back(node->tokens[offset]);
    plan_.positions.push_back(node->start + offset);
    plan_.slot_begin.push_back(static_cast<uint32_t>(plan_.slots.size()));
    return node->start + offset;
  }

  void resolve_outputs(const std::vector<WantedOutput>& wanted) {
    std::vector<uint32_t>& row_of = layout_.step.output_of;
    for (const WantedOutput& want : wanted) {
      const size_t begin = row_of.size();
      row_of.resize(begin + want.end - want.begin);
      for_each_part(want.tip, want.begin, want.end,
                    [&](const Node* node, uint32_t first, uint32_t last) {
                      const NodeRows& rows = rows_.at(node);
                      for (uint32_t i = first; i < last; ++i)
                        row_of[begin + node->start + i - want.begin] = rows.row_of(i);
                    });
    }
    list_outputs(layout_.step);
  }

  const KvCache& cache_;
  uint32_t page_len_;
  RowLayout layout_;
  StepPlan& plan_;
  std::unordered_set<const Node*> marked_;
  std::unordered_map<const Node*, NodeWork> work_;
  std::vector<Node*> roots_;
  std::vector<PageId> table_;  // pages of the path being visited
  const Node* last_run_ = nullptr;
  std::unordered_map<const Node*, NodeRows> rows_;
};

}  // namespace

void list_outputs(PlannedStep& step) {
  std::vector<uint32_t>& outputs = step.plan.outputs;
  outputs = step.output_of;
  std::ranges::sort(outputs);
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  for (uint32_t& row : step.output_of)
    row = static_cast<uint32_t>(std::ranges::lower_bound(outputs, row) - outputs.begin());
}

RowLayout lay_out_rows(const KvCache& cache, const std::vector<WantedOutput>& wanted) {
  return RowLayouter(cache).run(wanted);
}

}  // namespace pando
