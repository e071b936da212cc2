#include <functional>

#include "base/errors.h"
#include "base/fields.h"
#include "base/is_there.h"
#include "base/numbers/blocks.h"
#include "model/module_files.h"
#include "model/tensor_rows.h"
#include "model/torch_archive.h"
#include "model/unoffered.h"
#include "model/vector_steps.h"

namespace pando::model {
namespace {

using FieldNames = std::span<const std::string_view>;

constexpr std::string_view kVectorName = "sentence_embedding";
constexpr std::string_view kNormalizeFields[] = {"module_input_name", "module_output_name"};
constexpr std::string_view kDenseFields[] = {
    "in_features",         "out_features",      "bias",
    "activation_function", "module_input_name", "module_output_name"};
constexpr std::string_view kLayerNormFields[] = {"dimension"};

Result<std::vector<float>> read_values(const Checkpoint& checkpoint, std::string_view name, int n) {
  const Result<TensorView> view = checkpoint.tensor(name, {n});
  if (!view) return view.error();
  std::vector<float> values(static_cast<size_t>(n));
  read_weights(view->dtype, view->data, n, values.data());
  return values;
}

Result<std::vector<float>> read_bias(const Checkpoint& checkpoint, std::string_view name, int n) {
  if (name.empty()) return std::vector<float>();
  return read_values(checkpoint, name, n);
}

bool has_safetensors(const ModelPath& folder) {
  return is_there((folder / "model.safetensors").path());
}

// Puts a matrix [n_out, n_in] into a step by columns.
void take_rows(const std::function<const float*(int)>& row, VectorStep& step) {
  const auto n_in = static_cast<size_t>(step.n_in), n_out = static_cast<size_t>(step.n_out);
  step.weight.resize(n_in * n_out);
  for (size_t o = 0; o < n_out; ++o) {
    const float* values = row(static_cast<int>(o));
    for (size_t i = 0; i < n_in; ++i) step.weight[i * n_out + o] = values[i];
  }
}

// Allows only the vector itself as the input and the output of a module.
void check_names(Fields& fields) {
  for (const std::string_view name : kNormalizeFields)
    if (fields.string(name, kVectorName) != kVectorName)
      fields.refuse(name, "\"sentence_embedding\"", ErrorCode::kUnsupported);
}

Result<VectorStep> read_dense_module(Fields& fields, const ModelPath& folder) {
  const auto n_in = static_cast<int>(fields.integer("in_features", 1, 1 << 20));
  const auto n_out = static_cast<int>(fields.integer("out_features", 1, 1 << 20));
  const bool has_bias = fields.boolean("bias", true);
  const std::string name = fields.string("activation_function", "torch.nn.modules.activation.Tanh");
  check_names(fields);
  if (!fields.status()) return fields.status().error();
  const Result<VectorActivation> activation = activation_named(name);
  if (!activation) return in_file(fields.source(), activation.error());
  const ModelPath pickle = folder / "pytorch_model.bin";
  if (!has_safetensors(folder) && is_there(pickle.path())) {
    Result<VectorStep> step = read_torch_dense(pickle, *activation);
    if (step && (step->n_in != n_in || step->n_out != n_out || !has_bias))
      return in_file(pickle.string(), bad_file("has a matrix of {} to {} values, expected {} to {}",
                                               step->n_in, step->n_out, n_in, n_out));
    return step;
  }
  const Result<Checkpoint> checkpoint = Checkpoint::open(folder);
  if (!checkpoint) return checkpoint.error();
  return read_dense(*checkpoint, {"linear.weight", has_bias ? "linear.bias" : ""}, n_in, n_out,
                    *activation);
}

Result<VectorStep> read_layer_norm_module(Fields& fields, const ModelPath& folder) {
  const auto n = static_cast<int>(fields.integer("dimension", 1, 1 << 20));
  if (!fields.status()) return fields.status().error();
  const Result<Checkpoint> checkpoint = Checkpoint::open(folder);
  if (!checkpoint) return checkpoint.error();
  return read_layer_norm(*checkpoint, {"norm.weight", "norm.bias"}, n, 1e-5F);
}

}  // namespace

Result<VectorStep> read_dense(const Checkpoint& checkpoint, const StepTensors& names, int n_in,
                              int n_out, VectorActivation activation) {
  const Result<TensorView> view = checkpoint.tensor(names.weight, {n_out, n_in});
  if (!view) return view.error();
  Result<std::vector<float>> bias = read_bias(checkpoint, names.bias, n_out);
  if (!bias) return bias.error();
  VectorStep step{.kind = VectorStep::Kind::kDense,
                  .n_in = n_in,
                  .n_out = n_out,
                  .bias = std::move(*bias),
                  .activation = activation};
  std::vector<float> row(static_cast<size_t>(n_in));
  TensorRows rows(*view);
  take_rows(
      [&](int o) {
        read_weights(view->dtype, rows[o], n_in, row.data());
        return row.data();
      },
      step);
  return step;
}

Result<VectorStep> read_torch_dense(const ModelPath& path, VectorActivation activation) {
  Result<std::vector<std::vector<float>>> storages = read_torch_storages(path);
  if (!storages) return storages.error();
  const bool is_sound = storages->size() == 2 && !(*storages)[1].empty() &&
                        (*storages)[0].size() % (*storages)[1].size() == 0;
  if (!is_sound)
    return in_file(path.string(),
                   bad_file("has {} tensors, expected a matrix and its bias", storages->size()));
  const std::vector<float>& matrix = (*storages)[0];
  const size_t n_out = (*storages)[1].size();
  VectorStep step{.kind = VectorStep::Kind::kDense,
                  .n_in = static_cast<int>(matrix.size() / n_out),
                  .n_out = static_cast<int>(n_out),
                  .bias = std::move((*storages)[1]),
                  .activation = activation};
  take_rows([&](int o) { return matrix.data() + static_cast<size_t>(o) * (matrix.size() / n_out); },
            step);
  return step;
}

Result<VectorStep> read_layer_norm(const Checkpoint& checkpoint, const StepTensors& names, int n,
                                   float epsilon) {
  Result<std::vector<float>> weight = read_values(checkpoint, names.weight, n);
  if (!weight) return weight.error();
  Result<std::vector<float>> bias = read_bias(checkpoint, names.bias, n);
  if (!bias) return bias.error();
  return VectorStep{.kind = VectorStep::Kind::kLayerNorm,
                    .n_in = n,
                    .n_out = n,
                    .weight = std::move(*weight),
                    .bias = std::move(*bias),
                    .epsilon = epsilon};
}

Result<VectorStep> read_vector_module(std::string_view kind, const ModelPath& folder, int n_in) {
  const ModelPath path = folder / "config.json";
  const Result<Json> object = read_object_file(path);
  if (!object) return object.error();
  Fields fields(*object, path.string());
  const FieldNames known = kind == "Dense"       ? FieldNames(kDenseFields)
                           : kind == "LayerNorm" ? FieldNames(kLayerNormFields)
                                                 : FieldNames(kNormalizeFields);
  refuse_unknown(fields, *object, known);
  if (kind == "Normalize") {
    check_names(fields);
    return fields.status() ? Result<VectorStep>(VectorStep{}) : fields.status().error();
  }
  Result<VectorStep> step =
      kind == "Dense" ? read_dense_module(fields, folder) : read_layer_norm_module(fields, folder);
  if (step && n_in > 0 && step->n_in != n_in)
    return in_file(path.string(), bad_file("reads vectors of {} values, expected {} as the module "
                                           "before it makes",
                                           step->n_in, n_in));
  return step;
}

}  // namespace pando::model
