#include "engine/pooling.h"

#include <algorithm>
#include <cmath>

namespace pando {
namespace {

// `embedding` is empty before the first row. `weight`: position + 1.
void add_row(Pooling pooling, float weight, std::span<const float> hidden,
             std::vector<float>& embedding) {
  const bool is_first = embedding.empty();
  if (pooling == Pooling::kFirst && !is_first) return;
  if (pooling == Pooling::kRows || is_first) {
    embedding.insert(embedding.end(), hidden.begin(), hidden.end());
    if (pooling == Pooling::kWeightedMean)
      for (float& value : embedding) value *= weight;
    return;
  }
  for (size_t i = 0; i < hidden.size(); ++i) {
    float& value = embedding[i];
    if (pooling == Pooling::kLast)
      value = hidden[i];
    else if (pooling == Pooling::kMax)
      value = std::max(value, hidden[i]);
    else if (pooling == Pooling::kWeightedMean)
      value += hidden[i] * weight;
    else
      value += hidden[i];
  }
}

// Finishes rows [first, end).
void finish_rows(Pooling pooling, size_t first, size_t end, std::vector<float>& embedding) {
  const auto n = static_cast<float>(end - first);
  float scale = 1;
  if (pooling == Pooling::kMean) scale = 1.0F / n;
  if (pooling == Pooling::kMeanSqrtLen) scale = 1.0F / std::sqrt(n);
  if (pooling == Pooling::kWeightedMean) {
    float weights = 0;
    for (size_t i = first; i < end; ++i) weights += static_cast<float>(i + 1);
    scale = 1.0F / weights;
  }
  if (scale == 1.0F) return;
  for (float& value : embedding) value *= scale;
}

}  // namespace

uint32_t first_pooled(const Request& request) {
  const bool at_end = request.pooling == Pooling::kLast;
  return static_cast<uint32_t>(at_end ? request.tokens.size() - 1 : request.pooled_from);
}

void pool_row(const Request& request, uint32_t position, std::span<const float> hidden,
              std::vector<float>& embedding) {
  add_row(request.pooling, static_cast<float>(position + 1), hidden, embedding);
}

void finish_pooling(const Request& request, std::vector<float>& embedding) {
  finish_rows(request.pooling, first_pooled(request), request.tokens.size(), embedding);
}

std::vector<float> pooled_rows(Pooling pooling, std::span<const float> rows, size_t d_model,
                               size_t first) {
  std::vector<float> pooled;
  const size_t n = rows.size() / d_model;
  for (size_t i = 0; i < n; ++i)
    add_row(pooling, static_cast<float>(first + i + 1), rows.subspan(i * d_model, d_model), pooled);
  finish_rows(pooling, first, first + n, pooled);
  return pooled;
}

}  // namespace pando
