#include "model/gguf_classifier.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/errors.h"
#include "base/gguf.h"
#include "base/numbers/blocks.h"
#include "model/gguf_translator.h"
#include "model/tensor_rows.h"
#include "model/weight_specs.h"

namespace pando::model {
namespace {

constexpr double kAlike = 0.95;  // cosine of a row and the same row in another type, at least

std::vector<float> row_of(const TensorView& view, int64_t row) {
  std::vector<float> values(static_cast<size_t>(view.shape[1]));
  TensorRows rows(view);
  read_weights(view.dtype, rows[row], view.shape[1], values.data());
  return values;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace

Status check_classifier(const Checkpoint& checkpoint, const ModelConfig& config) {
  const GgufFile& gguf = checkpoint.gguf();
  const auto labels = gguf.strings(
      fmt::format("{}.classifier.output_labels", gguf_architecture_of(gguf, *config.family)));
  const auto tokens = gguf.strings("tokenizer.ggml.tokens");
  const TensorPlace where{checkpoint.path().string(), std::string(kClassifier)};
  if (!labels || !tokens || !*labels || !*tokens)
    return in_tensor(where, unsupported("is a classifier whose labels are not named as tokens, "
                                        "expected a model with an LM head"));
  const auto n = static_cast<int64_t>((*labels)->size());
  const Result<TensorView> rows = checkpoint.tensor(kClassifier, {n, config.d_model});
  if (!rows) return rows.error();
  const Result<TensorView> head = checkpoint.tensor(head_spec(config));
  if (!head) return head.error();
  for (int64_t i = 0; i < n; ++i) {
    const std::string_view label = (**labels)[static_cast<size_t>(i)];
    const int64_t token = std::ranges::find(**tokens, label) - (*tokens)->begin();
    const bool is_alike =
        token < config.vocab && cosine(row_of(*rows, i), row_of(*head, token)) >= kAlike;
    if (!is_alike)
      return in_tensor(
          where,
          unsupported("the row for '{}' differs from that of the LM head, expected equal rows",
                      label));
  }
  return {};
}

}  // namespace pando::model
