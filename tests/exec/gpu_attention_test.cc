// A device's attention equals the scalar executor's, over random prefix trees.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "base/numbers/weight_types.h"
#include "exec/gpu/attention.h"
#include "exec/gpu_testing.h"
#include "exec/scalar/attention.h"

namespace pando::exec::gpu {
namespace {

using Floats = std::vector<float>;

struct AttentionCase {
  DType type;
  int n_kv, group, head_dim;
  int page_len = 4, tile_len = 8, span_len = 16;
  uint32_t window = 0;
  float cap = 0.0f;
  bool has_sinks = false, in_windows = false;
  int longest = 14;  // tokens of an edge of the tree, at most
};

constexpr int kLayer = 1, kLayers = 2;

// A step over a random prefix tree. Memory that holds no key or value is NaN.
class AttentionScene {
 public:
  AttentionScene(const AttentionCase& c, uint32_t seed)
      : case_(c),
        shape_{.type = c.type,
               .n_layers = kLayers,
               .n_kv_heads = c.n_kv,
               .head_dim = c.head_dim,
               .page_len = c.page_len,
               .tile_len = c.tile_len,
               .span_len = c.span_len},
        heads_{.n = c.n_kv * c.group, .n_kv = c.n_kv, .head_dim = c.head_dim},
        random_(seed) {
    grow({}, 0, 3);
    add_tasks();
    q_ = scalar::Rows(plan_.n_rows(), heads_.q_dim() + 3);
    q_.values = normals(q_.values.size());
    if (c.has_sinks) sinks_ = normals(heads_.n);
  }

  Floats expected();
  Floats found(Host& host, size_t scratch_bytes) const;
  std::vector<std::byte> device_memory() const;
  const StepPlan& plan() const { return plan_; }

 private:
  int uniform(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  Floats normals(size_t n) {
    Floats values(n);
    for (float& x : values) x = std::normal_distribution<float>()(random_);
    return values;
  }
  float scale() const {
    return static_cast<float>(1.4426950408889634 / std::sqrt(double{1} * case_.head_dim));
  }
  kernel::KvView view() { return {memory_.data(), shape_}; }

  void grow(std::vector<PageId> pages, int n_before, int depth);
  void fill(KvSlot slot);
  PageId new_page() {
    memory_.resize(memory_.size() + shape_.page_bytes(), std::byte{0xff});
    return n_pages_++;
  }
  uint32_t first_seen(uint32_t row) const;
  void add_tasks();
  void hide_tiles();

  AttentionCase case_;
  kernel::KvShape shape_;
  model::Heads heads_;
  std::mt19937 random_;
  std::vector<std::byte> memory_;  // pages in the scalar executor's layout
  PageId n_pages_ = 0;
  std::vector<std::vector<PageId>> paths_;  // [n_rows]
  StepPlan plan_;
  scalar::Rows q_;
  Floats sinks_;
};

void AttentionScene::fill(KvSlot slot) {
  for (int head = 0; head < shape_.n_kv_heads; ++head)
    for (const auto kind : {scalar::KvChannels::Kind::kKey, scalar::KvChannels::Kind::kValue})
      scalar::KvChannels(view(), kind, kLayer, head, slot).write(normals(shape_.head_dim).data());
}

// A branch has its own copy of a page that its parent only partly fills.
void AttentionScene::grow(std::vector<PageId> pages, int n_before, int depth) {
  const int n = uniform(1, case_.longest), n_rows = uniform(depth == 0 ? 1 : 0, n);
  if (n_before % shape_.page_len != 0) {
    const PageId from = pages.back();
    pages.back() = new_page();
    std::copy_n(view().page(from), shape_.page_bytes(), view().page(pages.back()));
  }
  for (int pos = n_before; pos < n_before + n; ++pos) {
    if (pos % shape_.page_len == 0) pages.push_back(new_page());
    fill({pages.back(), static_cast<uint32_t>(pos % shape_.page_len)});
    if (pos < n_before + n - n_rows) continue;
    plan_.tokens.push_back(0);
    plan_.positions.push_back(static_cast<uint32_t>(pos));
    paths_.push_back(pages);
  }
  const int n_children = depth == 0 ? 0 : uniform(1, 3);
  for (int i = 0; i < n_children; ++i) grow(pages, n_before + n, depth - 1);
}

uint32_t AttentionScene::first_seen(uint32_t row) const {
  const uint32_t end = plan_.positions[row] + 1;
  return case_.window == 0 || end <= case_.window ? 0 : end - case_.window;
}

// Rows with equal pages of a tile usually share a task.
void AttentionScene::add_tasks() {
  const size_t per_tile = shape_.pages_per_tile();
  std::vector<PageId>& pages = case_.in_windows ? plan_.windows.task_pages : plan_.task_pages;
  bool any = true;
  for (uint32_t tile = 0; any; ++tile) {
    any = false;
    std::vector<PageId> open;
    for (uint32_t row = 0; row < paths_.size(); ++row) {
      const std::vector<PageId>& path = paths_[row];
      const size_t begin = std::min(path.size(), tile * per_tile);
      const std::vector<PageId> own(path.begin() + begin,
                                    path.begin() + std::min(path.size(), begin + per_tile));
      if (own.empty()) open.clear();
      if (own.empty()) continue;
      any = true;
      const size_t n_common = std::min(own.size(), open.size());
      if (n_common == 0 || !std::equal(own.begin(), own.begin() + n_common, open.begin()) ||
          uniform(0, 9) == 0) {
        plan_.tasks.push_back({tile, row, row, static_cast<uint32_t>(pages.size()), 0});
        open.clear();
      }
      for (size_t i = open.size(); i < own.size(); ++i) open.push_back(own[i]);
      AttentionTask& task = plan_.tasks.back();
      pages.resize(task.first_page);
      pages.insert(pages.end(), open.begin(), open.end());
      task.row_end = row + 1;
      task.n_pages = static_cast<uint32_t>(open.size());
    }
  }
  if (case_.in_windows) hide_tiles();
}

void AttentionScene::hide_tiles() {
  for (const AttentionTask& task : plan_.tasks) {
    bool is_seen = false;
    for (uint32_t row = task.row_begin; row < task.row_end; ++row)
      is_seen |= first_seen(row) < (task.tile + 1) * static_cast<uint32_t>(shape_.tile_len);
    if (!is_seen)
      std::fill_n(plan_.windows.task_pages.begin() + task.first_page, task.n_pages, kNoPage);
  }
}

Floats AttentionScene::expected() {
  ThreadPool pool(1);
  const kernel::KvView pages = view();
  return scalar::attend({.pages = {pages,
                                   kLayer,
                                   {},
                                   {},
                                   case_.in_windows ? plan_.windows.task_pages : plan_.task_pages},
                         .heads = heads_,
                         .scale = scale(),
                         .score_cap = case_.cap,
                         .window = case_.window,
                         .sinks = sinks_,
                         .positions = plan_.positions,
                         .last_seen = plan_.positions,
                         .tasks = plan_.tasks},
                        q_, pool)
      .values;
}

// These pages in the device's layout.
std::vector<std::byte> AttentionScene::device_memory() const {
  std::vector<std::byte> memory(memory_.size(), std::byte{0xff});
  const size_t n = shape_.head_dim, len = shape_.page_len, width = (n + 15) / 16 * 16;
  const size_t element = shape_.type == DType::kI8 ? 1 : dtype_size(shape_.type);
  const size_t n_chunks = memory.size() / shape_.chunk_bytes();
  for (size_t chunk = 0; chunk < n_chunks; ++chunk) {
    const bool is_key = chunk / shape_.n_kv_heads % 2 == 0;
    const std::byte* const from = memory_.data() + chunk * shape_.chunk_bytes();
    std::byte* const to = memory.data() + chunk * shape_.chunk_bytes();
    for (size_t pos = 0; pos < len; ++pos) {
      for (size_t c = 0; c < n; ++c) {
        size_t at = is_key ? c * len + pos : pos * n + c;
        if (element == 1)
          at = is_key ? c / 4 * 4 * len + 4 * pos + c % 4 : pos / 4 * 4 * width + 4 * c + pos % 4;
        std::memcpy(to + at * element, from + (pos * n + c) * element, element);
      }
      if (element == 1)
        std::memcpy(to + kernel::int8_element_bytes(shape_.page_len, shape_.head_dim) + 4 * pos,
                    from + len * n + 4 * pos, 4);
    }
  }
  return memory;
}

Floats AttentionScene::found(Host& host, size_t scratch_bytes) const {
  PagePool pool(host, {shape_}, n_pages_);
  const std::vector<std::byte> memory = device_memory();
  host.write(pool.memory, 0, memory.data(), memory.size());
  const Rows q = upload(host, q_);
  Rows out;
  const Values sinks = Values::of(host, sinks_in_base_2(sinks_));
  Attention attention(host, scratch_bytes);
  attention.set_plan(plan_);
  attention.attend({.pool = pool,
                    .group = 0,
                    .layer = kLayer,
                    .in_windows = case_.in_windows,
                    .heads = heads_,
                    .scale = scale(),
                    .score_cap = case_.cap,
                    .window = case_.window,
                    .sinks = sinks},
                   q, out);
  return download(host, out);
}

constexpr AttentionCase kCases[] = {
    {.type = DType::kF16, .n_kv = 2, .group = 4, .head_dim = 16},
    {.type = DType::kF32, .n_kv = 1, .group = 1, .head_dim = 8, .window = 11, .cap = 30.0f},
    {.type = DType::kBF16, .n_kv = 2, .group = 3, .head_dim = 20, .has_sinks = true},
    {.type = DType::kI8, .n_kv = 2, .group = 2, .head_dim = 12, .page_len = 2},
    {.type = DType::kI8, .n_kv = 1, .group = 20, .head_dim = 80, .window = 7, .has_sinks = true},
    {.type = DType::kF16, .n_kv = 2, .group = 6, .head_dim = 260, .cap = 5.0f},
    {.type = DType::kI8, .n_kv = 1, .group = 1, .head_dim = 512, .cap = 9.0f},
    {.type = DType::kF32,
     .n_kv = 2,
     .group = 2,
     .head_dim = 4,
     .window = 20,
     .has_sinks = true,
     .in_windows = true},
    {.type = DType::kF16,
     .n_kv = 1,
     .group = 5,
     .head_dim = 64,
     .page_len = 32,
     .tile_len = 64,
     .span_len = 128,
     .longest = 90},
    {.type = DType::kI8,
     .n_kv = 1,
     .group = 4,
     .head_dim = 36,
     .page_len = 16,
     .tile_len = 64,
     .span_len = 64,
     .longest = 80},
};

TEST(GpuAttention, HasTheScalarBitsInAnyOrderOfThreads) {
  uint32_t seed = 0;
  Barriers barriers;
  for (const AttentionCase& c : kCases) {
    SCOPED_TRACE(++seed);
    AttentionScene scene(c, seed);
    const Floats expected = scene.expected();
    barriers.expect(expected, [&](Host& host) { return scene.found(host, size_t{1} << 20); });
    EmulatedHost host;
    EXPECT_TRUE(same_bits(scene.found(host, 3000), expected)) << "rows in turns";
  }
  EXPECT_EQ(barriers.needed, barriers.met);
}

}  // namespace
}  // namespace pando::exec::gpu
