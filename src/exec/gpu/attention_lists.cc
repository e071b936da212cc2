#include "exec/gpu/attention_lists.h"

#include <algorithm>

#include "base/check.h"

namespace pando::exec::gpu {
namespace {

class ListBuilder {
 public:
  ListBuilder(const StepPlan& plan, const AttentionForm& form)
      : plan_(plan),
        form_(form),
        pages_(form.in_windows ? plan.windows.task_pages : plan.task_pages),
        n_rows_(plan.n_rows()) {
    for (uint32_t i = 0; i < plan.tasks.size(); ++i)
      while (tile_begin_.size() <= plan.tasks[i].tile) tile_begin_.push_back(i);
    tile_begin_.push_back(static_cast<uint32_t>(plan.tasks.size()));
  }

  AttentionLists build();

 private:
  using Tasks = std::span<const AttentionTask>;

  uint32_t n_tiles() const { return static_cast<uint32_t>(tile_begin_.size()) - 1; }
  uint32_t tiles_each() const { return form_.span_len / form_.tile_len; }
  Tasks tasks_of(uint32_t tile) const {
    return Tasks(plan_.tasks).subspan(tile_begin_[tile], tile_begin_[tile + 1] - tile_begin_[tile]);
  }
  uint32_t first_span(uint32_t row) const { return lists_.rows[row].first_seen / form_.span_len; }
  uint32_t last_span(uint32_t row) const { return lists_.rows[row].last_seen / form_.span_len; }
  bool sees_span(uint32_t row, uint32_t span) const {
    return first_span(row) <= span && span <= last_span(row);
  }

  void add_row(uint32_t row);
  uint32_t end_of_turn(uint32_t begin);
  void add_turn(uint32_t begin, uint32_t end);
  void find_leaders(uint32_t begin, uint32_t end, uint32_t span);
  void add_blocks(uint32_t begin, uint32_t end, uint32_t span);
  void add_item(uint32_t begin, uint32_t n, uint32_t span);
  void add_segment(const AttentionTask& task, const AttentionItem& item);
  ItemRange take(std::vector<AttentionItem>& items);

  const StepPlan& plan_;
  const AttentionForm& form_;
  std::span<const PageId> pages_;
  uint32_t n_rows_;
  std::vector<uint32_t> tile_begin_;           // [n_tiles + 1] index into tasks
  std::vector<const AttentionTask*> leaders_;  // [n_rows] a row's first task in a span, or null
  std::vector<AttentionItem> narrow_, wide_;   // of the turn
  AttentionLists lists_;
};

AttentionLists ListBuilder::build() {
  for (uint32_t row = 0; row < n_rows_; ++row) add_row(row);
  leaders_.resize(n_rows_);
  for (uint32_t begin = 0; begin < n_rows_;) {
    const uint32_t end = end_of_turn(begin);
    add_turn(begin, end);
    begin = end;
  }
  return std::move(lists_);
}

void ListBuilder::add_row(uint32_t row) {
  const uint32_t last = plan_.positions[row], end = last + 1;
  const uint32_t first = form_.window == 0 || end <= form_.window ? 0 : end - form_.window;
  lists_.rows.push_back({first, last, kNoState});
}

// Gives states to the rows of a turn.
uint32_t ListBuilder::end_of_turn(uint32_t begin) {
  uint64_t n_states = 0;
  uint32_t row = begin;
  for (; row < n_rows_; ++row) {
    const uint32_t n_spans = last_span(row) - first_span(row) + 1;
    if (n_spans == 1) continue;
    if (n_states > 0 && n_states + n_spans > form_.most_states) break;
    lists_.rows[row].first_state = static_cast<uint32_t>(n_states);
    n_states += n_spans;
  }
  lists_.n_states = std::max(lists_.n_states, n_states);
  return row;
}

void ListBuilder::add_turn(uint32_t begin, uint32_t end) {
  AttentionTurn turn;
  turn.merged.begin = static_cast<uint32_t>(lists_.merged_rows.size());
  uint32_t n_spans = 0;
  for (uint32_t row = begin; row < end; ++row) {
    if (lists_.rows[row].first_state != kNoState) lists_.merged_rows.push_back(row);
    n_spans = std::max(n_spans, last_span(row) + 1);
  }
  turn.merged.end = static_cast<uint32_t>(lists_.merged_rows.size());
  for (uint32_t span = 0; span < n_spans; ++span) {
    find_leaders(begin, end, span);
    add_blocks(begin, end, span);
  }
  turn.narrow = take(narrow_);
  turn.wide = take(wide_);
  lists_.turns.push_back(turn);
}

// Rows that share some tile of a span also share the span's earlier tiles.
void ListBuilder::find_leaders(uint32_t begin, uint32_t end, uint32_t span) {
  uint32_t n_open = 0;
  for (uint32_t row = begin; row < end; ++row) {
    leaders_[row] = nullptr;
    n_open += sees_span(row, span);
  }
  const uint32_t tile_end = std::min(n_tiles(), (span + 1) * tiles_each());
  for (uint32_t tile = span * tiles_each(); tile < tile_end && n_open > 0; ++tile)
    for (const AttentionTask& task : tasks_of(tile))
      for (uint32_t row = std::max(begin, task.row_begin); row < std::min(end, task.row_end); ++row)
        if (leaders_[row] == nullptr && sees_span(row, span)) {
          leaders_[row] = &task;
          --n_open;
        }
  PANDO_CHECK(n_open == 0);
}

void ListBuilder::add_blocks(uint32_t begin, uint32_t end, uint32_t span) {
  for (uint32_t row = begin; row < end;) {
    uint32_t n = 1;
    while (n < form_.rows_each && row + n < end && leaders_[row + n] == leaders_[row]) ++n;
    if (leaders_[row] != nullptr) add_item(row, n, span);
    row += n;
  }
}

void ListBuilder::add_item(uint32_t begin, uint32_t n, uint32_t span) {
  AttentionItem item{.row_begin = begin, .n_rows = n, .span = span};
  item.segment_begin = static_cast<uint32_t>(lists_.segments.size());
  const uint32_t tile_end = std::min(n_tiles(), (span + 1) * tiles_each());
  for (uint32_t tile = span * tiles_each(); tile < tile_end; ++tile) {
    const Tasks tasks = tasks_of(tile);
    auto task = std::ranges::partition_point(
        tasks, [&](const AttentionTask& t) { return t.row_end <= begin; });
    for (; task != tasks.end() && task->row_begin < begin + n; ++task) add_segment(*task, item);
  }
  item.segment_end = static_cast<uint32_t>(lists_.segments.size());
  (n >= form_.wide_from ? wide_ : narrow_).push_back(item);
}

// Adds nothing if no row of the item sees the tile.
void ListBuilder::add_segment(const AttentionTask& task, const AttentionItem& item) {
  const uint32_t tile_begin = task.tile * form_.tile_len;
  const uint32_t row_begin = std::max(task.row_begin, item.row_begin);
  const uint32_t row_end = std::min(task.row_end, item.row_begin + item.n_rows);
  uint32_t begin = form_.tile_len, end = 0;
  bool is_whole = row_end - row_begin == item.n_rows;
  for (uint32_t row = row_begin; row < row_end; ++row) {
    const AttentionRow& seen = lists_.rows[row];
    const uint32_t first = std::max(seen.first_seen, tile_begin) - tile_begin;
    const uint32_t last = std::min(seen.last_seen + 1, tile_begin + form_.tile_len);
    const bool sees = tile_begin + first < last;
    if (sees) {
      is_whole &= end == 0 || (begin == first && end == last - tile_begin);
      begin = std::min(begin, first);
      end = std::max(end, last - tile_begin);
    }
    is_whole &= sees;
  }
  if (end == 0) return;
  for (uint32_t page = begin / form_.page_len; page * form_.page_len < end; ++page) {
    PANDO_CHECK(page < task.n_pages);
    PANDO_CHECK(pages_[task.first_page + page] != kNoPage);
  }
  lists_.segments.push_back({.row_begin = row_begin - item.row_begin,
                             .row_end = row_end - item.row_begin,
                             .tile = task.tile,
                             .first_page = task.first_page,
                             .begin = begin,
                             .end = end,
                             .is_whole = is_whole});
}

ItemRange ListBuilder::take(std::vector<AttentionItem>& items) {
  const auto begin = static_cast<uint32_t>(lists_.items.size());
  lists_.items.insert(lists_.items.end(), items.begin(), items.end());
  items.clear();
  return {begin, static_cast<uint32_t>(lists_.items.size())};
}

}  // namespace

AttentionLists attention_lists(const StepPlan& plan, const AttentionForm& form) {
  return ListBuilder(plan, form).build();
}

}  // namespace pando::exec::gpu
