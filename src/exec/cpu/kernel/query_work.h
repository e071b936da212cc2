// The queries of a work item of attention, and the memory that tiles are folded into their states
// with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exec/cpu/kernel/cpu/attend_args.h"
#include "exec/cpu/kernel/cpu/linear_layout.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/kernel/kv_layout.h"
#include "exec/cpu/kernel/work_space.h"

namespace pando::kernel {

inline constexpr int kMostPages = 64;  // pages of a tile

inline int round_up_16(int n) { return (n + 15) / 16 * 16; }

class QueryWork {
 public:
  // cap: of scores (AttentionArgs).
  QueryWork(const KvShape& shape, float cap)
      : shape_(shape), dim_(round_up_16(shape.head_dim)), cap_(cap) {}

  // Takes work space for n queries.
  void use(WorkSpace& space, size_t n) {
    const size_t n_tile = round_up_16(shape_.tile_len);
    if (is_int8()) {
      q_int8_ = reinterpret_cast<int8_t*>(space.take(n * dim_));
      q_rows_ = reinterpret_cast<QuantizedRow*>(space.take(n * sizeof(QuantizedRow)));
      shares_ = reinterpret_cast<uint8_t*>(space.take(n * n_tile));
      share_scale_ = space.floats(n);
      to_share_ = space.floats(n);
      gathered_ = space.take(int8_gathered_bytes(shape_.tile_len, shape_.head_dim));
      q_ = space.floats(dim_);
    } else {
      q_ = space.floats(n * dim_);
      widened_ = space.floats(kStripChannels * n_tile);
    }
    lanes = space.floats(n * 16);
    scores_ = space.floats(n * n_tile);
    factor_ = space.floats(n);
    visible = space.ints(n);
    from = space.ints(n);
  }

  // Query i becomes q * factor; q: [head_dim] f32.
  void set(const Kernels& kernels, int i, const float* q, float factor) const {
    float* const scaled = is_int8() ? q_ : q_ + i * dim_;
    kernels.scale(q, factor, shape_.head_dim, scaled);
    if (is_int8()) q_rows_[i] = kernels.quantize(scaled, shape_.head_dim, q_int8_ + i * dim_);
  }

  // Arguments for queries [first, first + n); their `visible` and `from` are the first n. Still to
  // set: pages, max and acc, whether the tile is the first, and `from` if it is not null.
  AttendTileArgs args(int first, int n) const {
    return {.type = shape_.type,
            .head_dim = shape_.head_dim,
            .page_len = shape_.page_len,
            .tile_len = shape_.tile_len,
            .n_queries = n,
            .cap = cap_,
            .visible = visible,
            .q = is_int8() ? nullptr : q_ + first * dim_,
            .sum = lanes + first * 16,
            .scores = scores_,
            .factor = factor_,
            .widen_once = widens_once(n),
            .widened = widened_,
            .q_int8 = is_int8() ? q_int8_ + first * dim_ : nullptr,
            .q_rows = is_int8() ? q_rows_ + first : nullptr,
            .shares = shares_,
            .share_scale = share_scale_,
            .to_share = to_share_,
            .gathered = gathered_};
  }

  float* lanes = nullptr;      // [n_queries, 16] sums of weights
  int32_t* visible = nullptr;  // [n_queries] positions of the current tile that a query sees
  int32_t* from = nullptr;     // [n_queries]

 private:
  bool is_int8() const { return shape_.type == DType::kI8; }

  const KvShape& shape_;
  int dim_;  // padded head_dim
  float cap_;
  float* q_ = nullptr;        // [n_queries, dim_] scaled; for int8 one at a time
  float* scores_ = nullptr;   // [n_queries, padded tile_len]
  float* factor_ = nullptr;   // [n_queries]
  float* widened_ = nullptr;  // [kStripChannels, padded tile_len]; not for int8
  // For int8:
  int8_t* q_int8_ = nullptr;        // [n_queries, dim_]
  QuantizedRow* q_rows_ = nullptr;  // [n_queries]
  uint8_t* shares_ = nullptr;       // [n_queries, padded tile_len]
  float* share_scale_ = nullptr;    // [n_queries]
  float* to_share_ = nullptr;       // [n_queries]
  std::byte* gathered_ = nullptr;   // int8_gathered_bytes()
};

}  // namespace pando::kernel
