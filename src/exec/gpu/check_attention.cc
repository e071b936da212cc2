// Checks writes of keys and values to pages, page copies, and attention, over random trees.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/numbers/weight_types.h"
#include "exec/gpu/attention.h"
#include "exec/gpu/check_cases.h"
#include "exec/gpu/page_ops.h"
#include "exec/scalar/attention.h"

namespace pando::exec::gpu {
namespace {

constexpr int kPageLen = 32, kTileLen = 64, kSpanLen = 128;
constexpr int kPagesOfTile = kTileLen / kPageLen;

// A trunk of whole tiles, and branches that continue it.
struct Tree {
  int n_trunk_tiles = 0;
  std::vector<int> branch_len;   // positions
  std::vector<int> branch_rows;  // the last positions of each branch; they are rows of the step
  std::vector<PageId> trunk;
  std::vector<std::vector<PageId>> branches;
  size_t n_pages = 0;
};

Tree random_tree(CheckCases& cases) {
  Tree tree;
  tree.n_trunk_tiles = cases.uniform(0, cases.is_all() ? 7 : 3);
  for (int i = 0; i < tree.n_trunk_tiles * kPagesOfTile; ++i)
    tree.trunk.push_back(static_cast<PageId>(tree.n_pages++));
  const int n_branches = cases.uniform(1, 4);
  for (int i = 0; i < n_branches; ++i) {
    const int n = cases.uniform(1, 150);
    tree.branch_len.push_back(n);
    tree.branch_rows.push_back(cases.uniform(1, std::min(n, 20)));
    std::vector<PageId>& pages = tree.branches.emplace_back();
    for (int at = 0; at < n; at += kPageLen) pages.push_back(static_cast<PageId>(tree.n_pages++));
  }
  return tree;
}

// A step that writes keys and values of all positions of the tree, one row each.
StepPlan plan_of_writing(const Tree& tree) {
  StepPlan plan;
  const auto add = [&](PageId page, int offset) {
    plan.slot_begin.push_back(static_cast<uint32_t>(plan.slots.size()));
    plan.slots.push_back({page, static_cast<uint32_t>(offset)});
  };
  for (const PageId page : tree.trunk)
    for (int i = 0; i < kPageLen; ++i) add(page, i);
  for (size_t b = 0; b < tree.branches.size(); ++b)
    for (int i = 0; i < tree.branch_len[b]; ++i) add(tree.branches[b][i / kPageLen], i % kPageLen);
  plan.slot_begin.push_back(static_cast<uint32_t>(plan.slots.size()));
  return plan;
}

// The tasks of one tile, [first, last) of `pages`.
void add_task(StepPlan& plan, uint32_t tile, uint32_t row_begin, uint32_t row_end,
              std::span<const PageId> pages) {
  plan.tasks.push_back({tile, row_begin, row_end, static_cast<uint32_t>(plan.task_pages.size()),
                        static_cast<uint32_t>(pages.size())});
  plan.task_pages.insert(plan.task_pages.end(), pages.begin(), pages.end());
}

// A step whose rows are the last positions of the branches.
StepPlan plan_of_reading(const Tree& tree) {
  StepPlan plan;
  const int trunk_len = tree.n_trunk_tiles * kTileLen;
  std::vector<uint32_t> first_row;
  for (size_t b = 0; b < tree.branches.size(); ++b) {
    first_row.push_back(static_cast<uint32_t>(plan.positions.size()));
    for (int i = tree.branch_rows[b]; i >= 1; --i)
      plan.positions.push_back(static_cast<uint32_t>(trunk_len + tree.branch_len[b] - i));
  }
  const auto n_rows = static_cast<uint32_t>(plan.positions.size());
  first_row.push_back(n_rows);
  plan.tokens.resize(n_rows);
  plan.slot_begin.assign(n_rows + 1, 0);
  for (int tile = 0; tile < tree.n_trunk_tiles; ++tile)
    add_task(plan, static_cast<uint32_t>(tile), 0, n_rows,
             std::span(tree.trunk).subspan(static_cast<size_t>(tile * kPagesOfTile), kPagesOfTile));
  for (int at = 0; at < *std::ranges::max_element(tree.branch_len); at += kTileLen)
    for (size_t b = 0; b < tree.branches.size(); ++b) {
      uint32_t begin = first_row[b];
      while (begin < first_row[b + 1] &&
             plan.positions[begin] < static_cast<uint32_t>(trunk_len + at))
        ++begin;
      if (begin == first_row[b + 1] || at >= tree.branch_len[b]) continue;
      const auto first_page = static_cast<size_t>(at / kPageLen);
      const size_t n_pages = std::min<size_t>(kPagesOfTile, tree.branches[b].size() - first_page);
      add_task(plan, static_cast<uint32_t>((trunk_len + at) / kTileLen), begin, first_row[b + 1],
               std::span(tree.branches[b]).subspan(first_page, n_pages));
    }
  return plan;
}

kernel::KvShape random_shape(CheckCases& cases, DType type) {
  return {.type = type,
          .n_layers = 2,
          .n_kv_heads = cases.uniform(1, 2),
          .head_dim = 4 * cases.uniform(2, cases.is_all() ? 128 : 40),
          .page_len = kPageLen,
          .tile_len = kTileLen,
          .span_len = kSpanLen};
}

// The pages of a tree on both sides.
class Pages {
 public:
  Pages(CheckCases& cases, const kernel::KvShape& shape, size_t n_pages)
      : cases_(cases),
        memory_(n_pages * shape.page_bytes()),
        view_{memory_.data(), shape, 0},
        pool_(cases.host(), {shape}, n_pages) {}

  const kernel::KvView& view() const { return view_; }
  const PagePool& pool() const { return pool_; }

  void write(const StepPlan& plan, int layer) {
    const kernel::KvShape& shape = view_.shape;
    const auto n = static_cast<uint32_t>(plan.slots.size());
    const auto width = static_cast<size_t>(shape.n_kv_heads * shape.head_dim);
    const scalar::Rows both = cases_.rows(n, 2 * width);
    const scalar::LayerPages pages{view_, layer, plan.slot_begin, plan.slots, {}};
    for (uint32_t row = 0; row < n; ++row)
      scalar::write_row(pages, row, both.row(row), both.row(row) + width);
    const Rows on_device = cases_.upload(both);
    const Buffer begins = cases_.upload(plan.slot_begin), slots = cases_.upload(plan.slots);
    write_rows(cases_.host(), pool_, 0, layer, {begins, slots},
               {{&on_device, 0, width}, {&on_device, width, width}});
  }
  void copy(std::span<const PageCopy> copies) {
    scalar::copy_positions(view_, copies);
    copy_pages(cases_.host(), pool_, copies);
  }

 private:
  CheckCases& cases_;
  std::vector<std::byte> memory_;
  kernel::KvView view_;
  PagePool pool_;
};

void check_layer(CheckCases& cases, const Pages& pages, const StepPlan& plan, int layer,
                 Attention& attention) {
  Host& host = cases.host();
  const kernel::KvShape& shape = pages.view().shape;
  const int group = cases.uniform(1, 5);
  const model::Heads heads{shape.n_kv_heads * group, shape.n_kv_heads, shape.head_dim};
  const std::vector<float> sinks = cases.values(cases.chance() ? size_t(heads.n) : 0);
  const Values sinks_on_device = Values::of(host, sinks_in_base_2(sinks));
  const float scale =
      static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(shape.head_dim)));
  const float cap = cases.chance() ? 20.0f : 0.0f;
  const auto window = static_cast<uint32_t>(cases.chance() ? cases.uniform(1, 200) : 0);
  const auto n_rows = static_cast<uint32_t>(plan.positions.size());
  const scalar::Rows q = cases.rows(n_rows, static_cast<size_t>(heads.q_dim()));
  const scalar::AttentionCall call{
      .pages = {pages.view(), layer, plan.slot_begin, plan.slots, plan.task_pages},
      .heads = heads,
      .scale = scale,
      .score_cap = cap,
      .window = window,
      .sinks = sinks,
      .positions = plan.positions,
      .last_seen = plan.positions,
      .tasks = plan.tasks};
  Rows out;
  attention.attend({.pool = pages.pool(),
                    .group = 0,
                    .layer = layer,
                    .in_windows = false,
                    .heads = heads,
                    .scale = scale,
                    .score_cap = cap,
                    .window = window,
                    .sinks = sinks_on_device},
                   cases.upload(q), out);
  cases.compare("attention to " + std::string(dtype_name(shape.type)),
                scalar::attend(call, q, cases.pool()), out);
}

// Copies the first branch's pages. The tree then uses the copies.
void check_tree(CheckCases& cases, DType type) {
  Tree tree = random_tree(cases);
  const StepPlan writing = plan_of_writing(tree);
  std::vector<PageCopy> copies;
  for (PageId& page : tree.branches[0]) {
    copies.push_back({page, static_cast<PageId>(tree.n_pages++), kPageLen});
    page = copies.back().to;
  }
  Pages pages(cases, random_shape(cases, type), tree.n_pages);
  for (const int layer : {0, 1}) pages.write(writing, layer);
  pages.copy(copies);
  const StepPlan reading = plan_of_reading(tree);
  Attention attention(cases.host());
  attention.set_plan(reading);
  for (const int layer : {0, 1}) check_layer(cases, pages, reading, layer, attention);
}

}  // namespace

void check_attention(CheckCases& cases) {
  for (int round = 0; round < 4 * cases.n_rounds(); ++round)
    for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8})
      check_tree(cases, type);
}

}  // namespace pando::exec::gpu
