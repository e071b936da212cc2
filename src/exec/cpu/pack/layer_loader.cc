#include "exec/cpu/pack/layer_loader.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/errors.h"

namespace pando::exec {
namespace {

using model::Role;
using model::WeightId;

using Member = std::variant<std::vector<float> LayerWeights::*, Stack LayerWeights::*,
                            kernel::PackedMatrix LayerWeights::*, LatentUp LayerWeights::*,
                            std::vector<float> ExpertWeights::*, Stack ExpertWeights::*,
                            kernel::PackedMatrix ExpertWeights::*>;

// The member that each weight of a layer goes to.
const std::pair<Role, Member> kMembers[] = {
    {Role::kAttentionNorm, &LayerWeights::attention_norm},
    {Role::kQNorm, &LayerWeights::q_norm},
    {Role::kKNorm, &LayerWeights::k_norm},
    {Role::kQkv, &LayerWeights::qkv},
    {Role::kQkvBias, &LayerWeights::qkv_bias},
    {Role::kSinks, &LayerWeights::sinks},
    {Role::kQUp, &LayerWeights::q_up},
    {Role::kLatentUp, &LayerWeights::latent_up},
    {Role::kO, &LayerWeights::o},
    {Role::kOBias, &LayerWeights::o_bias},
    {Role::kConv, &LayerWeights::conv},
    {Role::kConvBias, &LayerWeights::conv_bias},
    {Role::kDecay, &LayerWeights::decay},
    {Role::kDtBias, &LayerWeights::dt_bias},
    {Role::kSkip, &LayerWeights::skip},
    {Role::kStateNorm, &LayerWeights::state_norm},
    {Role::kAttentionSumNorm, &LayerWeights::attention_sum_norm},
    {Role::kFeedForwardNorm, &LayerWeights::feed_forward_norm},
    {Role::kGateUp, &LayerWeights::gate_up},
    {Role::kGateUpBias, &LayerWeights::gate_up_bias},
    {Role::kDown, &LayerWeights::down},
    {Role::kDownBias, &LayerWeights::down_bias},
    {Role::kFeedForwardSumNorm, &LayerWeights::feed_forward_sum_norm},
    {Role::kInputGate, &LayerWeights::input_gate},
    {Role::kInputProjection, &LayerWeights::input_projection},
    {Role::kInputSumNorm, &LayerWeights::input_sum_norm},
    {Role::kScale, &LayerWeights::scale},
    {Role::kRouter, &LayerWeights::router},
    {Role::kRouterBias, &LayerWeights::router_bias},
    {Role::kChoiceBias, &LayerWeights::choice_bias},
    {Role::kExpertScale, &LayerWeights::expert_scale},
    {Role::kSharedGate, &LayerWeights::shared_gate},
    {Role::kRouterNorm, &LayerWeights::router_norm},
    {Role::kExpertsNorm, &LayerWeights::experts_norm},
    {Role::kExpertsSumNorm, &LayerWeights::experts_sum_norm},
    {Role::kSharedSumNorm, &LayerWeights::shared_sum_norm},
    {Role::kExpertGateUp, &ExpertWeights::gate_up},
    {Role::kExpertGateUpBias, &ExpertWeights::gate_up_bias},
    {Role::kExpertDown, &ExpertWeights::down},
    {Role::kExpertDownBias, &ExpertWeights::down_bias},
};

Member member_of(Role role) {
  const auto found = std::ranges::find(kMembers, role, &std::pair<Role, Member>::first);
  PANDO_CHECK(found != std::end(kMembers));
  return found->second;
}

bool alike(const std::vector<float>&, const std::vector<float>&) { return true; }
bool alike(const kernel::PackedMatrix& a, const kernel::PackedMatrix& b) {
  return a.type() == b.type();
}
bool alike(const Stack& a, const Stack& b) {
  return std::ranges::equal(a, b, {}, &kernel::PackedMatrix::type, &kernel::PackedMatrix::type);
}

}  // namespace

Status LayerLoader::load(int index, LayerWeights& layer) const {
  for (const Role role : tensors_.source().roles(index)) {
    const auto load_member = [&]<class T, class Owner>(T Owner::*member) {
      if constexpr (std::is_same_v<Owner, ExpertWeights>)
        return load_experts(role, index, member, layer);
      else if constexpr (std::is_same_v<T, LatentUp>)
        return load_latent(index, layer.*member);
      else
        return fill(tensors_, {role, index}, layer.*member);
    };
    if (Status status = std::visit(load_member, member_of(role)); !status) return status;
  }
  return {};
}

Status LayerLoader::load_latent(int index, LatentUp& up) const {
  const Result<model::Tensors> stored = tensors_.source().tensors({Role::kLatentUp, index});
  if (!stored) return stored.error();
  const model::LatentConfig& l = spec_.latent;
  const WeightRows own = part_of(spec_.n_heads, share_.rank, share_.n_ranks);
  const model::Tensor& first = *stored->front();
  if (stored->size() == 2) {  // keys are turned already
    Status status = tensors_.heads(first, {own, l.rank, 0, l.rank}, up.keys);
    return status ? tensors_.heads(*stored->back(), {own, l.value_dim, 0, l.value_dim}, up.values)
                  : status;
  }
  Status status = tensors_.turned_heads(first, {own, l.up_dim(), 0, l.still_dim}, up.keys);
  return status ? tensors_.heads(first, {own, l.up_dim(), l.still_dim, l.value_dim}, up.values)
                : status;
}

// Experts are multiplied together, which takes one packing of rows for all of them. So if some
// experts of a quantised checkpoint cannot be kept as stored, none is.
template <class T>
Status LayerLoader::load_experts(Role role, int index, T ExpertWeights::*member,
                                 LayerWeights& layer) const {
  const int n_experts = spec_.experts.n_experts;
  layer.experts.resize(n_experts);
  int unlike = 0;  // an expert that differs from the first one
  for (const TensorLoader& tensors : {tensors_, tensors_.widening()}) {
    unlike = 0;
    for (int expert = 0; expert < n_experts && unlike == 0; ++expert) {
      T& out = layer.experts[expert].*member;
      out = T();
      if (Status status = fill(tensors, {role, index, expert}, out); !status) return status;
      if (!alike(layer.experts[0].*member, out)) unlike = expert;
    }
    if (unlike == 0) return {};
  }
  const Result<model::Tensors> stored = tensors_.source().tensors({role, index, unlike});
  if (!stored) return stored.error();
  return in_file(
      tensors_.source().file(),
      of_tensor(
          stored->front()->name,
          unsupported("has another type than the same matrix of the layer's first expert, expected "
                      "one type in all experts")));
}

Status LayerLoader::fill(const TensorLoader& tensors, const WeightId& id,
                         std::vector<float>& out) const {
  const Result<model::Tensors> stored = tensors.source().tensors(id);
  if (!stored) return stored.error();
  const Result<std::vector<float>> all = tensors.values(*stored);
  if (!all) return all.error();
  out.clear();
  for (const auto& [begin, end] :
       rows_of_share(spec_, id.layer, id.role, static_cast<int>(all->size()), share_))
    out.insert(out.end(), all->begin() + begin, all->begin() + end);
  return {};
}

Status LayerLoader::fill(const TensorLoader& tensors, const WeightId& id, Stack& out) const {
  const Result<model::Tensors> stored = tensors.source().tensors(id);
  if (!stored) return stored.error();
  int64_t n = 0;
  for (const auto& tensor : *stored) n += tensor->shape[0];
  return tensors.stack(*stored,
                       rows_of_share(spec_, id.layer, id.role, static_cast<int>(n), share_),
                       id.role == Role::kRouter, out);
}

Status LayerLoader::fill(const TensorLoader& tensors, const WeightId& id,
                         kernel::PackedMatrix& out) const {
  Stack one;
  if (Status status = fill(tensors, id, one); !status) return status;
  PANDO_CHECK(one.size() == 1);
  out = std::move(one[0]);
  return {};
}

}  // namespace pando::exec
