#include "exec/scalar/weights.h"

#include "base/check.h"
#include "base/numbers/blocks.h"

namespace pando::exec::scalar {

const Values& WeightSet::values(Role role) const {
  static const Values none;
  const auto found = values_.find(role);
  return found == values_.end() ? none : found->second;
}

const Stack& WeightSet::stack(Role role) const {
  static const Stack none;
  const auto found = stacks_.find(role);
  return found == stacks_.end() ? none : found->second;
}

const Matrix& WeightSet::matrix(Role role) const {
  const Stack& all = stack(role);
  PANDO_CHECK(all.size() == 1);
  return all.front();
}

size_t WeightSet::bytes() const {
  size_t sum = 0;
  for (const auto& [role, stack] : stacks_)
    for (const Matrix& matrix : stack) sum += matrix.bytes();
  return sum;
}

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
