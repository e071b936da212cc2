// Feed-forwards on a host: dense ones, and mixtures of experts.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/model_spec.h"
#include "exec/gpu/host.h"
#include "exec/gpu/products.h"
#include "exec/gpu/rows.h"
#include "exec/gpu/weights.h"
#include "exec/scalar/feed_forward.h"
#include "exec/scalar/router.h"

namespace pando::exec::gpu {

class FeedForwards {
 public:
  // All arguments outlive this. spec: the stage's.
  FeedForwards(Host& host, const model::ModelSpec& spec, Products& products)
      : host_(host), spec_(spec), products_(products) {}

  // y becomes W_down activation(W_gate h, W_up h), without the bias of W_down.
  void run(const WeightSet& weights, const scalar::FeedForwardRoles& roles, const Rows& h, Rows& y);
  // sums becomes the sum of each row's experts and of the shared expert. on_host: the
  // layer's values. x: rows of the residual stream. h: these rows, normed.
  void mix(const LayerWeights& layer, const scalar::LayerWeights& on_host, const Rows& x,
           const Rows& h, Rows& sums);

 private:
  using Choice = std::vector<std::vector<scalar::ChosenExpert>>;  // [n_rows]

  const Rows& normed_or(const Values& norm, const Rows& x, const Rows& otherwise, Rows& to);
  Choice choose(const LayerWeights& layer, const scalar::LayerWeights& on_host, const Rows& x,
                const Rows& h);
  void add_expert(const WeightSet& weights, const std::vector<uint32_t>& rows,
                  const std::vector<float>& row_weights, const Rows& h, Rows& sums);
  void add_shared_expert(const LayerWeights& layer, const Rows& h, Rows& sums);

  Host& host_;
  const model::ModelSpec& spec_;
  Products& products_;
  Rows inner_, active_;  // of a feed-forward
  Rows router_rows_, router_logits_;
  Rows of_experts_, expert_rows_, result_;
  List<uint32_t> rows_;
  List<float> row_weights_;
};

}  // namespace pando::exec::gpu
