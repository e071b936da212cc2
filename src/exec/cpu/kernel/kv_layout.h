// Memory layout of keys and values in a page. No other file describes it.
//
// A page holds `page_len` consecutive positions of one path, for all layers and KV heads. Layers
// whose heads differ are in groups, one behind the other, each with a KvShape. Within a group,
// outer to inner:
//
//   [layer] [keys, values] [kv_head] [chunk]
//
// A key chunk is [head_dim, page_len]: one channel of neighbouring positions side by side, so that
// inner products vectorise over keys. A value chunk is [page_len, head_dim], so that weighted sums
// vectorise over channels.
//
// int8 has four integers side by side, as integer dot products read them, and behind the elements
// of a chunk one f32 scale for each position:
//
//   keys    [head_dim / 4] [page_len] [4 channels] u8, the integer + 128;  then [page_len] f32
//   values  [ceil(page_len / 4)] [dim] [4 positions] s8;                   then [page_len] f32
//
// where dim is head_dim rounded up to sixteen, and the scales begin at int8_element_bytes().
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "contract/pages.h"

namespace pando::kernel {

// Compiled for several instruction sets, hence `static`.
static constexpr int int8_element_bytes(int page_len, int head_dim) {
  return (page_len + 3) / 4 * 4 * ((head_dim + 15) / 16 * 16);
}

// Bytes of an f32, f16 or bf16 element.
static constexpr size_t kv_element_bytes(DType type) { return type == DType::kF32 ? 4 : 2; }

// A group of layers with heads of one shape.
struct KvShape {
  DType type = DType::kF16;  // f32, f16, bf16 or int8
  int n_layers = 0;
  int n_kv_heads = 0;
  int head_dim = 0;   // even, a multiple of 4
  int page_len = 32;  // positions of a page; divides tile_len
  int tile_len = 64;  // positions of a tile; divides span_len
  // Positions of a span. One thread computes it, and its end may not depend on how many there are:
  // one KV head with one row and 2,000 positions takes twice what shorter spans would (Intel, two
  // threads), which would cost merges everywhere else.
  int span_len = 2048;

  size_t chunk_bytes() const {
    if (type == DType::kI8)
      return (int8_element_bytes(page_len, head_dim) + 4 * page_len + 63) / 64 * size_t{64};
    return static_cast<size_t>(page_len) * head_dim * kv_element_bytes(type);
  }
  // Bytes of the group's part of a page.
  size_t page_bytes() const { return chunk_bytes() * 2 * n_layers * n_kv_heads; }
  // Byte offset of a chunk in that part.
  size_t key_offset(int layer, int kv_head) const {
    return chunk_bytes() * (static_cast<size_t>(layer) * 2 * n_kv_heads + kv_head);
  }
  size_t value_offset(int layer, int kv_head) const {
    return key_offset(layer, kv_head) + chunk_bytes() * n_kv_heads;
  }
  int pages_per_tile() const { return tile_len / page_len; }
};

// The memory of a page pool as kernels see it: one group's part of page i begins at base + i *
// page_bytes.
struct KvView {
  std::byte* base = nullptr;
  KvShape shape;
  size_t page_bytes = 0;  // of all groups; 0: there is no other

  std::byte* page(PageId id) const {
    return base + (page_bytes == 0 ? shape.page_bytes() : page_bytes) * id;
  }
};

}  // namespace pando::kernel
