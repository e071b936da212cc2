// The forward pass of texts whose rows see both ways.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/fault.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/kernel/read_weights.h"
#include "exec/cpu/layers/rows.h"
#include "exec/cpu/layers/stopwatch.h"
#include "exec/cpu/transformer.h"
#include "exec/text_rows.h"

namespace pando::exec {

// Rows of a pass lie one behind another in x_ and in the projections of attention_. Where the next
// pass of the step has the same rows, they stay there.
const float* Transformer::encode(const StepPlan& plan, const KvViews& kv, const TextMemory& memory,
                                 const float* before) {
  const auto first = static_cast<uint32_t>(first_layer_);
  const uint32_t last = first + static_cast<uint32_t>(spec_.n_layers());
  const bool gives_outputs = weights_.share.is_last();
  PANDO_CHECK((before == nullptr) == weights_.share.is_first());
  begin_texts(plan);
  TextPart part;
  for (uint32_t pass = first; pass <= last; ++pass) {
    const int layer = static_cast<int>(pass - first);
    std::vector<uint32_t> rows =
        pass == last && gives_outputs ? plan.outputs : rows_of_pass(plan, pass);
    if (pass == first || rows != part.rows) {
      if (pass > first) keep_rows(part, layer - 1, memory);
      part = {std::move(rows), {}, {}};
      part.plan = rows_of_texts(plan, part.rows);
      part.last_seen = last_of_texts(plan, part.rows);
      if (pass > first) fetch_rows(part, layer - 1, memory);
    }
    const uint32_t n_rows = part.plan.n_rows();
    if (n_rows == 0) continue;
    const RowRange all{0, n_rows};
    if (pass == first) {
      const bool has_table = before == nullptr && spec_.n_learned_positions > 0;
      const std::vector<uint32_t> learned =
          has_table ? learned_positions(plan, part.rows, spec_) : std::vector<uint32_t>();
      enter_texts(part.plan, learned, before);
    } else {
      const LayerWeights& weights = weights_.layers[layer - 1];
      attention_.attend(layer - 1, weights, part.plan, all, part.last_seen, kv, products_);
      if (spec_.parallel) {
        add_both(layer - 1, n_rows);
      } else {
        add_mixed(layer - 1, n_rows);
        feed_forward(layer - 1, n_rows);
      }
    }
    if (pass < last)
      attention_.write(layer, weights_.layers[layer], part.plan, all, kv, x_, products_);
    else
      leave_texts(n_rows);
    x_.end_add();
  }
  return gives_outputs ? hidden_.as<float>() : x_.row(0);
}

// Room for the rows of the step's longest pass.
void Transformer::begin_texts(const StepPlan& plan) {
  uint32_t n_rows = 0;
  for (uint32_t pass = 0; pass <= static_cast<uint32_t>(weights_.spec.n_layers()); ++pass)
    n_rows = std::max(n_rows, static_cast<uint32_t>(rows_of_pass(plan, pass).size()));
  x_.begin(n_rows);
  attention_.begin(n_rows);
  for (int i = 0; i < spec_.n_layers(); ++i)
    if (spec_.layers[i].feed_forward == model::FeedForward::kDense)
      gate_up_.reserve(size_t{n_rows} * spec_.n_inner() * spec_.d_ff_of(i) * sizeof(float));
  hidden_.reserve(plan.outputs.size() * spec_.d_model * sizeof(float));
}

// The rows that the first layer reads: embeddings, or rows of the stage before.
void Transformer::enter_texts(const StepPlan& rows, std::span<const uint32_t> learned,
                              const float* before) {
  Stopwatch watch;
  if (before != nullptr) {
    std::memcpy(x_.row(0), before, size_t{rows.n_rows()} * spec_.d_model * sizeof(float));
  } else {
    embed(rows.tokens, x_.row(0));
    for_rows(pool_, rows.n_rows(), [&](uint32_t row) {
      const uint32_t type = rows.token_types.empty() ? 0 : rows.token_types[row];
      add_to_embedding(row, weights_.type_table.get(), type);
      if (!learned.empty()) add_to_embedding(row, weights_.position_table.get(), learned[row]);
      x_.norm(weights_.embedding_norm, x_.row(row), x_.row(row));
    });
  }
  watch.lap(times_.row_ops_s);
}

// Adds a row of a table, if the model has one.
void Transformer::add_to_embedding(uint32_t row, const model::Tensor* table, uint32_t index) {
  if (table == nullptr) return;
  const int64_t n = spec_.d_model;
  PANDO_CHECK(index < table->shape[0]);
  const std::byte* from = table->in_place() + index * stored_bytes(table->type, n);
  std::vector<float> values(n);
  kernel::read_weights(kernels_, table->type, from, n, values.data());
  kernels_.add(x_.row(row), values.data(), spec_.d_model);
}

// Outputs of the last stage go to hidden_; those of another stay in x_.
void Transformer::leave_texts(uint32_t n_rows) {
  Stopwatch watch;
  const bool gives_outputs = weights_.share.is_last();
  const std::span<const float> norm =
      gives_outputs ? std::span<const float>(weights_.final_norm) : std::span<const float>();
  if (gives_outputs || !fault_on(Fault::kStageSumLost))
    for_rows(pool_, n_rows, [&](uint32_t row) {
      float* const out =
          gives_outputs ? hidden_.as<float>() + size_t{row} * spec_.d_model : nullptr;
      const float* const x = x_.read(row, norm, n_rows, out);
      if (gives_outputs && x != out) std::copy_n(x, spec_.d_model, out);
    });
  watch.lap(times_.row_ops_s);
}

// layer: whose projections the rows have.
void Transformer::keep_rows(const TextPart& part, int layer, const TextMemory& memory) {
  if (part.rows.empty()) return;
  const size_t n_queries = attention_.query_len(layer);
  const uint32_t n_rows = part.plan.n_rows() - (fault_on(Fault::kTextRowLost) ? 1 : 0);
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float* const to = memory.row(part.plan.slots[row]);
    std::copy_n(x_.row(row), spec_.d_model, to);
    std::copy_n(attention_.projected(layer, row), n_queries, to + spec_.d_model);
  });
}

void Transformer::fetch_rows(const TextPart& part, int layer, const TextMemory& memory) {
  const size_t n_queries = attention_.query_len(layer);
  for_rows(pool_, part.plan.n_rows(), [&](uint32_t row) {
    const float* const from = memory.row(part.plan.slots[row]);
    std::copy_n(from, spec_.d_model, x_.row(row));
    std::copy_n(from + spec_.d_model, n_queries, attention_.projected(layer, row));
  });
}

}  // namespace pando::exec
