#include "plan/window_lists.h"

#include <algorithm>
#include <compare>
#include <unordered_map>

#include "base/fault.h"
#include "cache/path_pages.h"

namespace pando {
namespace {

// A row's key and value go to this position of a window page.
struct Write {
  uint32_t row;
  PageId page;
  uint32_t offset;
  auto operator<=>(const Write&) const = default;
};

// The rows of a layout by node and position.
class RowsOfNodes {
 public:
  explicit RowsOfNodes(const RowLayout& layout) : positions_(layout.step.plan.positions) {
    for (const RowRun& run : layout.runs) runs_.emplace(run.node, &run);
  }
  uint32_t row_of(const Node* node, uint32_t position) const {
    const RowRun& run = *runs_.at(node);
    const auto begin = positions_.begin();
    return static_cast<uint32_t>(
        std::lower_bound(begin + run.row_begin, begin + run.row_end, position) - begin);
  }

 private:
  const std::vector<uint32_t>& positions_;
  std::unordered_map<const Node*, const RowRun*> runs_;
};

// The node of a path that has the token at this position.
const Node* node_at(const Node* tip, uint32_t position) {
  while (tip->start > position) tip = tip->parent;
  return tip;
}

// If a row sees a tile, the tile's window pages exist up to the last position that is seen.
// Attention masks the positions after it, so any page can stand there.
void list_task_pages(StepPlan& plan, const WindowPages& windows) {
  std::vector<PageId>& pages = plan.windows.task_pages;
  pages.resize(plan.task_pages.size());
  for (const AttentionTask& task : plan.tasks) {
    PageId page = kNoPage;
    for (uint32_t i = task.first_page; i < task.first_page + task.n_pages; ++i) {
      if (const PageId own = windows.window_page(plan.task_pages[i]); own != kNoPage) page = own;
      pages[i] = page;
    }
  }
}

}  // namespace

void list_windows(RowLayout& layout, const KvCache& cache,
                  const std::vector<WantedOutput>& wanted) {
  StepPlan& plan = layout.step.plan;
  const WindowPages& windows = cache.windows();
  const auto page_len = static_cast<uint32_t>(cache.page_len());
  plan.windows.copies = cache.window_copies();
  list_task_pages(plan, windows);
  const RowsOfNodes rows(layout);
  std::vector<Write> writes;
  std::unordered_map<PageId, uint32_t> listed;  // up to which position, by an earlier path
  for (const WantedOutput& want : wanted) {
    const uint32_t from = std::min(want.begin, want.first_row);
    for_each_page({want.tip, from, from, want.end}, page_len, [&](const PathPage& page) {
      if (windows.window_page(page.page) == kNoPage) return;
      const uint32_t page_begin = page.index * page_len;
      const uint32_t end = std::min({want.end, page.end, page_begin + page_len});
      uint32_t& listed_end = listed[page.page];
      uint32_t position = std::max({from, page_begin + windows.n_written(page.page), listed_end});
      for (; position < end; ++position) {
        const Node* node = node_at(want.tip, position);
        if (fault_on(Fault::kWindowFanOutMissing) &&
            node->pages.ids.at(page.index - node->start / page_len) != page.page)
          continue;
        writes.push_back(
            {rows.row_of(node, position), windows.window_page(page.page), position - page_begin});
      }
      listed_end = std::max(listed_end, end);
    });
  }
  std::ranges::sort(writes);
  writes.erase(std::unique(writes.begin(), writes.end()), writes.end());
  for (const Write& write : writes) {
    plan.windows.slot_begin.resize(write.row + 1, static_cast<uint32_t>(plan.windows.slots.size()));
    plan.windows.slots.push_back({write.page, write.offset});
  }
  plan.windows.slot_begin.resize(plan.n_rows() + 1,
                                 static_cast<uint32_t>(plan.windows.slots.size()));
}

}  // namespace pando
