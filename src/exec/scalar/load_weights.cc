// Reads the tensors of a model or stage.
#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/numbers/blocks.h"
#include "exec/scalar/weights.h"
#include "exec/share.h"

namespace pando::exec::scalar {
namespace {

using model::Tensor;
using model::WeightId;

constexpr int64_t kMostInt8Inputs = 131072;  // their sum fits 32 bits

bool is_stack(Role role) {
  switch (role) {
    case Role::kLayerInputProjection:
    case Role::kHead:
    case Role::kQkv:
    case Role::kQUp:
    case Role::kO:
    case Role::kGateUp:
    case Role::kDown:
    case Role::kInputGate:
    case Role::kInputProjection:
    case Role::kRouter:
    case Role::kExpertGateUp:
    case Role::kExpertDown:
      return true;
    default:
      return false;
  }
}

// Rows [first, first + n) of a tensor.
struct RowsOf {
  int64_t first;
  int n;
};

class WeightLoader {
 public:
  WeightLoader(const model::TensorSource& source, std::optional<DType> requantised,
               const Weights& whole)
      : source_(source), requantised_(requantised), whole_(whole) {}

  Status load_ends(Weights& out) const;
  Status load_layer(int index, LayerWeights& layer) const;

 private:
  Status load(const WeightId& id, bool widens, WeightSet& out) const;
  Status load_table(Role role, Weights& out) const;
  Status load_experts(Role role, int index, LayerWeights& layer) const;
  Status load_latent(int index, LayerWeights& layer) const;
  Result<Values> values(const model::Tensors& tensors) const;
  Result<Matrix> matrix(const Tensor& tensor, DType type, RowsOf rows) const;
  Result<Matrix> turned(const Tensor& tensor, RowsOf rows) const;
  DType type_of(const Tensor& tensor, bool widens) const {
    return requantised_.value_or(kept_as(tensor, widens));
  }
  Error refused(const Tensor& tensor, Error error) const {
    return in_file(source_.file(), of_tensor(tensor.name, std::move(error)));
  }
  Status check_inputs(const Tensor& tensor, DType type, int64_t k) const;

  const model::TensorSource& source_;
  std::optional<DType> requantised_;
  const Weights& whole_;  // its spec and share
};

Status WeightLoader::load_ends(Weights& out) const {
  const model::ModelSpec& spec = out.spec;
  const ModelShare& share = out.share;
  const bool has_inputs = spec.layer_input_dim > 0;
  const auto [head_begin, head_end] = logits_of_share(spec, share);
  const bool has_head = head_begin < head_end;
  const std::pair<Role, bool> tables[] = {
      {Role::kEmbedding, share.is_first() || has_inputs},
      {Role::kPositionTable, share.is_first() && spec.n_learned_positions > 0},
      {Role::kTypeTable, share.is_first() && spec.n_token_types > 0},
      {Role::kLayerInputTable, has_inputs}};
  const std::pair<Role, bool> weights[] = {
      {Role::kEmbeddingNorm, share.is_first() && spec.embedding_norm},
      {Role::kLayerInputProjection, has_inputs},
      {Role::kLayerInputNorm, has_inputs},
      {Role::kFinalNorm, share.is_last() && spec.final_norm},
      {Role::kHead, has_head},
      {Role::kHeadBias, has_head && spec.head_bias}};
  Status status;
  for (const auto& [role, is_here] : tables)
    if (status && is_here) status = load_table(role, out);
  for (const auto& [role, is_here] : weights)
    if (status && is_here) status = load({role}, false, out.ends);
  return status;
}

Status WeightLoader::load_layer(int index, LayerWeights& layer) const {
  for (const Role role : source_.roles(index)) {
    const Status status = model::is_of_experts(role) ? load_experts(role, index, layer)
                          : role == Role::kLatentUp  ? load_latent(index, layer)
                                                     : load({role, index}, false, layer);
    if (!status) return status;
  }
  return {};
}

// Experts of quantised files that cannot all be kept as stored get the model's type.
Status WeightLoader::load_experts(Role role, int index, LayerWeights& layer) const {
  const int n_experts = whole_.spec.experts.n_experts;
  layer.experts.resize(n_experts);
  const auto types = [&](int expert) {
    std::vector<DType> all;
    for (const Matrix& matrix : layer.experts[expert].stack(role)) all.push_back(matrix.type());
    return all;
  };
  for (const bool widens : {false, true}) {
    bool are_alike = true;
    for (int expert = 0; expert < n_experts; ++expert) {
      if (Status status = load({role, index, expert}, widens, layer.experts[expert]); !status)
        return status;
      are_alike = are_alike && types(expert) == types(0);
    }
    if (are_alike) break;
  }
  return {};
}

// The matrices between the latent and each head.
Status WeightLoader::load_latent(int index, LayerWeights& layer) const {
  const Result<model::Tensors> stored = source_.tensors({Role::kLatentUp, index});
  if (!stored) return stored.error();
  const model::LatentConfig& l = whole_.spec.latent;
  const Tensor &first = *stored->front(), &last = *stored->back();
  const bool are_apart = stored->size() == 2;  // keys are turned already
  for (int head = 0; head < whole_.spec.n_heads; ++head) {
    const int64_t at = int64_t{head} * l.up_dim();
    Result<Matrix> keys =
        are_apart ? matrix(first, type_of(first, false), {int64_t{head} * l.rank, l.rank})
                  : turned(first, {at, l.still_dim});
    if (!keys) return keys.error();
    const int64_t first_value = are_apart ? int64_t{head} * l.value_dim : at + l.still_dim;
    Result<Matrix> values = matrix(last, type_of(last, false), {first_value, l.value_dim});
    if (!values) return values.error();
    layer.latent_keys.push_back(std::move(*keys));
    layer.latent_values.push_back(std::move(*values));
  }
  return {};
}

Status WeightLoader::load(const WeightId& id, bool widens, WeightSet& out) const {
  const Result<model::Tensors> stored = source_.tensors(id);
  if (!stored) return stored.error();
  if (!is_stack(id.role)) {
    Result<Values> all = values(*stored);
    if (!all) return all.error();
    out.set(id.role, std::move(*all));
    return {};
  }
  Stack stack;
  for (const auto& tensor : *stored) {
    // A router's small differences decide which experts a row has.
    const DType type = id.role == Role::kRouter ? DType::kF32 : type_of(*tensor, widens);
    Result<Matrix> one = matrix(*tensor, type, {0, static_cast<int>(tensor->shape[0])});
    if (!one) return one.error();
    stack.push_back(std::move(*one));
  }
  out.set(id.role, std::move(stack));
  return {};
}

// A table that is used where it lies: nothing else looks at all of it.
Status WeightLoader::load_table(Role role, Weights& out) const {
  Result<model::Tensors> tensors = source_.tensors({role});
  if (!tensors) return tensors.error();
  const Tensor& table = *tensors->front();
  const Status status =
      table.each_row(0, table.shape[0], [](int64_t, const std::byte*) { return Status(); });
  if (status) out.tables[role] = std::move(tensors->front());
  return status;
}

// Elements one after another; of convolutions with the taps outside.
Result<Values> WeightLoader::values(const model::Tensors& tensors) const {
  std::vector<Values> each;  // [rows, taps]
  size_t n_taps = 1;
  for (const auto& tensor : tensors) {
    Result<Values> own = tensor->values();
    if (!own) return own.error();
    n_taps = std::max(n_taps, own->size() / static_cast<size_t>(tensor->shape[0]));
    each.push_back(std::move(*own));
  }
  Values all;
  for (size_t tap = 0; tap < n_taps; ++tap)
    for (const Values& rows : each)
      for (size_t at = tap; at < rows.size(); at += n_taps) all.push_back(rows[at]);
  return all;
}

Status WeightLoader::check_inputs(const Tensor& tensor, DType type, int64_t k) const {
  if (type != DType::kI8 || k <= kMostInt8Inputs) return {};
  return refused(tensor, unsupported("has rows of {}, expected at most {} for {} weights", k,
                                     kMostInt8Inputs, dtype_name(type)));
}

Result<Matrix> WeightLoader::matrix(const Tensor& tensor, DType type, RowsOf rows) const {
  if (Status status = check_inputs(tensor, type, tensor.shape[1]); !status) return status.error();
  Matrix out(type, rows.n, static_cast<int>(tensor.shape[1]));
  const auto read = [&](int64_t row, const std::byte* from) -> Status {
    if (out.set_row(static_cast<int>(row - rows.first), tensor.type, from)) return {};
    return refused(tensor, unsupported("has weights that are too large for {}", dtype_name(type)));
  };
  const Status status = tensor.each_row(rows.first, rows.first + rows.n, read);
  return status ? Result<Matrix>(std::move(out)) : status.error();
}

// The rows as columns. Blocks go along rows: such weights become q8_0.
Result<Matrix> WeightLoader::turned(const Tensor& tensor, RowsOf rows) const {
  const DType kept = kept_as(tensor, false);
  const bool is_float = kept == DType::kF32 || kept == DType::kF16 || kept == DType::kBF16;
  const DType type = requantised_.value_or(is_float ? kept : DType::kQ8_0);
  if (Status status = check_inputs(tensor, type, rows.n); !status) return status.error();
  const int64_t k = tensor.shape[1];
  Values own(k), columns(k * rows.n);
  const auto read = [&](int64_t row, const std::byte* from) -> Status {
    read_weights(tensor.type, from, k, own.data());
    for (int64_t i = 0; i < k; ++i) columns[i * rows.n + row - rows.first] = own[i];
    return {};
  };
  if (Status status = tensor.each_row(rows.first, rows.first + rows.n, read); !status)
    return status.error();
  Matrix out(type, static_cast<int>(k), rows.n);
  for (int i = 0; i < out.n(); ++i) {
    const auto* const from = reinterpret_cast<const std::byte*>(&columns[int64_t{i} * rows.n]);
    if (!out.set_row(i, DType::kF32, from))
      return refused(tensor,
                     unsupported("has weights that are too large for {}", dtype_name(type)));
  }
  return out;
}

}  // namespace

DType kept_as(const Tensor& tensor, bool widens) {
  if (!tensor.widened) return kept_type(tensor.type);
  return widens || tensor.type == DType::kF32 ? *tensor.widened : tensor.type;
}

Result<Weights> Weights::load(const model::ModelSpec& spec, const model::TensorSource& source,
                              std::optional<DType> requantised, const ModelShare& share,
                              ThreadPool& pool, const TakePart& take) {
  if (Status status = check_share(spec, share); !status) return status.error();
  Weights weights{.spec = spec, .share = share};
  const auto [first, last] = layers_of_share(spec, share);
  weights.layers.resize(last - first);
  const WeightLoader loader(source, requantised, weights);
  std::vector<Status> statuses(weights.layers.size() + 1);
  pool.parallel_for(static_cast<int64_t>(statuses.size()), [&, begin = first](int64_t item, int) {
    const int layer = static_cast<int>(item) - 1;
    statuses[item] = layer < 0 ? loader.load_ends(weights)
                               : loader.load_layer(begin + layer, weights.layers[layer]);
    if (statuses[item] && take) take(weights, layer);
  });
  for (const Status& status : statuses)
    if (!status) return status.error();
  return weights;
}

}  // namespace pando::exec::scalar
