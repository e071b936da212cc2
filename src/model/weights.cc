#include "model/weights.h"

#include <algorithm>
#include <cstring>

#include "base/errors.h"
#include "model/layer_loader.h"
#include "model/passed_over.h"
#include "model/tensor_loader.h"

namespace pando::model {
namespace {

// Every rank has all of what its stage needs.
Status load_layer_inputs(const TensorLoader& tensors, Weights& w) {
  const std::vector<WeightSpec> specs = layer_input_specs(w.config);
  if (specs.empty()) return {};
  Result<TensorView> table = tensors.table(specs[0]);
  if (!table) return table.error();
  w.layer_input_table = std::move(*table);
  const auto [first, last] = layers_of_share(w.config, w.share);
  const int dim = w.config.layer_input_dim;
  const RowRange rows = {first * dim, last * dim};
  Stack one;
  if (Status status = tensors.stack({&specs[1], 1}, {&rows, 1}, one); !status) return status;
  w.layer_input_projection = std::move(one[0]);
  return tensors.append(specs[2], w.layer_input_norm);
}

bool have_same_bytes(const Checkpoint& checkpoint, const TensorView& a, const TensorView& b) {
  constexpr size_t kPart = size_t{16} << 20;
  for (size_t first = 0; first < a.n_bytes; first += kPart) {
    const size_t n = std::min(kPart, a.n_bytes - first);
    if (std::memcmp(a.data + first, b.data + first, n) != 0) return false;
    for (const TensorView* view : {&a, &b}) checkpoint.release(*view, first, n);
  }
  return true;
}

// A head that a checkpoint has beside tied embeddings is passed over, so it must be their copy.
Status check_tied_head(const Weights& w) {
  const ModelConfig& config = w.config;
  constexpr const char* kHead = "lm_head.weight";
  if (!config.tied_embeddings || w.checkpoint.is_one_gguf() || !w.checkpoint.contains(kHead))
    return {};
  const Result<TensorView> head = w.checkpoint.tensor(kHead, {config.vocab, config.d_model});
  if (head && head->dtype == w.embedding.dtype && head->n_bytes == w.embedding.n_bytes &&
      have_same_bytes(w.checkpoint, *head, w.embedding))
    return {};
  return bad_file(
      "{}: tensor '{}' differs from tensor '{}', expected a copy of it, because "
      "'tie_word_embeddings' is true (hint: set 'tie_word_embeddings' to false in config.json to "
      "use '{}')",
      w.checkpoint.path().string(), kHead, config.family->embedding, kHead);
}

// What stands before and behind the layers.
Status load_ends(const TensorLoader& tensors, Weights& w) {
  const ModelConfig& config = w.config;
  if (w.share.is_last())
    for (const WeightSpec& spec : last_norm_specs(config))
      if (Status status = tensors.append(spec, w.final_norm); !status) return status;
  if (Status status = load_layer_inputs(tensors, w); !status) return status;
  if (!w.share.is_first() && config.layer_input_dim == 0) return {};
  const WeightSpec spec = {config.family->embedding, {config.vocab, config.d_model}};
  // A tied table is read as the LM head too.
  Result<TensorView> embedding =
      config.tied_embeddings ? w.checkpoint.tensor(spec.name, spec.shape) : tensors.table(spec);
  if (!embedding) return embedding.error();
  w.embedding = std::move(*embedding);
  if (!w.share.has_head()) return {};
  if (Status status = check_tied_head(w); !status) return status;
  if (config.head_bias)
    if (Status status = tensors.append(head_bias_spec(config), w.head_bias); !status) return status;
  return tensors.matrix(head_spec(config), w.head);
}

// An error about a tensor, by the name that a GGUF file has for it.
Error in_file_names(const Weights& weights, Error error) {
  if (!weights.checkpoint.is_one_gguf()) return error;
  for (const WeightSpec& spec : weight_specs(weights.config))
    for (const WeightSpec& stored : weights.checkpoint.stored_as(spec)) {
      const std::string named = fmt::format("tensor '{}'", stored.name);
      if (const size_t at = error.message.find(named); at != std::string::npos)
        error.message.replace(at, named.size(), fmt::format("tensor '{}'", stored.gguf_name));
    }
  return error;
}

}  // namespace

Result<Weights> Weights::open(const std::filesystem::path& directory) {
  Result<ModelConfig> config = ModelConfig::load(directory);
  if (!config) return config.error();
  Result<Checkpoint> checkpoint = Checkpoint::open(directory, config->quantization);
  if (!checkpoint) return checkpoint.error();
  // As embedding models are saved.
  const bool has_no_head =
      checkpoint->is_bare() && !config->tied_embeddings && !checkpoint->contains("lm_head.weight");
  if (has_no_head) config->tied_embeddings = true, config->head_bias = false;
  Result<std::vector<std::string>> passed_over = passed_over_parts(*config, *checkpoint);
  if (!passed_over) return passed_over.error();

  return Weights{.config = std::move(*config),
                 .checkpoint = std::move(*checkpoint),
                 .embedding = {},
                 .layers = {},
                 .final_norm = {},
                 .head = {},
                 .head_bias = {},
                 .has_no_head = has_no_head,
                 .passed_over = std::move(*passed_over)};
}

Result<Weights> Weights::load(const std::filesystem::path& directory,
                              std::optional<DType> requantised, const kernel::Kernels& kernels,
                              ThreadPool& pool, const Share& share) {
  Result<Weights> opened = open(directory);
  if (!opened) return opened.error();
  Weights weights = std::move(*opened);
  if (Status status = check_share(weights.config, share); !status) return status.error();
  weights.share = share;
  weights.layers.resize(config_of_share(weights.config, share).layers.size());
  const TensorLoader tensors(weights.checkpoint, requantised, kernels);
  const LayerLoader layers(weights.config, weights.share, tensors);
  const int first = layers_of_share(weights.config, share).first;
  std::vector<Status> statuses(weights.layers.size() + 1);
  pool.parallel_for(static_cast<int64_t>(statuses.size()), [&](int64_t item, int) {
    const int layer = static_cast<int>(item) - 1;  // of the share
    statuses[item] =
        layer < 0 ? load_ends(tensors, weights) : layers.load(first + layer, weights.layers[layer]);
  });
  for (const Status& status : statuses)
    if (!status) return in_file_names(weights, status.error());
  return weights;
}

size_t Weights::bytes() const {
  size_t sum = head.bytes() + layer_input_projection.bytes();
  for (const LayerWeights& layer : layers)
    for (const Stack* stack : {&layer.qkv, &layer.gate_up})
      for (const kernel::PackedMatrix& matrix : *stack) sum += matrix.bytes();
  for (const LayerWeights& layer : layers) {
    sum += layer.o.bytes() + layer.q_up.bytes() + layer.down.bytes() + layer.router.bytes() +
           layer.input_gate.bytes() + layer.input_projection.bytes();
    for (const auto* heads : {&layer.latent_up.keys, &layer.latent_up.values})
      for (const kernel::PackedMatrix& matrix : *heads) sum += matrix.bytes();
    for (const ExpertWeights& expert : layer.experts) {
      sum += expert.down.bytes();
      for (const kernel::PackedMatrix& matrix : expert.gate_up) sum += matrix.bytes();
    }
  }
  return sum;
}

}  // namespace pando::model
