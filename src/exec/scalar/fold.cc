#include "exec/scalar/fold.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "exec/scalar/math.h"

namespace pando::exec::scalar {
namespace {

SpanState merge(const SpanState& a, SpanState b) {
  b.n_spans += a.n_spans;
  if (a.is_empty()) return b;
  const float m = std::max(a.max, b.max), x = exp2(a.max - m), y = exp2(b.max - m);
  b.max = m;
  b.sum = std::fma(a.sum, x, b.sum * y);
  for (size_t c = 0; c < b.acc.size(); ++c) b.acc[c] = std::fma(a.acc[c], x, b.acc[c] * y);
  return b;
}

}  // namespace

Fold::Fold(int head_dim) { state_.acc.resize(head_dim); }

float Fold::take(std::vector<float>& scores, uint32_t first) {
  const float m = std::max(state_.max, *std::ranges::max_element(scores));
  const float factor = state_.is_empty() ? 0.0f : exp2(state_.max - m);
  for (float& score : scores) score = exp2(score - m);
  for (float& lane : lanes_) lane *= factor;
  for (size_t j = 0; j < scores.size(); ++j) lanes_[(first + j) % 16] += scores[j];
  state_.max = m;
  return factor;
}

SpanState Fold::end() {
  state_.sum = sum16(lanes_);
  return std::move(state_);
}

void SpanTree::push(SpanState state) {
  while (!states_.empty() && states_.back().n_spans == state.n_spans) {
    state = merge(states_.back(), std::move(state));
    states_.pop_back();
  }
  states_.push_back(std::move(state));
}

SpanState SpanTree::merged() {
  SpanState all = std::move(states_.back());
  for (states_.pop_back(); !states_.empty(); states_.pop_back())
    all = merge(states_.back(), std::move(all));
  return all;
}

float output_factor(const SpanState& state, const float* sink) {
  if (sink == nullptr) return 1.0f / state.sum;
  const auto t = static_cast<float>(std::numbers::log2e * *sink);
  const float m = std::max(state.max, t), x = exp2(state.max - m), y = exp2(t - m);
  return x / std::fma(state.sum, x, y);
}

}  // namespace pando::exec::scalar
