// A planner that shares nothing between steps, and `packed`, on the same random steps.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "cache/random_cache.h"
#include "lab/techniques/relayout.h"
#include "lab/tests/technique_testing.h"
#include "plan/planner.h"
#include "plan/row_layout.h"

namespace pando::lab {

class BesidePacked : public RandomCache {
 public:
  static constexpr int kTile = 8;

  // Every sequence has a tree of its own.
  BesidePacked(RandomCacheOptions options, const char* sharing)
      : RandomCache(alone(options)),
        technique_(technique_named(sharing, kTile)),
        packed_(make_packed_planner(kTile)) {}

  const Technique& technique() const { return technique_; }
  // The planner as what it is.
  template <class T>
  const T& planner() const {
    return dynamic_cast<const T&>(*technique_.planner);
  }

 protected:
  virtual void compare(const PlannedStep& packed, const PlannedStep& step,
                       const RowLayout& layout) = 0;

  void execute() override {
    std::vector<WantedOutput> wanted;
    for (const Sequence& sequence : sequences()) {
      const uint32_t end = sequence.tip->n_issued == sequence.tip->size() ? sequence.tip->end() : 0;
      const uint32_t n = end == 0 || below(2) == 0 ? 0 : 1 + below(end);
      wanted.push_back({sequence.tip, end - n, end, isolation_of(sequence.tip)});
    }
    const PlannedStep packed = packed_->plan(cache(), wanted),
                      step = technique_.planner->plan(cache(), wanted);
    compare(packed, step, lay_out_rows(cache(), wanted));
    RandomCache::execute();
  }

  // Odd and even roots are two keys.
  static uint64_t isolation_of(const Node* node) { return root_of(node)->owner % 2; }

 private:
  static RandomCacheOptions alone(RandomCacheOptions options) {
    options.n_keys = 0;
    return options;
  }

  Technique technique_;
  std::unique_ptr<Planner> packed_;
};

}  // namespace pando::lab
