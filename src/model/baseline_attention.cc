#include "model/baseline_attention.h"

#include <algorithm>

#include "kernel/select_rows.h"

namespace pando::model {

void BaselineAttention::run(const StepPlan& plan, const kernel::AttentionArgs& args,
                            const kernel::NewKeys& keys, kernel::AttentionScratch& scratch) {
  const size_t q_dim = static_cast<size_t>(args.n_heads) * args.kv.shape.head_dim;
  if (plan.skips_attention) {
    std::fill_n(args.out, plan.n_rows() * q_dim, 0.0f);
    return;
  }
  if (!plan.expanded.empty()) return run_expanded(plan, args, scratch);
  if (!plan.levels.empty()) {
    const LevelRows& levels = plan.levels;
    return kernel::level_attention(kernels_, pool_, args,
                                   {.tasks = levels.tasks,
                                    .pages = levels.pages,
                                    .states_begin = levels.states_begin,
                                    .states = levels.states},
                                   scratch);
  }
  const uint32_t n_masked = plan.masked.n_rows(), n_idle = plan.n_idle;
  if (n_masked > 0) run_masked(plan, args, keys, scratch);
  kernel::AttentionArgs rest = args;
  rest.positions = args.positions.subspan(n_masked, plan.n_rows() - n_masked - n_idle);
  rest.q = args.q + n_masked * args.q_stride;
  rest.out = args.out + n_masked * q_dim;
  kernel::attention(kernels_, pool_, rest, scratch);
  std::fill_n(args.out + (plan.n_rows() - n_idle) * q_dim, n_idle * q_dim, 0.0f);
}

void BaselineAttention::run_expanded(const StepPlan& plan, const kernel::AttentionArgs& args,
                                     kernel::AttentionScratch& scratch) {
  const size_t q_dim = static_cast<size_t>(args.n_heads) * args.kv.shape.head_dim;
  const ExpandedRows& expanded = plan.expanded;
  q_.reserve(expanded.scatter.size() * q_dim * sizeof(float));
  out_.reserve(expanded.scatter.size() * q_dim * sizeof(float));
  // Keys and values were scattered when they were written to the pages of every copy.
  kernel::select_rows(pool_, expanded.scatter, args.q, args.q_stride, q_dim, q_.as<float>());
  kernel::AttentionArgs of_copies = args;
  of_copies.positions = expanded.positions;
  of_copies.q = q_.as<float>();
  of_copies.q_stride = static_cast<int64_t>(q_dim);
  of_copies.out = out_.as<float>();
  kernel::attention(kernels_, pool_, of_copies, scratch);
  kernel::select_rows(pool_, expanded.gather, out_.as<float>(), q_dim, q_dim, args.out);
}

// Pages for one layer of one pass, in a type that masks can work with.
kernel::KvView BaselineAttention::scratch_pages(const kernel::KvView& kv, size_t n_pages) {
  kernel::KvView view{.shape = kv.shape};
  view.shape.n_layers = 1;
  if (view.shape.type == DType::kI8) view.shape.type = DType::kF16;
  pages_.reserve(n_pages * view.shape.page_bytes());
  view.base = pages_.data();
  return view;
}

void BaselineAttention::run_masked(const StepPlan& plan, const kernel::AttentionArgs& args,
                                   const kernel::NewKeys& keys, kernel::AttentionScratch& scratch) {
  const MaskedRows& masked = plan.masked;
  kernel::AttentionArgs rows = args;
  if (masked.memory == nullptr) {
    rows.kv = scratch_pages(args.kv, masked.pages.size());
    rows.layer = 0;
  } else {
    rows.kv.base = masked.memory;
    if (args.layer == 0) kernel::copy_pages(rows.kv, masked.copies);
  }
  kernel::write_kv(kernels_, pool_, rows.kv, rows.layer, keys, masked.slot_begin, masked.slots);
  kernel::masked_attention(kernels_, pool_, rows,
                           {.stacks = masked.stacks,
                            .pages = masked.pages,
                            .masks = masked.masks,
                            .cell_positions = masked.cell_positions},
                           scratch);
}

}  // namespace pando::model
