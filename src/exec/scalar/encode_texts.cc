// The forward pass of texts whose rows see both ways (TextPasses).
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "exec/scalar/forward_pass.h"
#include "exec/text_rows.h"

namespace pando::exec::scalar {

// Between two passes the text memory keeps a row's hidden state, then its queries.
Rows ForwardPass::encode(const StepPlan& plan, const KvViews& kv, const TextMemory& memory,
                         const float* before) const {
  PANDO_CHECK((before == nullptr) == weights_.share.is_first());
  const auto first = static_cast<uint32_t>(first_layer_);
  const uint32_t last = first + static_cast<uint32_t>(spec_.n_layers());
  const bool gives_outputs = weights_.share.is_last();
  const auto d_model = static_cast<size_t>(spec_.d_model);
  Rows x;
  for (uint32_t pass = first; pass <= last; ++pass) {
    const int layer = static_cast<int>(pass - first);  // whose queries and keys the pass computes
    const std::vector<uint32_t> rows =
        pass == last && gives_outputs ? plan.outputs : rows_of_pass(plan, pass);
    const StepPlan own = rows_of_texts(plan, rows);
    if (pass == first) {
      const bool has_table = before == nullptr && spec_.n_learned_positions > 0;
      const std::vector<uint32_t> learned =
          has_table ? learned_positions(plan, rows, spec_) : std::vector<uint32_t>();
      x = before == nullptr ? embed_texts(own, learned) : rows_before(before, own.n_rows());
    } else {
      const size_t n_queries = attention_.query_width(layer - 1);
      Rows queries(own.n_rows(), n_queries);
      x = Rows(own.n_rows(), d_model);
      for (uint32_t row = 0; row < own.n_rows(); ++row) {
        const float* const from = memory.row(own.slots[row]);
        std::copy_n(from, d_model, x.row(row));
        std::copy_n(from + d_model, n_queries, queries.row(row));
      }
      const Rows attended = attention_.attend(layer - 1, weights_.layers[layer - 1], own, kv,
                                              queries, last_of_texts(plan, rows));
      finish_layer(layer - 1, attended, x);
    }
    if (pass == last) break;
    const LayerWeights& weights = weights_.layers[layer];
    const Rows h = norm_rows(spec_, weights.values(Role::kAttentionNorm), x, pool_);
    const Rows queries = attention_.write(layer, weights, own, kv, h);
    for (uint32_t row = 0; row < own.n_rows(); ++row) {
      float* const to = memory.row(own.slots[row]);
      std::copy_n(x.row(row), d_model, to);
      std::copy_n(queries.row(row), queries.width, to + d_model);
    }
  }
  return gives_outputs ? norm_rows(spec_, weights_.ends.values(Role::kFinalNorm), x, pool_) : x;
}

Rows ForwardPass::embed_texts(const StepPlan& plan, std::span<const uint32_t> learned) const {
  Rows x = embed(plan.tokens);
  const auto add_row = [&](uint32_t row, Role table, int64_t index) {
    if (!weights_.tables.contains(table)) return;
    const Values own = weights_.table_row(table, index);
    add(x.row(row), own.data(), own.size());
  };
  for (uint32_t row = 0; row < x.n; ++row) {
    add_row(row, Role::kTypeTable, plan.token_types.empty() ? 0 : plan.token_types[row]);
    if (!learned.empty()) add_row(row, Role::kPositionTable, int64_t{learned[row]});
    norm_row(spec_, weights_.ends.values(Role::kEmbeddingNorm), x.row(row), x.row(row));
  }
  return x;
}

}  // namespace pando::exec::scalar
