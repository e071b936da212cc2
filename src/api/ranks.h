// The ranks of a run, and how they load a model together.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "comm/comm.h"
#include "exec/ranks/ranks.h"
#include "model/weights.h"
#include "pando/ranks.h"

namespace pando {

struct Ranks::Impl {
  std::unique_ptr<Comm> comm;
  exec::RankLayout layout;
  bool has_loaded = false;

  exec::Ranks ranks() const { return {comm.get(), layout}; }
};

// The share of this rank. All ranks call it at the same time; if one of them fails, all do. An
// error of another rank names it on rank 0.
Result<model::Weights> load_share(const std::filesystem::path& path,
                                  std::optional<DType> requantised, const kernel::Kernels& kernels,
                                  ThreadPool& pool, const exec::Ranks& ranks);

}  // namespace pando
