// Tensors of a checkpoint, widened to f32, and their names.
#pragma once

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/half.h"
#include "model/tensor_rows.h"
#include "model/weight_specs.h"
#include "reference/reference_blocks.h"

namespace pando::reference {

// Reads tensors until one is missing; the caller looks at `status` once, at the end.
class Loader {
 public:
  Loader(const model::ModelConfig& config, const model::Checkpoint& checkpoint,
         std::optional<DType> integers)
      : checkpoint_(checkpoint), integers_(integers) {
    for (const model::WeightSpec& spec : model::weight_specs(config)) {
      specs_.emplace(spec.name, spec);
      for (const model::WeightSpec& part : model::gguf_tensors_of(spec))
        specs_.emplace(part.name, part);
    }
  }

  const Status& status() const { return status_; }

  bool has_shape(const std::string& name, std::initializer_list<int64_t> shape) const {
    return checkpoint_.tensor(name, shape).ok();
  }
  std::vector<float> vector(const std::string& name, std::initializer_list<int64_t> shape) {
    size_t n = 1;
    for (const int64_t size : shape) n *= static_cast<size_t>(size);
    return elements(tensor(name, shape), n);
  }
  std::vector<float> elements(const Result<model::TensorView>& view, size_t n) {
    std::vector<float> out(n);
    if (!view && status_.ok()) status_ = view.error();
    if (!view) return out;
    if (comes_in_blocks(view->dtype)) {
      const std::vector<Quantised> groups = blocks_of(*view);
      for (size_t i = 0; i < n; ++i) out[i] = groups[i / 32].value(static_cast<int>(i % 32));
      return out;
    }
    const size_t row_len = n / static_cast<size_t>(view->shape[0]);
    for (size_t i = 0; i < n; ++i) {
      const size_t row = view->rows.stored(static_cast<int64_t>(i / row_len));
      const size_t column = view->columns.stored(i % row_len);
      out[i] =
          element(*view, view->transposed ? column * (n / row_len) + row : row * row_len + column);
    }
    return out;
  }

  static float element(const model::TensorView& view, size_t at) {
    uint16_t half = 0;
    float x = 0.0f;
    if (view.dtype == DType::kF32) {
      std::memcpy(&x, view.data + 4 * at, 4);
    } else {
      std::memcpy(&half, view.data + 2 * at, 2);
      x = view.dtype == DType::kF16 ? f16_to_f32(half) : bf16_to_f32(half);
    }
    if (view.stored == model::Stored::kOneLess) return 1.0f + x;
    if (view.stored == model::Stored::kLogDecay)
      return static_cast<float>(-std::exp(static_cast<double>(x)));
    return x;
  }

  // Row by row, [rows, columns / 32] groups.
  static std::vector<Quantised> blocks_of(const model::TensorView& view) {
    std::vector<Quantised> groups;
    model::TensorRows rows(view);
    for (int64_t row = 0; row < view.shape[0]; ++row)
      for (Quantised& group : read_blocks(view.dtype, rows[row], view.shape[1]))
        groups.push_back(std::move(group));
    return groups;
  }

  // Rows [first, first + n) of a weight of n_all rows.
  Matrix matrix(const std::string& name, int n, int k, int first = 0, int n_all = 0) {
    const std::initializer_list<int64_t> shape = {n_all == 0 ? n : n_all, k};
    return matrix_of(tensor(name, shape), n, k, first, n_all);
  }
  Matrix matrix_of(const Result<model::TensorView>& view, int n, int k, int first, int n_all) {
    if (view && comes_in_blocks(view->dtype) && !integers_) {
      const std::vector<Quantised> all = blocks_of(*view);
      const auto begin = all.begin() + int64_t{first} * k / 32;
      return {{begin, begin + int64_t{n} * k / 32}, n, k};
    }
    const std::vector<float> all = elements(view, size_t(n_all == 0 ? n : n_all) * k);
    const auto begin = all.begin() + int64_t{first} * k;
    return {
        {begin, begin + int64_t{n} * k}, n, k, integers_ == DType::kF32 ? std::nullopt : integers_};
  }

  // Does the same for rows that become columns. Blocks go along rows: such weights become q8_0.
  Matrix turned(const std::string& name, int n, int k, int first, int n_all) {
    const Result<model::TensorView> view = tensor(name, {n_all, k});
    const bool blocks = view && comes_in_blocks(view->dtype);
    const std::vector<float> all = vector(name, {n_all, k});
    std::vector<float> columns;
    for (int column = 0; column < k; ++column)
      for (int row = first; row < first + n; ++row)
        columns.push_back(all[size_t(row) * k + column]);
    return {columns, k, n, blocks && !integers_ ? DType::kQ8_0 : integers_};
  }

  // Rows [first, first + n) of one expert's matrix, or elements of its vector (k is 0).
  Matrix expert_matrix(const model::WeightSpec& spec, int expert, int first, int n, int k) {
    const auto [one, before] = stored_at(spec, expert, first);
    return matrix_of(checkpoint_.tensor(one), n, k, first - before, static_cast<int>(one.shape[0]));
  }
  std::vector<float> expert_vector(const model::WeightSpec& spec, int expert, int first, int n) {
    const auto [one, before] = stored_at(spec, expert, first);
    const std::vector<float> all =
        elements(checkpoint_.tensor(one), static_cast<size_t>(one.shape[0]));
    return {all.begin() + first - before, all.begin() + first - before + n};
  }

  std::vector<float> vector_if(bool present, const std::string& name, int n) {
    return present ? vector(name, {n}) : std::vector<float>();
  }

 private:
  // The tensor that has row `row` of an expert, and the number of rows before it.
  std::pair<model::WeightSpec, int> stored_at(const model::WeightSpec& spec, int expert, int row) {
    int before = 0;
    for (const model::WeightSpec& stored : checkpoint_.stored_as(spec)) {
      if (stored.expert >= 0 && stored.expert != expert) continue;
      const model::WeightSpec one = stored.expert < 0 ? stored.of_expert(expert) : stored;
      const int n = static_cast<int>(one.shape[0]);
      if (row < before + n) return {one, before};
      before += n;
    }
    return {spec.of_expert(expert), 0};
  }
  Result<model::TensorView> tensor(const std::string& name, std::initializer_list<int64_t> shape) {
    const auto spec = specs_.find(name);
    return spec == specs_.end() ? checkpoint_.tensor(name, shape)
                                : checkpoint_.tensor(spec->second);
  }

  const model::Checkpoint& checkpoint_;
  std::optional<DType> integers_;
  std::map<std::string, model::WeightSpec> specs_;  // by name
  Status status_;
};

// The names of one layer's tensors.
struct Names {
  const model::Checkpoint& checkpoint;
  int layer;

  std::string operator()(const char* part) const { return model::layer_weight_name(layer, part); }
  bool has(const char* part) const { return checkpoint.contains((*this)(part)); }
  // The first that is there, or the first.
  std::string any(std::initializer_list<const char*> parts) const {
    for (const char* part : parts)
      if (has(part)) return (*this)(part);
    return (*this)(*parts.begin());
  }
};

}  // namespace pando::reference
