#include "lab/kernel/level_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "exec/cpu/kernel/query_work.h"
#include "exec/cpu/kernel/row_chunks.h"

namespace pando::kernel {
namespace {

constexpr float kEmpty = -std::numeric_limits<float>::infinity();

// Results of tasks: [n_states, n_heads] of output and log-sum-exp.
struct Parts {
  float* out;  // [n_states, n_heads, padded head_dim]
  float* lse;  // [n_states, n_heads]
};

// Rows [begin, end) of a task, for one KV head.
class LevelItem {
 public:
  LevelItem(const Kernels& kernels, const AttentionArgs& args, const LevelArgs& levels,
            const RowChunk<LevelTask>& chunk, int kv_head)
      : kernels_(kernels),
        args_(args),
        shape_(args.kv.shape),
        task_(*chunk.of),
        pages_(levels.pages.subspan(task_.first_page, task_.n_pages)),
        kv_head_(kv_head),
        group_(args.n_heads / shape_.n_kv_heads),
        dim_(round_up_16(shape_.head_dim)),
        begin_(chunk.begin),
        end_(chunk.end),
        work_(shape_, args.cap) {}

  // Takes its work space, and returns its size in bytes.
  size_t use(std::byte* memory) {
    WorkSpace space(memory);
    const size_t n = static_cast<size_t>(most_chunk_rows(group_)) * group_;
    work_.use(space, n);
    acc_ = space.floats(n * dim_);
    max_ = space.floats(n);
    return space.n_bytes();
  }

  void run(const Parts& parts) {
    scale_queries();
    started_.assign(end_ - begin_, 0);
    const uint32_t tile_len = shape_.tile_len, pages_per_tile = shape_.pages_per_tile();
    const uint32_t first_tile = task_.pos_begin / tile_len;
    Chunks at_hand, next = chunks_of(0);
    for (uint32_t page = 0; page < task_.n_pages; page += pages_per_tile) {
      std::swap(at_hand, next);
      next = chunks_of(page + pages_per_tile);
      attend_tile((first_tile + page / pages_per_tile) * tile_len, at_hand, next);
    }
    for (uint32_t row = begin_; row < end_; ++row)
      for (int head = 0; head < group_; ++head) finish(parts, row, head);
  }

 private:
  struct Chunks {
    int n_pages = 0;
    std::array<const std::byte*, 2 * kMostPages> chunk;  // keys, then values
  };
  // Returns the tile that begins with this page of the task, as far as it goes.
  Chunks chunks_of(uint32_t page) const {
    Chunks chunks;
    const uint32_t end =
        std::min(page + static_cast<uint32_t>(shape_.pages_per_tile()), task_.n_pages);
    chunks.n_pages = page < end ? static_cast<int>(end - page) : 0;
    for (int i = 0; i < chunks.n_pages; ++i) {
      const std::byte* at = args_.kv.page(pages_[page + i]);
      chunks.chunk[i] = at + shape_.key_offset(args_.layer, kv_head_);
      chunks.chunk[chunks.n_pages + i] = at + shape_.value_offset(args_.layer, kv_head_);
    }
    return chunks;
  }

  void scale_queries() {
    for (uint32_t row = begin_; row < end_; ++row)
      for (int head = 0; head < group_; ++head) {
        const int64_t channel = (kv_head_ * group_ + head) * shape_.head_dim;
        work_.set(kernels_, query(row) + head, args_.q + row * args_.q_stride + channel,
                  args_.scale);
      }
  }

  int query(uint32_t row) const { return static_cast<int>(row - begin_) * group_; }

  // Positions of the tile that a row sees, counted from its beginning.
  struct Seen {
    int32_t from, to;
  };
  Seen seen(uint32_t row, uint32_t tile_begin) const {
    const uint32_t end = args_.positions[row] + 1, window = args_.window;
    const uint32_t first = window == 0 || end <= window ? 0 : end - window;
    const uint32_t from = std::max({task_.pos_begin, first, tile_begin});
    const uint32_t to = std::min({task_.pos_end, end, tile_begin + shape_.tile_len});
    return {static_cast<int32_t>(from - tile_begin),
            from < to ? static_cast<int32_t>(to - tile_begin) : 0};
  }

  // Neighbouring rows at once, as far as they all see something and all have begun, or none.
  void attend_tile(uint32_t tile_begin, const Chunks& chunks, const Chunks& next) {
    for (uint32_t row = begin_; row < end_;) {
      const uint32_t run = row;
      const bool started = started_[row - begin_] != 0;
      int32_t most_from = 0;
      for (; row < end_ && (started_[row - begin_] != 0) == started; ++row) {
        const Seen of_row = seen(row, tile_begin);
        if (of_row.to == 0) break;
        most_from = std::max(most_from, of_row.from);
        std::fill_n(work_.visible + query(row) - query(run), group_, of_row.to);
        std::fill_n(work_.from + query(row) - query(run), group_, of_row.from);
      }
      if (row == run) {
        ++row;
        continue;
      }
      AttendTileArgs tile = work_.args(query(run), query(row) - query(run));
      tile.n_pages = chunks.n_pages;
      tile.keys = chunks.chunk.data();
      tile.values = chunks.chunk.data() + chunks.n_pages;
      tile.ahead = next.chunk.data();
      tile.n_ahead = 2 * next.n_pages;
      tile.from = most_from > 0 ? work_.from : nullptr;
      tile.first = !started;
      tile.max = max_ + query(run);
      tile.acc = acc_ + query(run) * dim_;
      kernels_.attend_tile(tile);
      std::fill(started_.begin() + (run - begin_), started_.begin() + (row - begin_), 1);
    }
  }

  // Equation 4: the part's own softmax, and the logarithm of its denominator.
  void finish(const Parts& parts, uint32_t row, int head) const {
    const int i = query(row) + head;
    const int64_t at = int64_t{task_.first_state + row - task_.row_begin} * args_.n_heads +
                       kv_head_ * group_ + head;
    parts.lse[at] = kEmpty;
    if (started_[row - begin_] == 0) return;
    float sum = 0;
    for (int lane = 0; lane < 16; ++lane) sum += work_.lanes[16 * i + lane];
    parts.lse[at] = max_[i] + std::log2(sum);
    kernels_.scale(acc_ + i * dim_, 1 / sum, shape_.head_dim, parts.out + at * dim_);
  }

  const Kernels& kernels_;
  const AttentionArgs& args_;
  const KvShape& shape_;
  const LevelTask& task_;
  std::span<const PageId> pages_;
  int kv_head_, group_, dim_;
  uint32_t begin_, end_;
  QueryWork work_;
  float *acc_ = nullptr, *max_ = nullptr;
  std::vector<char> started_;  // by row: whether it has seen a position
};

void combine_row(const AttentionArgs& args, const LevelArgs& levels, const Parts& parts,
                 int64_t row) {
  const int dim = round_up_16(args.kv.shape.head_dim);
  for (int head = 0; head < args.n_heads; ++head) {
    float* const out = args.out + (row * args.n_heads + head) * args.kv.shape.head_dim;
    std::fill_n(out, args.kv.shape.head_dim, 0.0f);
    float lse = kEmpty;
    for (uint32_t i = levels.states_begin[row]; i < levels.states_begin[row + 1]; ++i) {
      const int64_t at = int64_t{levels.states[i]} * args.n_heads + head;
      combine_lse(args.kv.shape.head_dim, out, lse, parts.out + at * dim, parts.lse[at]);
    }
  }
}

}  // namespace

void combine_lse(int head_dim, float* out1, float& lse1, const float* out2, float lse2) {
  if (lse2 == kEmpty) return;
  if (lse1 == kEmpty) {
    std::copy_n(out2, head_dim, out1);
    lse1 = lse2;
    return;
  }
  const float max = std::max(lse1, lse2);
  const float factor1 = std::exp2(lse1 - max), factor2 = std::exp2(lse2 - max);
  const float denominator = factor1 + factor2, share1 = factor1 / denominator,
              share2 = factor2 / denominator;
  for (int i = 0; i < head_dim; ++i) out1[i] = out1[i] * share1 + out2[i] * share2;
  lse1 = max + std::log2(denominator);
}

void level_attention(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& rows,
                     const LevelArgs& levels, AttentionScratch& scratch) {
  if (rows.positions.empty()) return;
  const KvShape& shape = rows.kv.shape;
  PANDO_CHECK(rows.n_heads % shape.n_kv_heads == 0 && shape.head_dim % 4 == 0);
  PANDO_CHECK(shape.pages_per_tile() <= kMostPages);
  const auto chunks =
      row_chunks(levels.tasks, rows.n_heads / shape.n_kv_heads, shape.n_kv_heads, pool.n_threads());
  const auto item_of = [&](int64_t item) {
    return LevelItem(kernels, rows, levels, chunks[item / shape.n_kv_heads],
                     static_cast<int>(item % shape.n_kv_heads));
  };
  const size_t n_parts = levels.states.size() * rows.n_heads;
  const size_t out_bytes = n_parts * round_up_16(shape.head_dim) * sizeof(float);
  scratch.reserve(pool.n_threads(), item_of(0).use(nullptr), out_bytes + n_parts * sizeof(float));
  const Parts parts{reinterpret_cast<float*>(scratch.shared()),
                    reinterpret_cast<float*>(scratch.shared() + out_bytes)};
  pool.parallel_for(static_cast<int64_t>(chunks.size()) * shape.n_kv_heads,
                    [&](int64_t item, int worker) {
                      LevelItem level = item_of(item);
                      level.use(scratch.of(worker));
                      level.run(parts);
                    });
  pool.parallel_for(static_cast<int64_t>(rows.positions.size()),
                    [&](int64_t row, int) { combine_row(rows, levels, parts, row); });
}

}  // namespace pando::kernel
