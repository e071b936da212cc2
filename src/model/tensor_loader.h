// Tensors of a checkpoint in memory, packed for the kernels.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "kernel/kernels.h"
#include "model/checkpoint.h"
#include "model/layer_weights.h"
#include "model/weight_specs.h"

namespace pando::model {

using RowRange = std::pair<int, int>;  // [begin, end)

// Any thread may call. Checkpoint and kernels outlive it. What was read of the files is given back
// as it goes: the packed copy is the one in use, and a table of embeddings may be a quarter of a
// file.
class TensorLoader {
 public:
  // requantised: what matrices become; absent: what they are kept as.
  TensorLoader(const Checkpoint& checkpoint, std::optional<DType> requantised,
               const kernel::Kernels& kernels)
      : checkpoint_(checkpoint), requantised_(requantised), kernels_(kernels) {}

  // The same, but for quantised matrices that would be kept as stored: these get the model's type.
  TensorLoader widening() const {
    TensorLoader other = *this;
    other.widens_ = true;
    return other;
  }

  // The tensors that the checkpoint has for these.
  std::vector<WeightSpec> stored_as(std::span<const WeightSpec> specs) const;

  // Adds the elements of a vector to the end of `out`.
  Status append(const WeightSpec& spec, std::vector<float>& out) const {
    return append({&spec, 1}, out);
  }
  // Adds those of vectors, or of convolutions of neighbouring channels with the taps outside.
  Status append(std::span<const WeightSpec> specs, std::vector<float>& out) const;
  // The rows in `ranges` of the matrices, of one width, one above the other.
  Status stack(std::span<const WeightSpec> specs, std::span<const RowRange> ranges,
               Stack& out) const;
  Status matrix(const WeightSpec& spec, kernel::PackedMatrix& out) const;

  // Of the rows of each of these heads, `all` of them, n from `first` on.
  struct HeadRows {
    RowRange heads;
    int all, first, n;
  };
  // A matrix of these rows for each head.
  Status heads(const WeightSpec& spec, const HeadRows& rows,
               std::vector<kernel::PackedMatrix>& out) const;
  // The same, with the rows as columns. Blocks go along rows: such weights become q8_0.
  Status turned_heads(const WeightSpec& spec, const HeadRows& rows,
                      std::vector<kernel::PackedMatrix>& out) const;

  // A table that is used where it lies: nothing else looks at all of it.
  Result<TensorView> table(const WeightSpec& spec) const;

  std::string file() const { return checkpoint_.path().string(); }

 private:
  Status read_vector(const WeightSpec& spec, std::vector<float>& out) const;
  DType kept_type(const TensorView& view) const;
  DType packed_type(const WeightSpec& spec, const TensorView& view) const;
  Status check_inputs(const std::string& name, DType type, int64_t k) const;
  Status pack(const std::string& name, const TensorView& view, RowRange range,
              kernel::PackedMatrix& out, int first_row) const;
  Status each_row(const TensorView& view, std::pair<int64_t, int64_t> range,
                  FunctionRef<Status(int64_t, const std::byte*)> read) const;
  Status check_finite(const std::string& name, const TensorView& view, int64_t row,
                      const std::byte* from) const;
  Error not_finite(const std::string& name, const char* unit, int64_t index) const;
  Error too_large(const std::string& name, DType type, const TensorView& view) const;

  const Checkpoint& checkpoint_;
  std::optional<DType> requantised_;
  const kernel::Kernels& kernels_;
  bool widens_ = false;
};

}  // namespace pando::model
