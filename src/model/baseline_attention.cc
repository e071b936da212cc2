#include "model/baseline_attention.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace pando::model {
namespace {

constexpr int64_t kRowsPerItem = 16;

// to[i] = from[index[i]], rows of `width` values: RadixMLP's kernels (B.3).
void select_rows(ThreadPool& pool, std::span<const uint32_t> index, const float* from, size_t width,
                 float* to) {
  const auto n = static_cast<int64_t>(index.size());
  pool.parallel_for((n + kRowsPerItem - 1) / kRowsPerItem, [&](int64_t item, int) {
    for (int64_t i = item * kRowsPerItem; i < std::min(n, (item + 1) * kRowsPerItem); ++i)
      std::memcpy(to + i * width, from + index[i] * width, width * sizeof(float));
  });
}

}  // namespace

void BaselineAttention::run(const kernel::Kernels& kernels, ThreadPool& pool, const StepPlan& plan,
                            const kernel::AttentionArgs& args, kernel::AttentionScratch& scratch) {
  const size_t q_dim = static_cast<size_t>(args.n_heads) * args.kv.shape.head_dim;
  const ExpandedRows& expanded = plan.expanded;
  q_.resize(std::max(q_.size(), expanded.scatter.size() * q_dim));
  out_.resize(q_.size());
  // Keys and values were scattered when they were written to the pages of every copy.
  select_rows(pool, expanded.scatter, args.q, q_dim, q_.data());
  kernel::AttentionArgs of_copies = args;
  of_copies.positions = expanded.positions;
  of_copies.q = q_.data();
  of_copies.out = out_.data();
  kernel::attention(kernels, pool, of_copies, scratch);
  select_rows(pool, expanded.gather, out_.data(), q_dim, args.out);
}

}  // namespace pando::model
