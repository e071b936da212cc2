#include "reference/reference_experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/reference_math.h"
#include "reference/reference_rows.h"

namespace pando::reference {
namespace {

using Floats = std::vector<float>;
using model::RouterScores;

// The n largest of `open`, the lower of equal ones first; then in ascending order.
std::vector<int> largest(const Floats& values, std::vector<int> open, int n) {
  std::ranges::stable_sort(open, [&](int a, int b) { return values[a] > values[b]; });
  open.resize(n);
  std::ranges::sort(open);
  return open;
}

std::vector<int> up_to(int n) {
  std::vector<int> all(n);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Experts of the best groups.
std::vector<int> open_experts(const model::ExpertsConfig& e, const Floats& merit) {
  if (e.n_groups_used == e.n_groups) return up_to(e.n_experts);
  const int n_each = e.n_experts / e.n_groups;
  Floats of_group;
  for (int group = 0; group < e.n_groups; ++group) {
    Floats own(merit.begin() + group * n_each, merit.begin() + (group + 1) * n_each);
    std::ranges::sort(own, std::ranges::greater());
    of_group.push_back(std::accumulate(own.begin(), own.begin() + e.n_group_best, 0.0f));
  }
  std::vector<int> open;
  for (const int group : largest(of_group, up_to(e.n_groups), e.n_groups_used))
    for (int i = 0; i < n_each; ++i) open.push_back(group * n_each + i);
  return open;
}

// The share of logit `index` among all that are not far below it; `left_out` is not among them.
float sparse_share(const model::ExpertsConfig& e, const Floats& logits, int index, int left_out) {
  Floats near;
  size_t place = 0;
  for (int i = 0; i < e.n_experts; ++i) {
    const float scale = std::max(std::fabs(logits[i]), logits[index]);
    const bool is_far = (logits[index] - logits[i]) / scale > 2.0f * e.mixer_jitter;
    if (i == left_out || (is_far && i != index)) continue;
    if (i == index) place = near.size();
    near.push_back(logits[i]);
  }
  return softmax(near)[place];
}

struct Chosen {
  std::vector<int> experts;
  Floats weights;
};

Chosen choose(const model::ExpertsConfig& e, const Experts& layer, Floats logits) {
  for (size_t i = 0; i < layer.router_bias.size(); ++i) logits[i] += layer.router_bias[i];
  if (e.scores == RouterScores::kSparseMixer) {
    const int first = largest(logits, up_to(e.n_experts), 1)[0];
    std::vector<int> others = up_to(e.n_experts);
    std::erase(others, first);
    const int second = largest(logits, others, 1)[0];
    const float a = sparse_share(e, logits, first, -1);
    const float b = sparse_share(e, logits, second, first);
    return first < second ? Chosen{{first, second}, {a, b}} : Chosen{{second, first}, {b, a}};
  }
  Floats scores = logits;
  if (e.scores == RouterScores::kSoftmax) scores = softmax(logits);
  if (e.scores == RouterScores::kSigmoid)
    for (float& score : scores) score = sigmoid(score);
  Floats merit = scores;
  for (size_t i = 0; i < layer.choice_bias.size(); ++i) merit[i] += layer.choice_bias[i];
  Chosen chosen = {largest(merit, open_experts(e, merit), e.n_used), {}};
  for (const int expert : chosen.experts) chosen.weights.push_back(scores[expert]);
  if (e.scores == RouterScores::kSoftmaxOfChosen) chosen.weights = softmax(chosen.weights);
  const float sum = std::accumulate(chosen.weights.begin(), chosen.weights.end(), 0.0f);
  for (size_t i = 0; i < chosen.weights.size(); ++i) {
    float& weight = chosen.weights[i];
    if (e.renormalised) weight /= sum + 1e-20f;
    weight *= e.weight_scale;
    if (!layer.weight_of.empty()) weight *= layer.weight_of[chosen.experts[i]];
  }
  return chosen;
}

void add_bias(const Floats& bias, Floats& x) {
  for (size_t i = 0; i < x.size() && !bias.empty(); ++i) x[i] += bias[i % bias.size()];
}

float activated(const model::ModelConfig& c, float gate, float up) {
  switch (c.activation) {
    case model::Activation::kSilu:
      return silu(gate) * up;
    case model::Activation::kGeluTanh:
      return gelu(gate) * up;
    case model::Activation::kSquaredRelu:
      return up < 0.0f ? 0.0f : up * up;
    case model::Activation::kUngatedGelu:
      return gelu_erf(up);
    case model::Activation::kUngatedGeluTanh:
      return gelu(up);
    case model::Activation::kGeluErf:
      return gelu_erf(gate) * up;
    case model::Activation::kClampedSilu:
      break;
  }
  return clamped_swiglu(gate, up, c.activation_alpha, c.activation_limit);
}

}  // namespace

Floats gated(const model::ModelConfig& config, const Gated& weights, const Floats& h, int n) {
  Floats up = weights.up.times(h, n);
  Floats gate = config.n_inner() == 2 ? weights.gate.times(h, n) : up;
  add_bias(weights.gate_bias, gate);
  add_bias(weights.up_bias, up);
  for (size_t i = 0; i < gate.size(); ++i) gate[i] = activated(config, gate[i], up[i]);
  Floats y = weights.down.times(gate, n);
  add_bias(weights.down_bias, y);
  return y;
}

Floats experts(const model::ModelConfig& config, const Experts& layer, const Gated& shared,
               const Floats& stream, const Floats& h, int n) {
  const model::ExpertsConfig& e = config.experts;
  const int d = config.d_model;
  const auto normed = [&](const Floats& x, const Floats& norm) {
    return norm.empty() ? x : rms_norm_rows(x, norm, config.rms_eps);
  };
  Floats routed = h;
  if (!layer.router_norm.empty()) {
    routed = normed(stream, layer.router_norm);
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
    for (float& value : routed) value *= scale;
  }
  const Floats logits = layer.router.times(routed, n);
  const Floats rows = layer.norm.empty() ? h : normed(stream, layer.norm);
  Floats all;
  for (int row = 0; row < n; ++row) {
    const Floats x(h.begin() + row * d, h.begin() + (row + 1) * d);
    const Floats of_experts(rows.begin() + row * d, rows.begin() + (row + 1) * d);
    const auto own = logits.begin() + row * e.n_experts;
    const Chosen chosen = choose(e, layer, Floats(own, own + e.n_experts));
    Floats sum(d, 0.0f);
    for (size_t i = 0; i < chosen.experts.size(); ++i) {
      const Floats y = gated(config, layer.all[chosen.experts[i]], of_experts, 1);
      for (int j = 0; j < d; ++j) sum[j] += y[j] * chosen.weights[i];
    }
    sum = normed(sum, layer.sum_norm);
    if (e.shared_d_ff > 0) {
      const Floats y = normed(gated(config, shared, x, 1), layer.shared_sum_norm);
      float lanes[16] = {};
      for (size_t i = 0; i < layer.shared_gate.size(); ++i)
        lanes[i % 16] = std::fma(x[i], layer.shared_gate[i], lanes[i % 16]);
      for (int j = 0; j < d; ++j)
        sum[j] += layer.shared_gate.empty() ? y[j] : y[j] * sigmoid(sum16(lanes));
    }
    all.insert(all.end(), sum.begin(), sum.end());
  }
  return all;
}

}  // namespace pando::reference
