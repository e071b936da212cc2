// The state of attention of one query: tiles folded into spans, spans merged in an aligned tree.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace pando::exec::scalar {

// The result of some spans. Empty: no position was visible.
struct SpanState {
  float max = -std::numeric_limits<float>::infinity();  // of scores, base 2
  float sum = 0.0f;
  std::vector<float> acc;  // [head_dim] weighted sum of values
  uint32_t n_spans = 1;

  bool is_empty() const { return max == -std::numeric_limits<float>::infinity(); }
};

// A span that is being folded.
class Fold {
 public:
  explicit Fold(int head_dim);

  // Takes the scores of a tile's visible positions, of which the first has index `first` in the
  // tile. They become weights. Returns the factor on what was folded before.
  float take(std::vector<float>& scores, uint32_t first);
  std::vector<float>& acc() { return state_.acc; }
  SpanState end();

 private:
  SpanState state_;
  float lanes_[16] = {};
};

// A binary counter of merged spans.
class SpanTree {
 public:
  void push(SpanState state);
  // All spans; at least one was pushed.
  SpanState merged();

 private:
  std::vector<SpanState> states_;
};

// Factor that makes of the weighted sum the output. sink: a score without log2(e), or null.
float output_factor(const SpanState& state, const float* sink);

}  // namespace pando::exec::scalar
