// The ranks of a run, and how they load a model together.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "comm/group_comm.h"
#include "exec/ranks/ranks.h"
#include "model/weights.h"
#include "pando/ranks.h"

namespace pando {

struct Ranks::Impl {
  Impl(std::unique_ptr<Comm> of_all, const exec::RankLayout& of_run)
      : comm(std::move(of_all)),
        layout(of_run),
        replica(*comm, comm->rank() / layout.n_ranks() * layout.n_ranks(), layout.n_ranks()) {}

  std::unique_ptr<Comm> comm;  // of all ranks
  exec::RankLayout layout;
  GroupComm replica;  // the ranks that have a model together, this one among them
  enum class Loading { kNotYet, kUnderWay, kFailed, kDone } loading = Loading::kNotYet;

  exec::Ranks ranks() { return {&replica, layout}; }
};

// The share of this rank. All ranks call it at the same time, each once; if one of them fails, all
// do. An error of another rank names it on rank 0. tokenizer: its path, or nothing.
Result<model::Weights> load_share(const std::filesystem::path& path,
                                  const std::filesystem::path& tokenizer,
                                  std::optional<DType> requantised, const kernel::Kernels& kernels,
                                  ThreadPool& pool, Ranks::Impl& ranks);

}  // namespace pando
