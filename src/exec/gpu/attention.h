// Attention of a step by the tasks of its plan: docs/arithmetic.md, "Attention".
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "contract/model_spec.h"
#include "contract/step_plan.h"
#include "exec/gpu/attention_lists.h"
#include "exec/gpu/host.h"
#include "exec/gpu/page_ops.h"
#include "exec/gpu/rows.h"
#include "exec/gpu/values.h"

namespace pando::exec::gpu {

struct AttentionCall {
  const PagePool& pool;
  int group;        // of the pool
  int layer;        // of the group
  bool in_windows;  // the pool has the plan's window pages
  model::Heads heads;
  float scale;          // factor of queries, log2(e) included
  float score_cap;      // log2(e) included; 0: no cap
  uint32_t window;      // positions; 0: no window
  const Values& sinks;  // [heads.n] from sinks_in_base_2, or empty
};

// Sinks as the kernels read them: multiplied by log2(e) in double precision.
std::vector<float> sinks_in_base_2(std::span<const float> sinks);

class Attention {
 public:
  // scratch_bytes: memory for results of spans that are merged later. One row may need more.
  explicit Attention(Host& host, size_t scratch_bytes = size_t{64} << 20)
      : host_(host), scratch_bytes_(scratch_bytes) {}

  // Sets the plan for the calls that follow. The plan outlives them.
  void set_plan(const StepPlan& plan);
  // q: the plan's rows; each begins with its queries, [heads.n, head_dim]. out becomes
  // [n_rows, heads.n * head_dim].
  void attend(const AttentionCall& call, const Rows& q, Rows& out);

 private:
  // This plan's lists for layers of one form. Later plans reuse the buffers.
  struct Form {
    AttentionForm form;
    bool is_of_plan = false;
    AttentionLists lists;
    List<AttentionItem> items;
    List<AttentionSegment> segments;
    List<AttentionRow> rows;
    List<uint32_t> merged_rows;
  };
  const Form& form_of(const AttentionCall& call);
  void launch_items(const AttentionCall& call, const Form& form, ItemRange range, bool is_wide,
                    const Rows& q, const Rows& out);
  void launch_merges(const AttentionCall& call, const Form& form, ItemRange range, const Rows& out);

  Host& host_;
  size_t scratch_bytes_;
  const StepPlan* plan_ = nullptr;
  List<PageId> pages_, window_pages_;  // of tasks
  std::deque<Form> forms_;
  Buffer states_;  // of spans
};

}  // namespace pando::exec::gpu
