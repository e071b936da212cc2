// Several processes that compute with one model together, or with several replicas of it.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string_view>

#include "pando/model.h"
#include "pando/values/result.h"

namespace pando {

// The processes of one run, started by mpirun or srun. Rank 0 loads a model with them
// (ModelOptions::ranks) and uses it as any other. All others call serve.
class Ranks {
 public:
  // parallel: "spp=2,tp=2" for two stages of layers, in each of which two ranks divide the outputs
  // of matrices; "replicas=2" for two replicas of the whole model, each of which may be divided so.
  // An engine uses the replica of its own process; run_batch uses all. To be called once, by every
  // process, with the same text. Errors: for other text or another number of processes
  // kInvalidArgument on rank 0 and kUnavailable on the others; kUnsupported without MPI, which only
  // the program `pando` has.
  static Result<std::shared_ptr<Ranks>> join(std::string_view parallel);
  // Rank 0: the others end.
  ~Ranks();

  int rank() const;
  int size() const;
  int replicas() const;

  // On all ranks but 0: loads this rank's share of the model and computes until rank 0 ends.
  // `options` as on rank 0; its `ranks` are not read. If loading fails on a rank, it fails on all,
  // and Model::load on rank 0 returns the message.
  Status serve(const std::filesystem::path& model, const ModelOptions& options);
  // Ends all processes, because this rank cannot go on; writes the reason to standard error.
  void abort(std::string_view why) noexcept;
  // If the run has to end because a rank fails or stands still, requests fail, and the processes
  // end after this time. Without it they end at once.
  void set_last_words(std::chrono::milliseconds time);

  struct Impl;
  // For the library itself.
  Impl& impl() const { return *impl_; }
  static std::shared_ptr<Ranks> over(std::unique_ptr<Impl> impl);

 private:
  explicit Ranks(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pando
