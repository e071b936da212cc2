// The ranks of a case, as threads of this process.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "comm/thread_comm.h"
#include "contract/ranks.h"
#include "engine/exactness_models.h"

namespace pando::testing {

// All ranks but the first serve in threads until this ends.
class RankThreads {
 public:
  using Load = std::function<const DeviceModel&(const ModelShare&)>;

  RankThreads(const RankLayout& layout, const Load& load)
      : comms_(layout.n_ranks()), first_{&comms_.of(0), layout} {
    std::vector<const DeviceModel*> weights;
    for (int rank = 1; rank < layout.n_ranks(); ++rank)
      weights.push_back(&load(layout.share_of(rank)));
    for (int rank = 1; rank < layout.n_ranks(); ++rank)
      threads_.emplace_back([this, layout, rank, own = weights[rank - 1]] {
        try {
          serve_rank(*own, /*threads=*/1, {&comms_.of(rank), layout});
        } catch (const std::exception& error) {
          fprintf(stderr, "rank %d: %s\n", rank, error.what());
          comms_.fail();
        }
      });
  }
  RankThreads(CaseModels& models, const CaseModel& model, const RankLayout& layout)
      : RankThreads(layout, [&](const ModelShare& share) -> const DeviceModel& {
          return models.share(model, share);
        }) {}
  ~RankThreads() {
    dismiss_ranks(comms_.of(0));
    for (std::thread& thread : threads_) thread.join();
  }

  const RankGroup& first() const { return first_; }

 private:
  ThreadComms comms_;
  RankGroup first_;
  std::vector<std::thread> threads_;
};

}  // namespace pando::testing
