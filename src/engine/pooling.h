// Hidden states of a text's rows become its embedding.
#pragma once

#include <span>
#include <vector>

#include "pando/values/request.h"

namespace pando {

// Position of the first row whose hidden state a request reads, and whether it reads others behind
// it than the last one.
uint32_t first_pooled(const Request& request);
inline bool pools_many(const Request& request) {
  return request.pooling == Pooling::kMean || request.pooling == Pooling::kRows;
}

// Adds the next row that the request reads, [d_model], in the order of positions.
void pool_row(const Request& request, std::span<const float> hidden, std::vector<float>& embedding);
// Call behind the last row.
void finish_pooling(const Request& request, std::vector<float>& embedding);

}  // namespace pando
