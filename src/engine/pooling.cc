#include "engine/pooling.h"

namespace pando {

uint32_t first_pooled(const Request& request) {
  if (pools_many(request)) return static_cast<uint32_t>(request.pooled_from);
  return request.pooling == Pooling::kFirst ? 0 : static_cast<uint32_t>(request.tokens.size()) - 1;
}

void pool_row(const Request& request, std::span<const float> hidden,
              std::vector<float>& embedding) {
  if (request.pooling == Pooling::kRows) {
    embedding.insert(embedding.end(), hidden.begin(), hidden.end());
    return;
  }
  if (request.pooling == Pooling::kFirst && !embedding.empty()) return;
  embedding.resize(hidden.size());
  for (size_t i = 0; i < hidden.size(); ++i) embedding[i] += hidden[i];
}

void finish_pooling(const Request& request, std::vector<float>& embedding) {
  if (request.pooling != Pooling::kMean) return;
  const auto n = static_cast<float>(request.tokens.size() - first_pooled(request));
  const float scale = 1.0F / n;
  for (float& value : embedding) value *= scale;
}

}  // namespace pando
