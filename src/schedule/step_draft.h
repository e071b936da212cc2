// A step being put together: rows are taken item by item, each row once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/part_loads.h"
#include "schedule/schedule.h"
#include "schedule/step_features.h"

namespace pando {

class StepDraft {
 public:
  explicit StepDraft(const WorkView& view)  // `view` must outlive it
      : view_(&view),
        left_(view.segment_rows),
        is_read_(view.cached_rows.size()),
        sums_{.before = static_cast<double>(view.n_in_flight)},
        loads_(view.ranks) {}

  // Features of the step if up to n_rows more of the rows that the item waits for were taken.
  StepFeatures with(uint32_t item, uint32_t n_rows) const;
  // Takes up to n_rows of them and returns their number. The item advances if it gains anything,
  // also at no cost: if others took all rows that it waits for, or rows whose outputs it wants.
  uint32_t take(uint32_t item, uint32_t n_rows);

  uint32_t n_wanted(uint32_t item) const;  // rows that it waits for and that are not taken
  // Position of the first of these; nothing if there are none.
  std::optional<uint32_t> next_position(uint32_t item) const;
  // False if its first missing rows show that it cannot advance at no cost.
  bool may_go_along(uint32_t item) const;
  StepFeatures features() const { return loads_.of_busiest(sums_); }
  const std::vector<Advance>& advances() const { return advances_; }

 private:
  struct Taking {
    Advance advance;
    PartLoads loads;
    StepFeatures features = {};  // sums over all parts
    uint32_t n_rows = 0;         // taken, of both kinds
    bool complete = true;        // no row is left that it waits for
    bool goes_along = false;
  };
  // Calls taken(segment, n) for each segment that rows are taken of.
  template <class Taken>
  Taking walk(uint32_t item, uint32_t n_rows, const Taken& taken) const;

  const WorkView* view_;
  std::vector<uint32_t> left_;  // of the rows of each segment
  std::vector<bool> is_read_;   // cached parts
  StepFeatures sums_;           // over all parts of the positions
  PartLoads loads_;
  std::vector<Advance> advances_;
};

}  // namespace pando
