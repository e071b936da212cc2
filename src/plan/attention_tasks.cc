#include "plan/attention_tasks.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace pando {
namespace {

// The tasks that the current path still extends, one per tile: rows join at the end, and a tile is
// closed when a path with other pages comes. Depth-first order makes this a stack.
class OpenTasks {
 public:
  OpenTasks(StepPlan& plan, int page_len, int tile_len)
      : plan_(plan), tile_len_(tile_len), pages_per_tile_(tile_len / page_len) {}

  void add_run(const RowRun& run, std::span<const PageId> pages, bool may_join) {
    const size_t n_tiles = (pages.size() + pages_per_tile_ - 1) / pages_per_tile_;
    close_from(may_join ? n_joined_tiles(pages, n_tiles) : 0, run.row_begin);
    PANDO_CHECK(begins_.empty() || visible_from(begins_.size() - 1, run) == run.row_begin);
    pages_ = pages;
    while (begins_.size() < n_tiles) begins_.push_back(visible_from(begins_.size(), run));
  }

  void close_from(size_t first_tile, uint32_t row_end) {
    while (begins_.size() > first_tile) {
      const size_t tile = begins_.size() - 1;
      const size_t from = tile * pages_per_tile_;
      const size_t n = std::min(pages_per_tile_, pages_.size() - from);
      plan_.tasks.push_back({static_cast<uint32_t>(tile), begins_.back(), row_end,
                             static_cast<uint32_t>(plan_.task_pages.size()),
                             static_cast<uint32_t>(n)});
      plan_.task_pages.insert(plan_.task_pages.end(), pages_.begin() + from,
                              pages_.begin() + from + n);
      begins_.pop_back();
    }
  }

 private:
  // Tiles in which `pages` agrees with the open path. A path that ends inside a tile agrees with
  // one that goes on in the same page: rows never look beyond their own position.
  size_t n_joined_tiles(std::span<const PageId> pages, size_t n_tiles) const {
    const size_t n = std::min(pages.size(), pages_.size());
    const size_t same =
        std::mismatch(pages.begin(), pages.begin() + n, pages_.begin()).first - pages.begin();
    return same == n ? std::min(n_tiles, begins_.size()) : same / pages_per_tile_;
  }

  // The first row of the run at or behind the beginning of a tile.
  uint32_t visible_from(size_t tile, const RowRun& run) const {
    const auto begin = plan_.positions.begin();
    const auto found = std::lower_bound(begin + run.row_begin, begin + run.row_end,
                                        static_cast<uint32_t>(tile * tile_len_));
    return static_cast<uint32_t>(found - begin);
  }

  StepPlan& plan_;
  size_t tile_len_;
  size_t pages_per_tile_;
  std::span<const PageId> pages_;  // of the path that is open
  std::vector<uint32_t> begins_;   // first row, by tile
};

}  // namespace

void append_attention_tasks(RowLayout& layout, int page_len, int tile_len, TaskSharing sharing) {
  StepPlan& plan = layout.step.plan;
  OpenTasks open(plan, page_len, tile_len);
  for (const RowRun& run : layout.runs) {
    const bool may_join = sharing == TaskSharing::kAcrossSequences || run.continues_previous;
    open.add_run(run, std::span(layout.pages).subspan(run.page_begin, run.n_pages), may_join);
  }
  open.close_from(0, plan.n_rows());
  std::sort(plan.tasks.begin(), plan.tasks.end(), [](const auto& a, const auto& b) {
    return a.tile != b.tile ? a.tile < b.tile : a.row_begin < b.row_begin;
  });
}

}  // namespace pando
