#include "exec/gpu/attention.h"

#include <algorithm>
#include <numbers>

#include "base/check.h"
#include "exec/gpu/kernels/attention_sizes.h"

namespace pando::exec::gpu {
namespace {

static_assert(sizeof(AttentionRow) == 3 * sizeof(uint32_t));
static_assert(sizeof(AttentionItem) == 5 * sizeof(uint32_t));
static_assert(sizeof(AttentionSegment) == 7 * sizeof(uint32_t));

struct KernelPair {
  DType type;
  Kernel wide, narrow;
};
constexpr KernelPair kAttendKernels[] = {
    {DType::kF32, Kernel::attend_f32_wide, Kernel::attend_f32_narrow},
    {DType::kF16, Kernel::attend_f16_wide, Kernel::attend_f16_narrow},
    {DType::kBF16, Kernel::attend_bf16_wide, Kernel::attend_bf16_narrow},
    {DType::kI8, Kernel::attend_int8_wide, Kernel::attend_int8_narrow},
};

int group_of(const model::Heads& heads) { return heads.n / heads.n_kv; }

// The most queries of a block.
int queries_of(const model::Heads& heads) {
  return heads.head_dim <= ATTEND_WIDE_HEAD ? ATTEND_WIDE : ATTEND_NARROW;
}
// Heads of a block.
int heads_each(const model::Heads& heads) { return std::min(group_of(heads), queries_of(heads)); }

size_t state_bytes(const model::Heads& heads) {
  return sizeof(float) * heads.n * (heads.head_dim + 2);
}

AttentionForm form_of_call(const AttentionCall& call, size_t scratch_bytes) {
  const kernel::KvShape& shape = call.pool.groups[call.group];
  PANDO_CHECK(shape.head_dim == call.heads.head_dim && shape.head_dim <= ATTEND_NARROW_HEAD);
  PANDO_CHECK(shape.head_dim % 4 == 0 && shape.tile_len <= ATTEND_TILE);
  const int n_heads = heads_each(call.heads), n_queries = queries_of(call.heads);
  return {.page_len = static_cast<uint32_t>(shape.page_len),
          .tile_len = static_cast<uint32_t>(shape.tile_len),
          .span_len = static_cast<uint32_t>(shape.span_len),
          .window = call.window,
          .rows_each = static_cast<uint32_t>(n_queries / n_heads),
          .wide_from = n_queries == ATTEND_WIDE ? static_cast<uint32_t>(ATTEND_NARROW / n_heads + 1)
                                                : ~uint32_t{0},
          .most_states = scratch_bytes / state_bytes(call.heads),
          .in_windows = call.in_windows};
}

}  // namespace

std::vector<float> sinks_in_base_2(std::span<const float> sinks) {
  std::vector<float> scaled;
  for (const float sink : sinks) scaled.push_back(static_cast<float>(std::numbers::log2e * sink));
  return scaled;
}

void Attention::set_plan(const StepPlan& plan) {
  plan_ = &plan;
  pages_.set(host_, plan.task_pages);
  window_pages_.set(host_, plan.windows.task_pages);
  for (Form& form : forms_) form.is_of_plan = false;
}

const Attention::Form& Attention::form_of(const AttentionCall& call) {
  const AttentionForm wanted = form_of_call(call, scratch_bytes_);
  auto found = std::ranges::find(forms_, wanted, &Form::form);
  if (found == forms_.end()) found = forms_.insert(found, Form{.form = wanted});
  Form& form = *found;
  if (form.is_of_plan) return form;
  form.lists = attention_lists(*plan_, wanted);
  form.items.set(host_, form.lists.items);
  form.segments.set(host_, form.lists.segments);
  form.rows.set(host_, form.lists.rows);
  form.merged_rows.set(host_, form.lists.merged_rows);
  form.is_of_plan = true;
  return form;
}

void Attention::attend(const AttentionCall& call, const Rows& q, Rows& out) {
  const Form& form = form_of(call);
  PANDO_CHECK(q.n == plan_->n_rows() && q.width >= static_cast<size_t>(call.heads.q_dim()));
  out.resize(host_, q.n, call.heads.q_dim());
  const size_t wanted = form.lists.n_states * state_bytes(call.heads);
  if (wanted > states_.bytes()) states_ = Buffer(host_, wanted);
  for (const AttentionTurn& turn : form.lists.turns) {
    launch_items(call, form, turn.wide, true, q, out);
    launch_items(call, form, turn.narrow, false, q, out);
    launch_merges(call, form, turn.merged, out);
  }
}

void Attention::launch_items(const AttentionCall& call, const Form& form, ItemRange range,
                             bool is_wide, const Rows& q, const Rows& out) {
  const kernel::KvShape& shape = call.pool.groups[call.group];
  const KernelPair& kernels = *std::ranges::find(kAttendKernels, shape.type, &KernelPair::type);
  const int group = group_of(call.heads), each = heads_each(call.heads);
  const Arg args[] = {&call.pool.memory,
                      &(call.in_windows ? window_pages_ : pages_).buffer(),
                      &form.items.buffer(),
                      &form.segments.buffer(),
                      &form.rows.buffer(),
                      &q.values,
                      &call.sinks.buffer,
                      &states_,
                      &out.values,
                      uint64_t{call.pool.page_bytes},
                      call.pool.key_offset(call.group, call.layer),
                      call.pool.value_offset(call.group, call.layer),
                      uint64_t{shape.chunk_bytes()},
                      int32_t{shape.page_len},
                      int32_t{shape.tile_len},
                      int32_t{shape.span_len},
                      static_cast<int32_t>(range.begin),
                      static_cast<int32_t>(q.width),
                      int32_t{call.heads.n},
                      int32_t{group},
                      int32_t{each},
                      int32_t{call.heads.head_dim},
                      call.scale,
                      call.score_cap};
  host_.launch(is_wide ? kernels.wide : kernels.narrow,
               {range.n(), static_cast<uint32_t>(call.heads.n_kv),
                static_cast<uint32_t>((group + each - 1) / each)},
               args);
}

void Attention::launch_merges(const AttentionCall& call, const Form& form, ItemRange range,
                              const Rows& out) {
  const Arg args[] = {&form.merged_rows.buffer(),
                      &form.rows.buffer(),
                      &states_,
                      &call.sinks.buffer,
                      &out.values,
                      static_cast<int32_t>(range.begin),
                      int32_t{call.pool.groups[call.group].span_len},
                      int32_t{call.heads.n},
                      int32_t{call.heads.head_dim}};
  host_.launch(Kernel::attend_merge, {range.n(), static_cast<uint32_t>(call.heads.n)}, args);
}

}  // namespace pando::exec::gpu
