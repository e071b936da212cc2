#include "model/opened_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/errors.h"
#include "base/numbers/blocks.h"
#include "model/family.h"
#include "model/passed_over.h"
#include "model/tensor_rows.h"

namespace pando::model {
namespace {

constexpr int64_t kReleaseBytes = int64_t{4} << 20;

float value_of(Stored stored, float x) {
  switch (stored) {
    case Stored::kItself:
      break;
    case Stored::kOneLess:
      return 1.0f + x;
    case Stored::kLogDecay:
      return static_cast<float>(-std::exp(static_cast<double>(x)));
  }
  return x;
}

// The place of each column of a row in the file; empty if they lie in order.
std::vector<size_t> columns_of(const TensorView& view) {
  std::vector<size_t> columns;
  for (int64_t i = 0; !view.columns.keeps() && i < view.shape[1]; ++i)
    columns.push_back(static_cast<size_t>(view.columns.stored(i)));
  return columns;
}

class FileTensor final : public Tensor {
 public:
  FileTensor(const Checkpoint& checkpoint, std::string own_name, TensorView view)
      : checkpoint_(checkpoint), view_(std::move(view)) {
    name = std::move(own_name);
    shape = view_.shape;
    type = view_.dtype;
    if (view_.quantized) widened = view_.quantized->widened();
  }

  Status each_row(int64_t first, int64_t last, ReadRow read) const override {
    TensorRows rows(view_);
    const std::vector<size_t> columns = columns_of(view_);
    std::vector<std::byte> ordered(columns.size() * dtype_size(type));
    const size_t row_bytes = rows.row_bytes();
    const int64_t rows_each = std::max<int64_t>(1, kReleaseBytes / static_cast<int64_t>(row_bytes));
    for (int64_t row = first; row < last;) {
      const int64_t begin = row;
      for (; row < std::min(last, begin + rows_each); ++row) {
        const std::byte* from = rows[row];
        if (!all_finite(type, from, shape[1])) return not_finite("row", row);
        const size_t size = dtype_size(type);
        for (size_t i = 0; i < columns.size(); ++i)
          std::memcpy(&ordered[i * size], from + columns[i] * size, size);
        if (Status status = read(row, columns.empty() ? from : ordered.data()); !status)
          return status;
      }
      // A pair of halves of a head may lie beyond: then it is read again, which changes nothing.
      if (view_.quantized || view_.transposed)  // all of it: a file may have rows side by side
        checkpoint_.release(view_, 0, view_.n_bytes);
      else
        checkpoint_.release(view_, begin * row_bytes, (row - begin) * row_bytes);
    }
    return {};
  }

  Result<std::vector<float>> values() const override {
    if (block_len(type) != 1)
      return in_file(
          checkpoint_.path().string(),
          of_tensor(name, unsupported("is a vector of {}, expected one of f32, f16 or bf16",
                                      dtype_name(type))));
    int64_t n = 1;
    for (const int64_t size : shape) n *= size;
    const int64_t n_taps = n / shape[0];
    std::vector<float> stored(n), values;
    read_weights(type, view_.data, n, stored.data());
    for (int64_t i = 0; i < shape[0]; ++i)
      for (int64_t tap = 0; tap < n_taps; ++tap) {
        const int64_t at = view_.rows.stored(i) * n_taps + tap;
        values.push_back(value_of(view_.stored, stored[at]));
        if (!std::isfinite(stored[at]) || !std::isfinite(values.back()))
          return not_finite("element", at);
      }
    return values;
  }

  const std::byte* in_place() const override { return view_.data; }

 private:
  Error not_finite(const char* unit, int64_t index) const {
    return in_file(
        checkpoint_.path().string(),
        of_tensor(name, bad_file("holds NaN or infinity in {} {}, expected finite numbers", unit,
                                 index)));
  }

  const Checkpoint& checkpoint_;
  TensorView view_;
};

bool have_same_bytes(const Checkpoint& checkpoint, const TensorView& a, const TensorView& b) {
  constexpr size_t kPart = size_t{16} << 20;
  for (size_t first = 0; first < a.n_bytes; first += kPart) {
    const size_t n = std::min(kPart, a.n_bytes - first);
    if (std::memcmp(a.data + first, b.data + first, n) != 0) return false;
    for (const TensorView* view : {&a, &b}) checkpoint.release(*view, first, n);
  }
  return true;
}

}  // namespace

OpenedModel::OpenedModel(ModelConfig of_model, Checkpoint of_files)
    : config(std::move(of_model)), checkpoint(std::move(of_files)) {
  for (int layer = 0; layer < config.n_layers(); ++layer)
    of_layers_.push_back(config.family->layer_weights(config, layer));
}

Result<OpenedModel> OpenedModel::open(const ModelPath& path) {
  Result<ModelConfig> config = ModelConfig::load(path);
  if (!config) return config.error();
  Result<Checkpoint> checkpoint = Checkpoint::open(path, config->quantization);
  if (!checkpoint) return checkpoint.error();
  // Embedding models are saved without a head.
  const bool has_no_head = !config->both_ways && !config->tied_embeddings &&
                           (checkpoint->is_bare() || checkpoint->contains(kScore)) &&
                           !checkpoint->contains("lm_head.weight");
  if (has_no_head) config->tied_embeddings = true, config->head_bias = false;
  Result<std::vector<std::string>> passed_over = passed_over_parts(*config, *checkpoint);
  if (!passed_over) return passed_over.error();
  OpenedModel opened(std::move(*config), std::move(*checkpoint));
  opened.has_no_head = has_no_head;
  opened.passed_over = std::move(*passed_over);
  return opened;
}

std::vector<Role> OpenedModel::roles(int layer) const {
  std::vector<Role> roles;
  for (const WeightSpec& spec : of_layers_[layer])
    if (std::ranges::find(roles, spec.role) == roles.end()) roles.push_back(spec.role);
  return roles;
}

std::vector<WeightSpec> OpenedModel::specs_of(const WeightId& id) const {
  std::vector<WeightSpec> specs;
  if (id.layer < 0) {
    for (const WeightSpec& spec : end_specs(config))
      if (spec.role == id.role)
        for (WeightSpec& stored : checkpoint.stored_as(spec)) specs.push_back(std::move(stored));
    return specs;
  }
  for (const WeightSpec& spec : of_layers_[id.layer]) {
    if (spec.role != id.role) continue;
    for (WeightSpec& stored :
         id.expert < 0 ? checkpoint.stored_as(spec) : checkpoint.stored_as(spec, id.expert))
      specs.push_back(std::move(stored));
  }
  return specs;
}

Result<Tensors> OpenedModel::tensors(const WeightId& id) const {
  if (id.role == Role::kHead)
    if (Status status = check_tied_head(); !status) return status.error();
  Tensors tensors;
  const std::vector<WeightSpec> specs = specs_of(id);
  for (const WeightSpec& spec : specs) {
    // A table is read where it lies, so a quantised matrix cannot be one.
    const bool is_table = id.role == Role::kEmbedding || id.role == Role::kLayerInputTable ||
                          id.role == Role::kPositionTable || id.role == Role::kTypeTable;
    Result<TensorView> view =
        is_table ? checkpoint.tensor(spec.name, spec.shape) : checkpoint.tensor(spec);
    if (!view) return in_file_name(view.error(), spec);
    tensors.push_back(
        std::make_unique<FileTensor>(checkpoint, name_in_file(spec), std::move(*view)));
  }
  return tensors;
}

// A head that a checkpoint has beside tied embeddings is passed over, so it must be their copy.
Status OpenedModel::check_tied_head() const {
  constexpr const char* kHead = "lm_head.weight";
  if (!config.tied_embeddings || checkpoint.is_one_gguf() || !checkpoint.contains(kHead)) return {};
  const std::initializer_list<int64_t> shape = {config.vocab, config.d_model};
  const Result<TensorView> embedding = checkpoint.tensor(config.family->embedding, shape);
  if (!embedding) return embedding.error();
  const Result<TensorView> head = checkpoint.tensor(kHead, shape);
  if (head && head->dtype == embedding->dtype && head->n_bytes == embedding->n_bytes &&
      have_same_bytes(checkpoint, *head, *embedding))
    return {};
  return in_file(
      file(), of_tensor(kHead, bad_file("differs from tensor '{}', expected a copy of it, because "
                                        "'tie_word_embeddings' is true",
                                        config.family->embedding)));
}

std::string OpenedModel::name_in_file(const WeightSpec& spec) const {
  return checkpoint.is_one_gguf() ? spec.gguf_name : spec.name;
}

// An error about a tensor, by the name that the file has for it.
Error OpenedModel::in_file_name(Error error, const WeightSpec& spec) const {
  if (error.place.tensor == spec.name) error.place.tensor = name_in_file(spec);
  return error;
}

}  // namespace pando::model
