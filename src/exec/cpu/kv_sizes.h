// Sizes of the memory for keys, values and states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "contract/executor.h"
#include "contract/model_spec.h"
#include "exec/cpu/kernel/kv_layout.h"
#include "exec/cpu/layers/layer_attention.h"
#include "pando/values/result.h"

namespace pando::exec {

// Location of the keys and values that a layer reads.
struct KvPlace {
  bool in_windows = false;  // in pages of their own
  int group = 0;            // of the layers of such a page
  int layer = 0;            // in the group
};
// The place for each layer; meaningless for recurrent layers. Layers with the same heads form a
// group. If rows see both ways, the layers of a group take turns at two places: keys and values of
// a layer are read until all rows of the text have passed it, and never again.
std::vector<KvPlace> kv_places(const model::ModelSpec& spec, bool window_pages, int context);

struct KvSizes {
  // The groups of layers of a page. Layers that read the keys of another count nowhere.
  std::vector<kernel::KvShape> pages;    // of the layers without a window, or of all
  std::vector<kernel::KvShape> windows;  // empty: pages are for all
  int page_len = 0;                      // positions of a page
  uint32_t window = 0;                   // the widest one; 0: pages are for all layers
  size_t n_pages = 0, n_window_pages = 0, n_slots = 0;
  size_t slot_bytes = 0;  // of a state
  // A row of a text keeps this from pass to pass, beside keys and values: its hidden state and its
  // queries, as f32. 0: rows see what is before them.
  size_t text_row_bytes = 0;

  size_t kv_capacity = 0;  // positions with keys and values in all layers at a time

  KvRoom room() const;
  size_t all_page_bytes() const;  // of a page of keys and values, and of its text rows

  // Shapes, the window and bytes, with the counts of `room`.
  static KvSizes in_room(const model::ModelSpec& spec, const KvOptions& options,
                         const KvRoom& room);
  // Returns the same without counts.
  static KvSizes shapes_of(const model::ModelSpec& spec, const KvOptions& options);
  // kInvalidArgument if the memory holds no page, or more pages than PageId can number, or no
  // two states of a model that has states, or not one window.
  static Result<KvSizes> of(const model::ModelSpec& spec, const KvOptions& options);
};

// Positions for which at least one path has keys and values in all layers, if the memory allows it.
inline constexpr int kLongestSure = 32768;

// The fewest window pages with which the longest sequence can continue: its window in whole tiles,
// a page that it writes, and a page that it copies from.
size_t least_window_pages(const KvOptions& options, uint32_t window);

// True if the layer has a window that is shorter than the longest sequence.
bool has_window(const model::LayerConfig& layer, int context);

}  // namespace pando::exec
