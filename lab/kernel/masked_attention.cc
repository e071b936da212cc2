#include "lab/kernel/masked_attention.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/check.h"
#include "exec/cpu/kernel/query_work.h"
#include "exec/cpu/kernel/row_chunks.h"
#include "exec/cpu/kernel/work_space.h"
#include "lab/kernel/cpu/masked.h"

namespace pando::kernel {

void attend_masked_portable(const MaskedTileArgs& args);
#if defined(__x86_64__)
void attend_masked_avx2(const MaskedTileArgs& args);
void attend_masked_avx512(const MaskedTileArgs& args);
#endif

namespace {

using AttendMasked = void (*)(const MaskedTileArgs&);

AttendMasked attend_masked_for([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return attend_masked_avx512;
  if (isa >= Isa::kAvx2) return attend_masked_avx2;
#endif
  return attend_masked_portable;
}

// Rows of a stack against all its cells, for one KV head.
class MaskedItem {
 public:
  MaskedItem(const Kernels& kernels, const AttentionArgs& args, const MaskedArgs& masked)
      : kernels_(kernels),
        attend_masked_(attend_masked_for(kernels.isa)),
        args_(args),
        masked_(masked),
        shape_(args.kv.shape),
        group_(args.n_heads / shape_.n_kv_heads),
        dim_(round_up_16(shape_.head_dim)),
        tile_(round_up_16(shape_.tile_len)) {}

  // Takes its work space, and returns its size in bytes.
  size_t use(std::byte* memory) {
    const size_t n_rows = most_chunk_rows(group_), n = n_rows * group_;
    WorkSpace space(memory);
    q_ = space.floats(n * dim_);
    acc_ = space.floats(n * dim_);
    sum_ = space.floats(n * 16);
    scores_ = space.floats(n * tile_);
    max_ = space.floats(n);
    factor_ = space.floats(n);
    mask_ = space.floats(n_rows * tile_);
    widened_ = space.floats(static_cast<size_t>(kStripChannels) * tile_);
    return space.n_bytes();
  }

  void run(const MaskedStack& stack, uint32_t row_begin, uint32_t row_end, int kv_head) {
    const int n_queries = static_cast<int>(row_end - row_begin) * group_;
    const int64_t out_stride = int64_t{args_.n_heads} * shape_.head_dim;
    for (int i = 0; i < n_queries; ++i)
      kernels_.scale(args_.q + query_at(row_begin, kv_head, i, args_.q_stride), args_.scale,
                     shape_.head_dim, q_ + i * dim_);
    MaskedTileArgs tile;
    tile.type = shape_.type;
    tile.head_dim = shape_.head_dim;
    tile.page_len = shape_.page_len;
    tile.tile_len = shape_.tile_len;
    tile.n_queries = n_queries;
    tile.group = group_;
    tile.mask = mask_;
    tile.q = q_;
    tile.max = max_;
    tile.sum = sum_;
    tile.acc = acc_;
    tile.scores = scores_;
    tile.factor = factor_;
    tile.widened = widened_;
    std::array<const std::byte*, kMostPages> keys, values;
    tile.keys = keys.data();
    tile.values = values.data();
    const uint32_t tile_len = shape_.tile_len, page_len = shape_.page_len;
    tile.first = true;
    for (uint32_t first = 0; first < stack.n_cells; first += tile_len) {
      tile.n_cells = static_cast<int>(std::min(tile_len, stack.n_cells - first));
      if (!lay_out_mask(stack, row_begin, row_end, first, tile.n_cells)) continue;
      for (uint32_t i = 0; i * page_len < static_cast<uint32_t>(tile.n_cells); ++i) {
        const std::byte* page =
            args_.kv.page(masked_.pages[stack.first_page + first / page_len + i]);
        keys[i] = page + shape_.key_offset(args_.layer, kv_head);
        values[i] = page + shape_.value_offset(args_.layer, kv_head);
      }
      attend_masked_(tile);
      tile.first = false;
    }
    if (tile.first) {  // nobody sees anything
      std::fill_n(sum_, n_queries * 16, 0.0f);
      std::fill_n(acc_, n_queries * dim_, 0.0f);
    }
    for (int i = 0; i < n_queries; ++i) {
      float z = 0;
      for (int lane = 0; lane < 16; ++lane) z += sum_[16 * i + lane];
      kernels_.scale(acc_ + i * dim_, z > 0 ? 1 / z : 0, shape_.head_dim,
                     args_.out + query_at(row_begin, kv_head, i, out_stride));
    }
  }

 private:
  int64_t query_at(uint32_t row_begin, int kv_head, int query, int64_t stride) const {
    const int64_t row = row_begin + query / group_, head = kv_head * group_ + query % group_;
    return row * stride + head * shape_.head_dim;
  }

  // Equation 10 of IPPD for one tile. False where none of the rows sees any of it.
  bool lay_out_mask(const MaskedStack& stack, uint32_t row_begin, uint32_t row_end, uint32_t first,
                    int n_cells) {
    constexpr float kUnseen = -std::numeric_limits<float>::infinity();
    const uint32_t tile_len = shape_.tile_len;
    const uint32_t n_tiles = (stack.n_cells + tile_len - 1) / tile_len;
    const uint64_t* const masks = masked_.masks.data() + stack.first_mask + first / tile_len;
    const auto bits_of = [&](uint32_t row) {
      return masks[uint64_t{row - stack.row_begin} * n_tiles];
    };
    uint64_t seen = 0;
    for (uint32_t row = row_begin; row < row_end; ++row) seen |= bits_of(row);
    if (seen == 0) return false;
    seen = 0;
    for (uint32_t row = row_begin; row < row_end; ++row) {
      uint64_t bits = bits_of(row);
      const uint32_t* const cells = masked_.cell_positions.data() + stack.first_cell + first;
      for (int j = 0; j < n_cells && args_.window > 0; ++j)
        if (cells[j] + args_.window <= args_.positions[row]) bits &= ~(uint64_t{1} << j);
      float* const mask = mask_ + (row - row_begin) * tile_;
      for (int j = 0; j < n_cells; ++j) mask[j] = bits >> j & 1 ? 0 : kUnseen;
      seen |= bits;
    }
    return seen != 0;
  }

  const Kernels& kernels_;
  AttendMasked attend_masked_;
  const AttentionArgs& args_;
  const MaskedArgs& masked_;
  const KvShape& shape_;
  int group_, dim_, tile_;
  float *q_, *acc_, *sum_, *scores_, *max_, *factor_, *mask_, *widened_;
};

}  // namespace

void masked_attention(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& rows,
                      const MaskedArgs& masked, AttentionScratch& scratch) {
  const KvShape& shape = rows.kv.shape;
  PANDO_CHECK(rows.n_heads % shape.n_kv_heads == 0 && shape.head_dim % 4 == 0);
  PANDO_CHECK(shape.tile_len <= 64 && shape.pages_per_tile() <= kMostPages);
  PANDO_CHECK(shape.type != DType::kI8);
  const auto chunks = row_chunks(masked.stacks, rows.n_heads / shape.n_kv_heads, shape.n_kv_heads,
                                 pool.n_threads());
  scratch.reserve(pool.n_threads(), MaskedItem(kernels, rows, masked).use(nullptr), 0);
  const auto n_items = static_cast<int64_t>(chunks.size()) * shape.n_kv_heads;
  pool.parallel_for(n_items, [&](int64_t item, int worker) {
    const RowChunk<MaskedStack>& chunk = chunks[item / shape.n_kv_heads];
    MaskedItem of_chunk(kernels, rows, masked);
    of_chunk.use(scratch.of(worker));
    of_chunk.run(*chunk.of, chunk.begin, chunk.end, static_cast<int>(item % shape.n_kv_heads));
  });
}

}  // namespace pando::kernel
