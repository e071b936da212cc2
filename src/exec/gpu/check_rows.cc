// Checks norms, residuals, activations, logits, and the rows of mixtures of experts.
#include <algorithm>
#include <numeric>

#include "exec/gpu/check_cases.h"
#include "exec/gpu/row_ops.h"
#include "exec/scalar/feed_forward.h"
#include "exec/scalar/math.h"

namespace pando::exec::gpu {
namespace {

using model::Activation;
using model::Norm;

constexpr uint32_t kRows = 3;

void check_residuals(CheckCases& cases, const model::ModelSpec& spec,
                     const std::vector<float>& weight) {
  const size_t width = static_cast<size_t>(spec.d_model);
  const std::vector<float> bias = cases.values(cases.chance() ? width : 0);
  const scalar::Rows x = cases.rows(kRows, width), y = cases.rows(kRows, width);
  Rows sums = cases.upload(x);
  add_part(cases.host(), spec, Values::of(cases.host(), bias), Values::of(cases.host(), weight),
           cases.upload(y), sums);
  scalar::Rows expected = x, parts = y;
  for (uint32_t row = 0; row < kRows; ++row) {
    float *const part = parts.row(row), *const to = expected.row(row);
    scalar::add(part, bias.data(), bias.size());
    if (!spec.post_norm) scalar::norm_row(spec, weight, part, part);
    scalar::scale(part, spec.residual_scale, width);
    scalar::add(to, part, width);
    if (spec.post_norm) scalar::norm_row(spec, weight, to, to);
  }
  cases.compare("residuals", expected, sums);
}

// n_weights: for each column, none, a weight, or a weight and a bias.
void check_norms(CheckCases& cases, Norm norm, size_t n_weights) {
  const auto width = static_cast<size_t>(cases.uniform(1, 2600));
  model::ModelSpec spec;
  spec.d_model = static_cast<int>(width);
  spec.norm = norm;
  const std::vector<float> weight = cases.values(n_weights * width);
  const scalar::Rows x = cases.rows(kRows, width);
  const Values on_device = Values::of(cases.host(), weight);
  Rows y, in_place = cases.upload(x);
  norm_rows(cases.host(), spec, on_device, cases.upload(x), y);
  norm_rows(cases.host(), spec, on_device, in_place, in_place);
  const scalar::Rows normed = scalar::norm_rows(spec, weight, x, cases.pool());
  cases.compare("norms", normed, y);
  cases.compare("norms", normed, in_place);

  spec.residual_scale = 0.22f;
  for (const bool post_norm : {false, true}) {
    spec.post_norm = post_norm;
    check_residuals(cases, spec, weight);
  }
}

void check_activation(CheckCases& cases, Activation activation) {
  model::ModelSpec spec;
  spec.activation = activation;
  spec.activation_alpha = 1.702f;
  spec.activation_limit = 7.0f;
  const auto width = static_cast<size_t>(cases.uniform(1, 600));
  scalar::Rows inner = cases.rows(kRows, width * spec.n_inner());
  for (size_t i = 0; i < inner.values.size(); i += 3) inner.values[i] *= 20.0f;
  const std::vector<float> bias = cases.values(cases.chance() ? inner.width : 0);
  Rows active;
  activate(cases.host(), spec, Values::of(cases.host(), bias), cases.upload(inner), active);
  scalar::Rows expected(kRows, width);
  for (uint32_t row = 0; row < kRows; ++row) {
    scalar::add(inner.row(row), bias.data(), bias.size());
    scalar::activate(spec, inner.row(row), width, expected.row(row));
  }
  cases.compare("activations", expected, active);
}

void check_logits(CheckCases& cases, float cap) {
  model::ModelSpec spec;
  spec.logit_divisor = 3.0f;
  spec.logit_scale = 0.7f;
  spec.logit_cap = cap;
  const scalar::Rows x = cases.rows(kRows, static_cast<size_t>(cases.uniform(1, 2000)));
  const std::vector<float> bias = cases.values(cases.chance() ? x.width : 0);
  Rows logits = cases.upload(x);
  finish_logits(cases.host(), spec, Values::of(cases.host(), bias), logits);
  scalar::Rows expected = x;
  for (uint32_t row = 0; row < kRows; ++row) {
    scalar::add(expected.row(row), bias.data(), bias.size());
    for (size_t i = 0; i < x.width; ++i) {
      float& logit = expected.row(row)[i];
      logit = logit / spec.logit_divisor * spec.logit_scale;
      if (cap > 0.0f) logit = scalar::soft_cap(logit, cap);
    }
  }
  cases.compare("logits", expected, logits);

  Buffer ids;
  greatest(cases.host(), logits, ids);
  std::vector<float> largest;  // ids with the bits of floats
  for (uint32_t row = 0; row < kRows; ++row) {
    const float* const begin = expected.row(row);
    const float* const found = std::max_element(begin, begin + x.width);
    largest.push_back(std::bit_cast<float>(static_cast<uint32_t>(found - begin)));
  }
  cases.compare("largest logits", largest, ids);
}

void check_mixture(CheckCases& cases) {
  Host& host = cases.host();
  const auto width = static_cast<size_t>(cases.chance() ? cases.uniform(1, 900) : 2100);
  constexpr uint32_t kAll = 7;
  const scalar::Rows x = cases.rows(kAll, width), y = cases.rows(kRows, width);
  std::vector<uint32_t> own(kAll);
  std::iota(own.begin(), own.end(), 0u);
  for (uint32_t i = 0; i < kRows; ++i) std::swap(own[i], own[cases.uniform(i, kAll - 1)]);
  own.resize(kRows);
  const std::vector<float> weights = cases.values(kRows), bias = cases.values(width);
  const Buffer own_rows = cases.upload(own);
  Rows sums = cases.upload(x), gathered;
  gather_rows(host, sums, own_rows, kRows, gathered);
  add_weighted_rows(host, cases.upload(y), own_rows, cases.upload(weights), Values::of(host, bias),
                    sums);
  scalar::Rows expected = x, expected_rows(kRows, width);
  for (uint32_t i = 0; i < kRows; ++i) {
    std::copy_n(x.row(own[i]), width, expected_rows.row(i));
    std::vector<float> part(y.row(i), y.row(i) + width);
    scalar::add(part.data(), bias.data(), width);
    scalar::scale(part.data(), weights[i], width);
    scalar::add(expected.row(own[i]), part.data(), width);
  }
  cases.compare("rows of experts", expected_rows, gathered);
  cases.compare("rows of experts", expected, sums);

  Rows gated = cases.upload(y);
  scale_by_gate(host, gathered, Values::of(host, bias), gated);
  scale_rows(host, 0.3f, gated);
  expected = y;
  for (uint32_t i = 0; i < kRows; ++i) {
    const float sum = scalar::dot16(expected_rows.row(i), bias.data(), static_cast<int>(width));
    scalar::scale(expected.row(i), scalar::sigmoid(sum), width);
    scalar::scale(expected.row(i), 0.3f, width);
  }
  cases.compare("rows of experts", expected, gated);
}

void check_inputs(CheckCases& cases) {
  const auto width = static_cast<size_t>(cases.uniform(1, 300));
  const scalar::Rows gates = cases.rows(kRows, width), inputs = cases.rows(kRows, 3 * width);
  Rows on_device = cases.upload(gates);
  gate_inputs(cases.host(), cases.upload(inputs), width, on_device);
  scalar::Rows expected = gates;
  for (uint32_t row = 0; row < kRows; ++row)
    for (size_t i = 0; i < width; ++i)
      expected.row(row)[i] = scalar::gelu(gates.row(row)[i]) * inputs.row(row)[width + i];
  cases.compare("activations", expected, on_device);
}

}  // namespace

void check_rows(CheckCases& cases) {
  for (int round = 0; round < 3 * cases.n_rounds(); ++round) {
    for (const Norm norm : {Norm::kRms, Norm::kLayer})
      for (const size_t n_weights : {0, 1, 2}) check_norms(cases, norm, n_weights);
    for (int i = 0; i <= static_cast<int>(Activation::kUngatedGeluTanh); ++i)
      check_activation(cases, static_cast<Activation>(i));
    for (const float cap : {0.0f, 2.0f}) check_logits(cases, cap);
    check_mixture(cases);
    check_inputs(cases);
  }
}

}  // namespace pando::exec::gpu
