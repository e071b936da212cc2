#include "exec/scalar/router.h"

#include <algorithm>
#include <cmath>

#include "exec/scalar/math.h"
#include "exec/scalar/rows.h"

namespace pando::exec::scalar {
namespace {

using model::ExpertsConfig;
using model::RouterScores;

// The index of the largest open value, the lowest of equal ones. At least one is open.
int best_of(const std::vector<float>& values, const std::vector<bool>& is_open) {
  int best = -1;
  for (size_t i = 0; i < values.size(); ++i)
    if (is_open[i] && (best < 0 || values[i] > values[best])) best = static_cast<int>(i);
  return best;
}

// The experts of the best groups.
std::vector<bool> open_experts(const ExpertsConfig& spec, const std::vector<float>& merits) {
  std::vector<bool> is_open(merits.size(), spec.n_groups_used == spec.n_groups);
  if (spec.n_groups_used == spec.n_groups) return is_open;
  const int n_each = spec.n_experts / spec.n_groups;
  std::vector<float> groups;
  for (int group = 0; group < spec.n_groups; ++group) {
    const auto first = merits.begin() + group * n_each;
    std::vector<float> own(first, first + n_each);
    std::ranges::sort(own, std::ranges::greater());
    float sum = 0.0f;
    for (int i = 0; i < spec.n_group_best; ++i) sum += own[i];
    groups.push_back(sum);
  }
  std::vector<bool> is_left(groups.size(), true);
  for (int i = 0; i < spec.n_groups_used; ++i) {
    const int best = best_of(groups, is_left);
    is_left[best] = false;
    std::fill_n(is_open.begin() + best * n_each, n_each, true);
  }
  return is_open;
}

// The share of logit `index` in a softmax over the logits that are not far below it. without: an
// expert that is left out; -1: none.
float share_of(const ExpertsConfig& spec, const std::vector<float>& logits, int index,
               int without) {
  const float most = logits[index];
  std::vector<float> near;
  size_t place = 0;
  for (int i = 0; i < spec.n_experts; ++i) {
    const float distance = (most - logits[i]) / std::max(std::fabs(logits[i]), most);
    if (i == without || (i != index && distance > 2.0f * spec.mixer_jitter)) continue;
    if (i == index) place = near.size();
    near.push_back(logits[i]);
  }
  softmax(near.data(), static_cast<int>(near.size()));
  return near[place];
}

std::vector<ChosenExpert> mix_sparsely(const ExpertsConfig& spec,
                                       const std::vector<float>& logits) {
  std::vector<bool> is_open(logits.size(), true);
  std::vector<ChosenExpert> chosen;
  int without = -1;
  for (int i = 0; i < spec.n_used; ++i) {
    const int best = best_of(logits, is_open);
    is_open[best] = false;
    chosen.push_back({best, share_of(spec, logits, best, without)});
    without = best;
  }
  std::ranges::sort(chosen, {}, &ChosenExpert::expert);
  return chosen;
}

void weigh(const ExpertsConfig& spec, const LayerWeights& layer,
           std::vector<ChosenExpert>& chosen) {
  float sum = 0.0f;
  for (const ChosenExpert& one : chosen) sum += one.weight;
  const Values& own = layer.values(Role::kExpertScale);
  for (ChosenExpert& one : chosen) {
    if (spec.renormalised) one.weight = one.weight / (sum + 1e-20f);
    one.weight *= spec.weight_scale;
    if (!own.empty()) one.weight *= own[one.expert];
  }
}

}  // namespace

std::vector<ChosenExpert> choose_experts(const ExpertsConfig& spec, const LayerWeights& layer,
                                         std::vector<float> logits) {
  const Values& bias = layer.values(Role::kRouterBias);
  const Values& choice_bias = layer.values(Role::kChoiceBias);
  add(logits.data(), bias.data(), bias.size());
  if (spec.scores == RouterScores::kSparseMixer) return mix_sparsely(spec, logits);
  std::vector<float>& scores = logits;
  if (spec.scores == RouterScores::kSoftmax) softmax(scores.data(), spec.n_experts);
  if (spec.scores == RouterScores::kSigmoid)
    for (float& score : scores) score = sigmoid(score);
  std::vector<float> merits = scores;
  add(merits.data(), choice_bias.data(), choice_bias.size());
  std::vector<bool> is_open = open_experts(spec, merits);
  std::vector<ChosenExpert> chosen;
  for (int i = 0; i < spec.n_used; ++i) {
    const int best = best_of(merits, is_open);
    is_open[best] = false;
    chosen.push_back({best, scores[best]});
  }
  std::ranges::sort(chosen, {}, &ChosenExpert::expert);
  if (spec.scores == RouterScores::kSoftmaxOfChosen) {
    std::vector<float> own;
    for (const ChosenExpert& one : chosen) own.push_back(one.weight);
    softmax(own.data(), spec.n_used);
    for (int i = 0; i < spec.n_used; ++i) chosen[i].weight = own[i];
  }
  weigh(spec, layer, chosen);
  return chosen;
}

}  // namespace pando::exec::scalar
