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
  return request.pooling != Pooling::kNone && request.pooling != Pooling::kLast &&
         request.pooling != Pooling::kFirst;
}

// Adds the row at a position that the request reads, [d_model], in the order of positions.
void pool_row(const Request& request, uint32_t position, std::span<const float> hidden,
              std::vector<float>& embedding);
// Call behind the last row.
void finish_pooling(const Request& request, std::vector<float>& embedding);

// Does the same for all rows at once, [n_rows, d_model], which begin at position `first`.
std::vector<float> pooled_rows(Pooling pooling, std::span<const float> rows, size_t d_model,
                               size_t first);

}  // namespace pando
