#include "model/vector_steps.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"

namespace pando::model {
namespace {

float activated(VectorActivation activation, float x) {
  constexpr float kHalfRoot = 0.70710678F;  // sqrt(1 / 2)
  switch (activation) {
    case VectorActivation::kIdentity:
      return x;
    case VectorActivation::kTanh:
      return std::tanh(x);
    case VectorActivation::kRelu:
      return std::max(x, 0.0F);
    case VectorActivation::kGelu:
      return 0.5F * x * (1.0F + std::erf(x * kHalfRoot));
    case VectorActivation::kGeluTanh:
      return 0.5F * x * (1.0F + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
    case VectorActivation::kSilu:
      return x / (1.0F + std::exp(-x));
    case VectorActivation::kSigmoid:
      return 1.0F / (1.0F + std::exp(-x));
  }
  return x;
}

// Each output adds its products in the order of the inputs, and then the bias.
std::vector<float> dense(const VectorStep& step, std::span<const float> x) {
  const auto n = static_cast<size_t>(step.n_out);
  std::vector<float> y(n);
  for (size_t i = 0; i < x.size(); ++i) {
    const float* row = step.weight.data() + i * n;
    const float value = x[i];
    for (size_t o = 0; o < n; ++o) y[o] += row[o] * value;
  }
  for (size_t o = 0; o < step.bias.size(); ++o) y[o] += step.bias[o];
  if (step.activation != VectorActivation::kIdentity)
    for (float& value : y) value = activated(step.activation, value);
  return y;
}

std::vector<float> layer_norm(const VectorStep& step, std::span<const float> x) {
  double sum = 0, squares = 0;
  for (const float value : x) sum += value;
  const double mean = sum / static_cast<double>(x.size());
  for (const float value : x) squares += (value - mean) * (value - mean);
  const double variance = squares / static_cast<double>(x.size());
  const double scale = 1 / std::sqrt(variance + double{step.epsilon});
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = static_cast<float>((x[i] - mean) * scale) * step.weight[i];
    if (!step.bias.empty()) y[i] += step.bias[i];
  }
  return y;
}

std::vector<float> normalised(std::span<const float> x) {
  double sum = 0;
  for (const float value : x) sum += double{value} * value;
  const double length = std::sqrt(sum);
  std::vector<float> y(x.begin(), x.end());
  if (length > 0)
    for (float& value : y) value = static_cast<float>(value / length);
  return y;
}

}  // namespace

int VectorSteps::length_of(int n) const {
  for (const VectorStep& step : list)
    if (step.n_out > 0) n = step.n_out;
  return n;
}

std::vector<float> VectorSteps::apply(std::span<const float> input) const {
  std::vector<float> x(input.begin(), input.end());
  for (const VectorStep& step : list) switch (step.kind) {
      case VectorStep::Kind::kDense:
        x = dense(step, x);
        break;
      case VectorStep::Kind::kLayerNorm:
        x = layer_norm(step, x);
        break;
      case VectorStep::Kind::kNormalise:
        x = normalised(x);
        break;
    }
  return x;
}

Result<VectorActivation> activation_named(std::string_view name) {
  static constexpr std::pair<std::string_view, VectorActivation> kNames[] = {
      {"identity", VectorActivation::kIdentity},
      {"linear", VectorActivation::kIdentity},
      {"tanh", VectorActivation::kTanh},
      {"relu", VectorActivation::kRelu},
      {"gelu", VectorActivation::kGelu},
      {"gelu_new", VectorActivation::kGeluTanh},
      {"gelu_pytorch_tanh", VectorActivation::kGeluTanh},
      {"silu", VectorActivation::kSilu},
      {"swish", VectorActivation::kSilu},
      {"sigmoid", VectorActivation::kSigmoid}};
  std::string last(name.substr(name.starts_with("torch.") ? name.rfind('.') + 1 : 0));
  for (char& c : last) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const auto& [known, activation] : kNames)
    if (known == last) return activation;
  return unsupported("the activation is '{}', expected Identity, Tanh, ReLU, GELU, SiLU or Sigmoid",
                     name);
}

}  // namespace pando::model
