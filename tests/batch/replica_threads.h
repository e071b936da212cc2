// The processes of a run over replicas, as threads of this one.
#pragma once

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/ranks.h"
#include "comm/thread_comm.h"
#include "pando/model.h"

namespace pando::testing {

class ReplicaThreads {
 public:
  // model_of(rank) is what a rank loads.
  template <class ModelOf>
  ReplicaThreads(std::string_view parallel, const ModelOf& model_of)
      : layout_(RankLayout::parse(parallel).value()),
        comms_(static_cast<int>(layout_.n_processes())),
        first_(ranks_of(0)) {
    for (int rank = 1; rank < layout_.n_processes(); ++rank)
      threads_.emplace_back([this, rank, path = std::filesystem::path(model_of(rank))] {
        try {
          (void)ranks_of(rank)->serve(path, {.threads = 1});
        } catch (const std::exception& error) {
          fprintf(stderr, "rank %d: %s\n", rank, error.what());
          comms_.fail();
        }
      });
  }
  // No model of these ranks is left.
  ~ReplicaThreads() {
    first_ = nullptr;
    for (std::thread& thread : threads_) thread.join();
  }

  // On rank 0.
  Result<std::shared_ptr<const Model>> load(const std::filesystem::path& path) {
    return Model::load(path, {.threads = 1, .ranks = first_});
  }

 private:
  std::shared_ptr<Ranks> ranks_of(int rank) {
    return Ranks::over(std::make_unique<Ranks::Impl>(
        std::make_unique<GroupComm>(comms_.of(rank), 0, static_cast<int>(layout_.n_processes())),
        layout_));
  }

  RankLayout layout_;
  ThreadComms comms_;
  std::shared_ptr<Ranks> first_;
  std::vector<std::thread> threads_;
};

}  // namespace pando::testing
