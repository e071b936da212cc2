// Keys and values in pages.
//
// A page has a chunk of keys and one of values for each layer and KV head, where KvShape says. A
// chunk is [page_len, head_dim] elements of the page's type; behind int8 stands one f32 scale for
// each position.
#pragma once

#include <cstdint>
#include <span>

#include "contract/step_plan.h"
#include "exec/cpu/kernel/kv_layout.h"

namespace pando::exec::scalar {

// A key, or a value, of one KV head at one place.
class KvChannels {
 public:
  enum class Kind { kKey, kValue };
  KvChannels(const kernel::KvView& view, Kind kind, int layer, int head, KvSlot slot);

  // Rounds x, [head_dim], to the page's type.
  void write(const float* x) const;
  // f32, f16 and bf16: widened, [head_dim].
  void read(float* x) const;
  // int8: [head_dim].
  const int8_t* integers() const { return reinterpret_cast<const int8_t*>(elements_); }
  float int8_scale() const;

 private:
  const kernel::KvShape& shape_;
  std::byte* elements_;
  std::byte* int8_scale_;
};

// The pages of a layer, and a step's lists for them.
struct LayerPages {
  const kernel::KvView& view;
  int layer;                             // of the view
  std::span<const uint32_t> slot_begin;  // [n_rows + 1]
  std::span<const KvSlot> slots;
  std::span<const PageId> task_pages;
};

// Writes a row's key and value, [n_kv_heads, head_dim], to all slots of the row.
void write_row(const LayerPages& pages, uint32_t row, const float* keys, const float* values);

// Carries out copies in order.
void copy_positions(const kernel::KvView& view, std::span<const PageCopy> copies);

}  // namespace pando::exec::scalar
