#include "schedule/step_draft.h"

#include <algorithm>

namespace pando {

template <class Taken>
StepDraft::Taking StepDraft::walk(uint32_t index, uint32_t n_rows, const Taken& taken) const {
  const WorkView::Item& item = view_->items[index];
  Taking taking{.advance = {index, 0, 0}, .loads = PartLoads(view_->ranks)};
  const auto take = [&](uint32_t segment) {
    const uint32_t n = std::min(left_[segment], n_rows - taking.n_rows);
    const uint32_t n_before = view_->segment_rows[segment] - left_[segment];
    if (!view_->segment_begin.empty()) {
      const uint32_t begin = view_->segment_begin[segment] + n_before;
      taking.features.keys += keys_seen(begin, n);
      taking.loads.add_rows(item.part, begin, n);
    }
    taking.n_rows += n;
    taking.complete = n == left_[segment];
    taking.goes_along |= item.wants_all_outputs && n_before + n > 0;
    if (n > 0) taken(segment, n);
    return n;
  };
  for (size_t i = 0; taking.complete && i < item.again.size(); ++i) {
    const uint32_t segment = item.again[i];
    taking.advance.n_again += view_->segment_rows[segment] - left_[segment] + take(segment);
  }
  taking.features.outputs = taking.n_rows;
  for (size_t i = 0; taking.complete && i < item.segments.size(); ++i)
    taking.advance.n_rows += take(item.segments[i]);
  taking.features.rows = taking.n_rows;
  if (item.wants_all_outputs) {
    taking.features.outputs = taking.n_rows;
  } else if (taking.complete && taking.advance.n_rows > 0) {
    ++taking.features.outputs;
  }
  if (taking.n_rows > 0)
    for (const uint32_t part : item.cached) {
      if (is_read_[part]) continue;
      taking.features.reads += view_->cached_rows[part];
      if (!view_->cached_begin.empty())
        taking.loads.add_reads(item.part, view_->cached_begin[part], view_->cached_rows[part]);
    }
  return taking;
}

StepFeatures StepDraft::with(uint32_t item, uint32_t n_rows) const {
  Taking taking = walk(item, n_rows, [](uint32_t, uint32_t) {});
  taking.loads += loads_;
  return taking.loads.of_busiest(sums_ + taking.features);
}

uint32_t StepDraft::n_wanted(uint32_t item) const {
  return walk(item, UINT32_MAX, [](uint32_t, uint32_t) {}).n_rows;
}

std::optional<uint32_t> StepDraft::next_position(uint32_t index) const {
  const WorkView::Item& item = view_->items[index];
  for (const std::vector<uint32_t>* segments : {&item.again, &item.segments})
    for (const uint32_t segment : *segments)
      if (left_[segment] > 0)
        return view_->segment_begin[segment] + view_->segment_rows[segment] - left_[segment];
  return std::nullopt;
}

bool StepDraft::may_go_along(uint32_t index) const {
  const WorkView::Item& item = view_->items[index];
  for (const std::vector<uint32_t>* segments : {&item.again, &item.segments})
    for (const uint32_t segment : *segments)
      if (const uint32_t n = view_->segment_rows[segment]; n > 0)
        return left_[segment] == 0 || (item.wants_all_outputs && left_[segment] < n);
  return true;
}

uint32_t StepDraft::take(uint32_t index, uint32_t n_rows) {
  std::vector<std::pair<uint32_t, uint32_t>> segments;
  const Taking taking =
      walk(index, n_rows, [&](uint32_t segment, uint32_t n) { segments.emplace_back(segment, n); });
  for (const auto& [segment, n] : segments) left_[segment] -= n;
  if (taking.n_rows > 0)
    for (const uint32_t part : view_->items[index].cached) is_read_[part] = true;
  sums_ += taking.features;
  loads_ += taking.loads;
  if (taking.n_rows > 0 || taking.complete || taking.goes_along)
    advances_.push_back(taking.advance);
  return taking.n_rows;
}

}  // namespace pando
