// A step that is being put together: rows are taken item by item, each row once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/step_features.h"

namespace pando {

class StepDraft {
 public:
  explicit StepDraft(const WorkView& view)  // which must outlive it
      : view_(&view), left_(view.segment_rows), is_read_(view.cached_rows.size()) {}

  // The step, were up to n_rows of the rows that the item waits for taken besides.
  StepFeatures with(uint32_t item, uint32_t n_rows) const;
  // Takes them, and returns how many it took. The item advances where that changes anything for it:
  // also at no cost, where others took all that it waits for, or some of what it wants the outputs
  // of.
  uint32_t take(uint32_t item, uint32_t n_rows);

  uint32_t n_wanted(uint32_t item) const;  // rows that it waits for and nobody took
  // Position of the first of these; nothing where there are none.
  std::optional<uint32_t> next_position(uint32_t item) const;
  // False where it does not advance at no cost, as the first rows that it waits for show.
  bool may_go_along(uint32_t item) const;
  const StepFeatures& features() const { return features_; }
  const std::vector<Advance>& advances() const { return advances_; }

 private:
  struct Taking {
    Advance advance;
    StepFeatures features;
    uint32_t n_rows = 0;   // taken, of both kinds
    bool complete = true;  // nothing is left that it waits for
    bool goes_along = false;
  };
  // Calls taken(segment, n) for each segment that rows are taken of.
  template <class Taken>
  Taking walk(uint32_t item, uint32_t n_rows, const Taken& taken) const;

  const WorkView* view_;
  std::vector<uint32_t> left_;  // of the rows of each segment
  std::vector<bool> is_read_;   // cached parts
  StepFeatures features_;
  std::vector<Advance> advances_;
};

}  // namespace pando
