#include "exec/cpu/pack/weights.h"

#include <utility>

#include "base/errors.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/pack/layer_loader.h"

namespace pando::exec {
namespace {

using model::Role;
using model::Tensor;

// Loads the weights before and behind the layers.
class EndLoader {
 public:
  EndLoader(const TensorLoader& tensors, Weights& weights) : tensors_(tensors), w_(weights) {}

  Status load() const {
    if (w_.share.is_last() && w_.spec.final_norm)
      if (Status status = values(Role::kFinalNorm, w_.final_norm); !status) return status;
    if (w_.spec.layer_input_dim > 0)
      if (Status status = load_layer_inputs(); !status) return status;
    // A tied table is read as the LM head too, here or on other ranks.
    if (w_.share.is_first() || w_.spec.layer_input_dim > 0)
      if (Status status = table(Role::kEmbedding, !reads_as_head(), w_.embedding); !status)
        return status;
    if (w_.share.is_first())
      if (Status status = load_beside_embedding(); !status) return status;
    return load_head();
  }

 private:
  bool reads_as_head() const { return w_.spec.tied_embeddings && !w_.spec.both_ways; }

  Status load_beside_embedding() const {
    const model::ModelSpec& spec = w_.spec;
    Status status;
    if (spec.n_learned_positions > 0) status = table(Role::kPositionTable, true, w_.position_table);
    if (status && spec.n_token_types > 0) status = table(Role::kTypeTable, true, w_.type_table);
    if (status && spec.embedding_norm) status = values(Role::kEmbeddingNorm, w_.embedding_norm);
    return status;
  }

  Status load_head() const {
    const auto [begin, end] = logits_of_share(w_.spec, w_.share);
    if (begin == end) return {};
    if (w_.spec.head_bias) {
      if (Status status = values(Role::kHeadBias, w_.head_bias); !status) return status;
      w_.head_bias = {w_.head_bias.begin() + begin, w_.head_bias.begin() + end};
    }
    return matrix(Role::kHead, {begin, end}, w_.head);
  }

  // Every rank loads all inputs of its stage's layers.
  Status load_layer_inputs() const {
    if (Status status = table(Role::kLayerInputTable, true, w_.layer_input_table); !status)
      return status;
    const auto [first, last] = layers_of_share(w_.spec, w_.share);
    const int dim = w_.spec.layer_input_dim;
    Status status =
        matrix(Role::kLayerInputProjection, {first * dim, last * dim}, w_.layer_input_projection);
    return status ? values(Role::kLayerInputNorm, w_.layer_input_norm) : status;
  }

  Status values(Role role, std::vector<float>& out) const {
    const Result<model::Tensors> tensors = tensors_.source().tensors({role});
    if (!tensors) return tensors.error();
    Result<std::vector<float>> values = tensors_.values(*tensors);
    if (!values) return values.error();
    out = std::move(*values);
    return {};
  }

  Status matrix(Role role, WeightRows rows, kernel::PackedMatrix& out) const {
    const Result<model::Tensors> tensors = tensors_.source().tensors({role});
    if (!tensors) return tensors.error();
    Stack one;
    if (Status status = tensors_.stack(*tensors, {&rows, 1}, false, one); !status) return status;
    out = std::move(one[0]);
    return {};
  }

  // A table that is used where it lies: nothing else looks at all of it.
  Status table(Role role, bool check, std::unique_ptr<const Tensor>& out) const {
    Result<model::Tensors> tensors = tensors_.source().tensors({role});
    if (!tensors) return tensors.error();
    out = std::move(tensors->front());
    if (!check) return {};
    return out->each_row(0, out->shape[0], [](int64_t, const std::byte*) { return Status(); });
  }

  const TensorLoader& tensors_;
  Weights& w_;
};

double bytes_of_one(DType type) {
  const WeightTypeInfo& info = info_of(type);
  if (info.is_in_files()) return static_cast<double>(info.block_bytes) / info.block_len;
  return type == DType::kI8 ? 1 : 2;
}

}  // namespace

Result<Weights> Weights::load(const model::ModelSpec& spec, const model::TensorSource& source,
                              std::optional<DType> requantised, const kernel::Kernels& kernels,
                              ThreadPool& pool, const ModelShare& share) {
  if (Status status = check_share(spec, share); !status) return status.error();
  Weights weights{.spec = spec, .share = share};
  weights.layers.resize(spec_of_share(spec, share).layers.size());
  const TensorLoader tensors(source, requantised, kernels);
  const LayerLoader layers(weights.spec, weights.share, tensors);
  const EndLoader ends(tensors, weights);
  const int first = layers_of_share(spec, share).first;
  std::vector<Status> statuses(weights.layers.size() + 1);
  pool.parallel_for(static_cast<int64_t>(statuses.size()), [&](int64_t item, int) {
    const int layer = static_cast<int>(item) - 1;  // of the share
    statuses[item] = layer < 0 ? ends.load() : layers.load(first + layer, weights.layers[layer]);
  });
  for (const Status& status : statuses)
    if (!status) return status.error();
  return weights;
}

size_t Weights::bytes() const {
  size_t sum = head.bytes() + layer_input_projection.bytes();
  for (const LayerWeights& layer : layers)
    layer.each_matrix([&](const kernel::PackedMatrix& matrix, bool) { sum += matrix.bytes(); });
  return sum;
}

uint64_t bytes_needed(const model::ModelSpec& spec, const model::TensorSource& source,
                      std::optional<DType> requantised) {
  double sum = 0;
  const auto add = [&](const model::WeightId& id) {
    const Result<model::Tensors> tensors = source.tensors(id);
    if (!tensors) return;
    for (const auto& tensor : *tensors)
      if (tensor->shape.size() == 2)
        sum += bytes_of_one(requantised.value_or(kept_as(*tensor))) *
               static_cast<double>(tensor->shape[0]) * static_cast<double>(tensor->shape[1]);
  };
  if (!spec.both_ways) add({spec.tied_embeddings ? Role::kEmbedding : Role::kHead});
  for (int layer = 0; layer < spec.n_layers(); ++layer)
    for (const Role role : source.roles(layer))
      for (int expert = 0; expert < (is_of_experts(role) ? spec.experts.n_experts : 1); ++expert)
        add({role, layer, is_of_experts(role) ? expert : -1});
  return static_cast<uint64_t>(sum);
}

}  // namespace pando::exec
