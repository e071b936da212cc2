// Tensors in memory, packed for the kernels.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "contract/tensor_source.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/pack/layer_weights.h"

namespace pando::exec {

using WeightRows = std::pair<int, int>;  // [begin, end)

// The type of the matrix that a tensor becomes if it is kept as stored. widens: one with scales
// gets the model's own type.
DType kept_as(const model::Tensor& tensor, bool widens = false);

// Any thread may call. Source and kernels outlive it.
class TensorLoader {
 public:
  // requantised: type that matrices become; absent: the type they are kept in.
  TensorLoader(const model::TensorSource& source, std::optional<DType> requantised,
               const kernel::Kernels& kernels)
      : source_(source), requantised_(requantised), kernels_(kernels) {}

  // Does the same, but quantised matrices that would be kept as stored get the model's type.
  TensorLoader widening() const {
    TensorLoader other = *this;
    other.widens_ = true;
    return other;
  }

  const model::TensorSource& source() const { return source_; }

  // The elements of vectors, one after another, or of convolutions of neighbouring channels with
  // the taps outside.
  Result<std::vector<float>> values(const model::Tensors& tensors) const;
  // Stacks the rows in `ranges` of matrices of one width. A router is f32.
  Status stack(const model::Tensors& tensors, std::span<const WeightRows> ranges, bool is_router,
               Stack& out) const;

  // Each of these heads has `all` rows; n of them are meant, from `first` on.
  struct HeadRows {
    WeightRows heads;
    int all, first, n;
  };
  // A matrix of these rows for each head.
  Status heads(const model::Tensor& tensor, const HeadRows& rows,
               std::vector<kernel::PackedMatrix>& out) const;
  // Does the same, with the rows as columns. Blocks go along rows: such weights become q8_0.
  Status turned_heads(const model::Tensor& tensor, const HeadRows& rows,
                      std::vector<kernel::PackedMatrix>& out) const;

 private:
  DType kept_type(const model::Tensor& tensor) const;
  Status check_inputs(const model::Tensor& tensor, DType type, int64_t k) const;
  Status pack(const model::Tensor& tensor, WeightRows range, kernel::PackedMatrix& out,
              int first_row) const;
  Error too_large(const model::Tensor& tensor, DType type) const;

  const model::TensorSource& source_;
  std::optional<DType> requantised_;
  const kernel::Kernels& kernels_;
  bool widens_ = false;
};

}  // namespace pando::exec
