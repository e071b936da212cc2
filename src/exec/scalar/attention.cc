#include "exec/scalar/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "exec/scalar/fma.h"
#include "exec/scalar/fold.h"
#include "exec/scalar/math.h"
#include "exec/scalar/matrix.h"

namespace pando::exec::scalar {
namespace {

// The visible positions of a tile: their places, and the index of the first one in the tile.
struct Visible {
  std::vector<KvSlot> places;
  uint32_t first;
};

// One query: a row and a head.
class Query {
 public:
  Query(const AttentionCall& call, uint32_t row, int head, const float* q)
      : call_(call),
        shape_(call.pages.view.shape),
        row_(row),
        kv_head_(head / (call.heads.n / call.heads.n_kv)),
        sink_(call.sinks.empty() ? nullptr : &call.sinks[head]),
        q_(q, q + shape_.head_dim) {
    scale(q_.data(), call.scale, q_.size());
    if (shape_.type == DType::kI8) integers_ = quantise(q_.data(), shape_.head_dim);
  }

  // tasks: those that the row is in, by tile.
  void run(std::span<const AttentionTask* const> tasks, float* out) const;

 private:
  Visible visible(const AttentionTask& task) const;
  KvChannels channels(KvChannels::Kind kind, const KvSlot& place) const {
    return {call_.pages.view, kind, call_.pages.layer, kv_head_, place};
  }
  void fold_floats(const Visible& tile, Fold& fold) const;
  void fold_integers(const Visible& tile, Fold& fold) const;

  const AttentionCall& call_;
  const kernel::KvShape& shape_;
  uint32_t row_;
  int kv_head_;
  const float* sink_;
  std::vector<float> q_;  // [head_dim], scaled
  Integers integers_;     // of q_, for int8 keys
};

void Query::run(std::span<const AttentionTask* const> tasks, float* out) const {
  const auto tiles_each = static_cast<uint32_t>(shape_.span_len / shape_.tile_len);
  const uint32_t last_span = call_.last_seen[row_] / static_cast<uint32_t>(shape_.span_len);
  SpanTree tree;
  size_t next = 0;
  for (uint32_t span = 0; span <= last_span; ++span) {
    Fold fold(shape_.head_dim);
    for (; next < tasks.size() && tasks[next]->tile / tiles_each == span; ++next) {
      const Visible tile = visible(*tasks[next]);
      if (tile.places.empty()) continue;
      shape_.type == DType::kI8 ? fold_integers(tile, fold) : fold_floats(tile, fold);
    }
    tree.push(fold.end());
  }
  const SpanState all = tree.merged();
  PANDO_CHECK(!all.is_empty());
  const float factor = output_factor(all, sink_);
  for (int c = 0; c < shape_.head_dim; ++c) out[c] = all.acc[c] * factor;
}

Visible Query::visible(const AttentionTask& task) const {
  const auto tile_len = static_cast<uint32_t>(shape_.tile_len);
  const auto page_len = static_cast<uint32_t>(shape_.page_len);
  const uint32_t begin = task.tile * tile_len;
  const uint32_t first = std::max(begin, call_.first_seen(row_));
  const uint32_t end = std::min(begin + tile_len, call_.last_seen[row_] + 1);
  Visible tile{{}, first - begin};
  for (uint32_t pos = first; pos < end; ++pos) {
    const uint32_t page = (pos - begin) / page_len;
    PANDO_CHECK(page < task.n_pages);
    const PageId id = call_.pages.task_pages[task.first_page + page];
    PANDO_CHECK(id != kNoPage);
    tile.places.push_back({id, (pos - begin) % page_len});
  }
  return tile;
}

void Query::fold_floats(const Visible& tile, Fold& fold) const {
  const int n = shape_.head_dim;
  std::vector<float> channel(n), s;
  for (const KvSlot& place : tile.places) {
    channels(KvChannels::Kind::kKey, place).read(channel.data());
    const float score = fma_chain(q_.data(), channel.data(), n);
    s.push_back(call_.score_cap > 0.0f ? soft_cap(score, call_.score_cap) : score);
  }
  const float factor = fold.take(s, tile.first);
  scale(fold.acc().data(), factor, fold.acc().size());
  for (size_t j = 0; j < s.size(); ++j) {
    channels(KvChannels::Kind::kValue, tile.places[j]).read(channel.data());
    fma_row(s[j], channel.data(), n, fold.acc().data());
  }
}

void Query::fold_integers(const Visible& tile, Fold& fold) const {
  const int n = shape_.head_dim;
  std::vector<float> s;
  for (const KvSlot& place : tile.places) {
    const KvChannels key = channels(KvChannels::Kind::kKey, place);
    int sum = 0;
    for (int c = 0; c < n; ++c) sum += int{integers_.q[c]} * int{key.integers()[c]};
    const float score = static_cast<float>(sum) * (integers_.scale * key.int8_scale());
    s.push_back(call_.score_cap > 0.0f ? soft_cap(score, call_.score_cap) : score);
  }
  const float factor = fold.take(s, tile.first);
  // Weights times the scales of values, as integers up to 255.
  float most = 0.0f;
  for (size_t j = 0; j < s.size(); ++j) {
    s[j] *= channels(KvChannels::Kind::kValue, tile.places[j]).int8_scale();
    most = std::max(most, s[j]);
  }
  if (most < 0x1p-100f) most = 0.0f;
  const float to_integer = most == 0.0f ? 0.0f : 255.0f / most;
  std::vector<int> sums(n);
  for (size_t j = 0; j < s.size(); ++j) {
    const auto share = static_cast<int>(std::min(255.0f, std::nearbyint(s[j] * to_integer)));
    const KvChannels value = channels(KvChannels::Kind::kValue, tile.places[j]);
    for (int c = 0; c < n; ++c) sums[c] += share * int{value.integers()[c]};
  }
  for (int c = 0; c < n; ++c) {
    float& acc = fold.acc()[c];
    acc = std::fma(static_cast<float>(sums[c]), most / 255.0f, acc * factor);
  }
}

}  // namespace

Rows attend(const AttentionCall& call, const Rows& q, ThreadPool& pool) {
  const auto n_rows = static_cast<uint32_t>(call.positions.size());
  std::vector<std::vector<const AttentionTask*>> tasks(n_rows);
  for (const AttentionTask& task : call.tasks)
    for (uint32_t row = task.row_begin; row < task.row_end; ++row) tasks[row].push_back(&task);
  const int head_dim = call.heads.head_dim, n_heads = call.heads.n;
  Rows out(n_rows, static_cast<size_t>(call.heads.q_dim()));
  pool.parallel_for(int64_t{n_rows} * n_heads, [&](int64_t item, int) {
    const auto row = static_cast<uint32_t>(item / n_heads);
    const int head = static_cast<int>(item % n_heads);
    Query(call, row, head, q.row(row) + head * head_dim)
        .run(tasks[row], out.row(row) + head * head_dim);
  });
  return out;
}

}  // namespace pando::exec::scalar
