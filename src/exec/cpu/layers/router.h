// Chooses the experts of each row, and their weights.
#pragma once

#include <span>
#include <vector>

#include "contract/model_spec.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/pack/layer_weights.h"

namespace pando::exec {

struct ChosenExpert {
  int expert;
  float weight;  // of the expert's output
};

// Chooses for one row at a time, from nothing but its logits (docs/arithmetic.md, "Mixtures of
// experts"). One for each thread.
class Router {
 public:
  Router(const model::ExpertsConfig& spec, const kernel::Kernels& kernels);

  // logits: [n_experts], which it changes. chosen: [n_used], by ascending expert.
  void choose(const LayerWeights& layer, std::span<float> logits, std::span<ChosenExpert> chosen);

 private:
  void limit_groups();
  void choose_best(std::span<ChosenExpert> chosen);
  void mix_sparsely(std::span<const float> logits, std::span<ChosenExpert> chosen);
  float share_of_first(std::span<const float> logits, int first, int without);
  void weigh(const LayerWeights& layer, std::span<ChosenExpert> chosen) const;

  const model::ExpertsConfig& spec_;
  const kernel::Kernels& kernels_;
  std::vector<float> merit_;     // [n_experts] by which experts are chosen
  std::vector<char> is_open_;    // [n_experts] whether the expert may be chosen
  std::vector<float> groups_;    // [n_groups] merit of each
  std::vector<char> is_taken_;   // [n_groups] whether the group is among the best
  std::vector<float> compared_;  // of a softmax over some of the logits
};

}  // namespace pando::exec
