// Several processes that compute one model together.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "pando/result.h"
#include "pando/weight_type.h"

namespace pando {

// The processes of one run, started by mpirun or srun. Rank 0 loads a model with them
// (ModelOptions::ranks) and uses it as any other. All others call serve.
class Ranks {
 public:
  // parallel: "spp=2,tp=2" for two stages of layers, in each of which two ranks divide the outputs
  // of matrices. Errors: kInvalidArgument for other text, or another number of processes;
  // kUnsupported where the program has no MPI. To be called once, by every process, with the same
  // text.
  static Result<std::shared_ptr<Ranks>> join(std::string_view parallel);
  // Rank 0: the others end.
  ~Ranks();

  int rank() const;
  int size() const;

  // On all ranks but 0: loads this rank's share of the model and computes until rank 0 ends. The
  // error is told by rank 0 too, in the words of the rank that met it.
  Status serve(const std::filesystem::path& model, WeightType weights, int threads);

  struct Impl;
  const Impl& impl() const { return *impl_; }  // for the library itself

 private:
  explicit Ranks(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pando
