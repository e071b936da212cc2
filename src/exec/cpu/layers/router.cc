#include "exec/cpu/layers/router.h"

#include <algorithm>
#include <cmath>

#include "base/fault.h"

namespace pando::exec {
namespace {

using model::RouterScores;

constexpr float kLeastSum = 1e-20f;  // added to the sum by which weights are divided

// The index of the largest value that is open, the lowest of equal ones. At least one is open.
int best_of(std::span<const float> values, std::span<const char> is_open) {
  int best = -1;
  for (int i = 0; i < std::ssize(values); ++i) {
    if (!is_open[i]) continue;
    const bool is_better = best < 0 || values[i] > values[best] ||
                           (fault_on(Fault::kRouterTieToLast) && values[i] == values[best]);
    if (is_better) best = i;
  }
  return best;
}

}  // namespace

Router::Router(const model::ExpertsConfig& spec, const kernel::Kernels& kernels)
    : spec_(spec),
      kernels_(kernels),
      merit_(spec.n_experts),
      is_open_(spec.n_experts),
      groups_(spec.n_groups),
      is_taken_(spec.n_groups) {}

void Router::choose(const LayerWeights& layer, std::span<float> logits,
                    std::span<ChosenExpert> chosen) {
  const int n = spec_.n_experts;
  if (!layer.router_bias.empty()) kernels_.add(logits.data(), layer.router_bias.data(), n);
  if (spec_.scores == RouterScores::kSparseMixer) return mix_sparsely(logits, chosen);
  if (spec_.scores == RouterScores::kSoftmax) kernels_.softmax(logits.data(), n);
  if (spec_.scores == RouterScores::kSigmoid) kernels_.sigmoids(logits.data(), n, logits.data());
  std::ranges::copy(logits, merit_.begin());
  if (!layer.choice_bias.empty()) kernels_.add(merit_.data(), layer.choice_bias.data(), n);
  std::ranges::fill(is_open_, 1);
  if (spec_.n_groups_used < spec_.n_groups) limit_groups();
  choose_best(chosen);
  for (ChosenExpert& one : chosen) one.weight = logits[one.expert];
  if (spec_.scores == RouterScores::kSoftmaxOfChosen) {
    compared_.clear();
    for (const ChosenExpert& one : chosen) compared_.push_back(one.weight);
    kernels_.softmax(compared_.data(), static_cast<int>(compared_.size()));
    for (size_t i = 0; i < chosen.size(); ++i) chosen[i].weight = compared_[i];
  }
  weigh(layer, chosen);
}

// Closes the experts of all groups but the best.
void Router::limit_groups() {
  const int n_each = spec_.n_experts / spec_.n_groups;
  for (int group = 0; group < spec_.n_groups; ++group) {
    const std::span merit = std::span(merit_).subspan(group * n_each, n_each);
    const std::span is_open = std::span(is_open_).subspan(group * n_each, n_each);
    groups_[group] = 0.0f;
    for (int i = 0; i < spec_.n_group_best; ++i) {
      const int best = best_of(merit, is_open);
      groups_[group] += merit[best];
      is_open[best] = 0;
    }
  }
  std::ranges::fill(is_taken_, 1);  // open, to choose from
  std::ranges::fill(is_open_, 0);
  for (int i = 0; i < spec_.n_groups_used; ++i) {
    const int best = best_of(groups_, is_taken_);
    is_taken_[best] = 0;
    std::fill_n(is_open_.begin() + best * n_each, n_each, 1);
  }
}

void Router::choose_best(std::span<ChosenExpert> chosen) {
  for (ChosenExpert& one : chosen) {
    one.expert = best_of(merit_, is_open_);
    is_open_[one.expert] = 0;
  }
  std::ranges::sort(chosen, {}, &ChosenExpert::expert);
}

// Two experts: the one with the largest logit, and the one with the largest of the others. The
// weight of each is its share in a softmax over the logits that are not far below its own; the
// second time the first expert is left out.
void Router::mix_sparsely(std::span<const float> logits, std::span<ChosenExpert> chosen) {
  std::ranges::fill(is_open_, 1);
  int without = -1;
  for (ChosenExpert& one : chosen) {
    one.expert = best_of(logits, is_open_);
    is_open_[one.expert] = 0;
    one.weight = share_of_first(logits, one.expert, without);
    without = one.expert;
  }
  std::ranges::sort(chosen, {}, &ChosenExpert::expert);
}

float Router::share_of_first(std::span<const float> logits, int first, int without) {
  const float most = logits[first];
  int place = 0;
  compared_.clear();
  for (int i = 0; i < std::ssize(logits); ++i) {
    const float distance = (most - logits[i]) / std::max(std::fabs(logits[i]), most);
    if (i == without || (i != first && distance > 2.0f * spec_.mixer_jitter)) continue;
    if (i == first) place = static_cast<int>(compared_.size());
    compared_.push_back(logits[i]);
  }
  kernels_.softmax(compared_.data(), static_cast<int>(compared_.size()));
  return compared_[place];
}

void Router::weigh(const LayerWeights& layer, std::span<ChosenExpert> chosen) const {
  if (spec_.renormalised) {
    float sum = 0.0f;
    for (const ChosenExpert& one : chosen) sum += one.weight;
    for (ChosenExpert& one : chosen) one.weight = one.weight / (sum + kLeastSum);
  }
  for (ChosenExpert& one : chosen) {
    one.weight *= spec_.weight_scale;
    if (!layer.expert_scale.empty()) one.weight *= layer.expert_scale[one.expert];
  }
  if (fault_on(Fault::kExpertsByWeight))
    std::ranges::sort(chosen, std::ranges::greater(), &ChosenExpert::weight);
}

}  // namespace pando::exec
