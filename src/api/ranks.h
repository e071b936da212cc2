// The ranks of a run, and how they load a model together.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/model_path.h"
#include "comm/group_comm.h"
#include "contract/ranks.h"
#include "model/opened_model.h"
#include "pando/ranks.h"

namespace pando {

struct Ranks::Impl {
  Impl(std::unique_ptr<Comm> of_all, const RankLayout& of_run)
      : comm(std::move(of_all)),
        layout(of_run),
        replica(*comm, comm->rank() / layout.n_ranks() * layout.n_ranks(), layout.n_ranks()) {}

  std::unique_ptr<Comm> comm;  // of all ranks
  RankLayout layout;
  GroupComm replica;  // the ranks that have a model together, this one among them
  enum class Loading { kNotYet, kUnderWay, kFailed, kDone } loading = Loading::kNotYet;

  RankGroup ranks() { return {&replica, layout}; }
};

// A model's files, and the weights that this rank has of them. All ranks call it at the same time,
// each once; if one of them fails, all do. An error of another rank names it on rank 0.
struct LoadedShare {
  std::unique_ptr<model::OpenedModel> files;
  std::unique_ptr<const DeviceModel> weights;
  std::vector<std::string> warnings = {};  // on rank 0: of other ranks, about their machines
};
Result<LoadedShare> load_share(const ModelPath& path, const ModelOptions& options, ThreadPool& pool,
                               Ranks::Impl& ranks);

// A model's files, with the end tokens that generation_config.json adds.
Result<model::OpenedModel> open_files(const ModelPath& path);

}  // namespace pando
