#include "exec/scalar/weights.h"

#include "base/check.h"
#include "base/numbers/blocks.h"

namespace pando::exec::scalar {

size_t Weights::bytes() const {
  size_t sum = ends.bytes();
  for (const LayerWeights& layer : layers) {
    sum += layer.bytes();
    for (const WeightSet& expert : layer.experts) sum += expert.bytes();
    for (const auto* heads : {&layer.latent_keys, &layer.latent_values})
      for (const Matrix& matrix : *heads) sum += matrix.bytes();
  }
  return sum;
}

Values Weights::table_row(Role role, int64_t index) const {
  const model::Tensor& table = *tables.at(role);
  PANDO_CHECK(index >= 0 && index < table.shape[0]);
  const int64_t n = table.shape[1];
  const size_t at = static_cast<size_t>(index) * stored_bytes(table.type, n);
  Values row(n);
  read_weights(table.type, table.in_place() + at, n, row.data());
  return row;
}

}  // namespace pando::exec::scalar
