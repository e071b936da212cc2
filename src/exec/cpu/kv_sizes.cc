#include "exec/cpu/kv_sizes.h"

#include <algorithm>
#include <limits>

#include "base/errors.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/state_layout.h"

namespace pando::exec {
namespace {

constexpr std::string_view kKvMemory = "kv_memory";

size_t ceil_div(size_t a, size_t b) { return (a + b - 1) / b; }

// In models with states, half of the memory is for states. But there are no more states than pages,
// because places are further apart than a page is long.
size_t n_slots_in(const KvOptions& options, size_t slot_bytes, size_t page_bytes) {
  if (slot_bytes == 0) return 0;
  if (options.n_slots > 0) return options.n_slots;
  return std::min(options.memory / 2 / slot_bytes, options.memory / (slot_bytes + page_bytes));
}

void divide_windows(const KvOptions& options, KvSizes& sizes) {
  const size_t page_bytes = exec::page_bytes(sizes.pages);
  const size_t window_page_bytes = exec::page_bytes(sizes.windows);
  const size_t least = least_window_pages(options, sizes.window);
  size_t& n_windows = sizes.n_window_pages = options.n_window_pages;
  if (page_bytes == 0) {            // pages of the tree have no bytes
    constexpr size_t kLongest = 8;  // sequences of full length for which there are page numbers
    if (n_windows == 0) n_windows = options.memory / window_page_bytes;
    sizes.n_pages = n_windows + kLongest * ceil_div(options.context, options.page_len);
    return;
  }
  // Assumes paths of 8,192 positions, or of the longest length. Two windows and the rows of a step
  // need window pages.
  constexpr double kPath = 8192, kStepRows = 1024;
  const double share =
      std::min(1.0, (2.0 * sizes.window + kStepRows) / std::min<double>(options.context, kPath));
  if (n_windows == 0) {
    n_windows = static_cast<size_t>(share * (static_cast<double>(options.memory) /
                                             (static_cast<double>(page_bytes) +
                                              share * static_cast<double>(window_page_bytes))));
    // But first comes a long path.
    const size_t long_path =
        ceil_div(std::min(options.context, kLongestSure), options.page_len) * page_bytes;
    const size_t left = options.memory - std::min(options.memory, long_path);
    n_windows = std::max(least, std::min(n_windows, left / window_page_bytes));
  }
  sizes.n_pages =
      (options.memory - std::min(options.memory, n_windows * window_page_bytes)) / page_bytes;
}

}  // namespace

size_t least_window_pages(const KvOptions& options, uint32_t window) {
  const size_t page_len = options.page_len;
  return std::min(ceil_div(options.context, page_len),
                  ceil_div(window + options.tile_len, page_len) + 2);
}

bool has_window(const model::LayerConfig& layer, int context) {
  return layer.mixer == model::Mixer::kAttention && layer.window > 0 && layer.window < context;
}

std::vector<KvPlace> kv_places(const model::ModelSpec& spec, bool window_pages, int context) {
  std::vector<KvPlace> places(spec.layers.size());
  std::vector<model::Heads> groups[2];  // of pages, and of windows
  std::vector<int> n_layers[2];         // of each group
  for (int i = 0; i < spec.n_layers(); ++i) {
    const model::LayerConfig& layer = spec.layers[i];
    if (layer.mixer != model::Mixer::kAttention) continue;
    KvPlace& place = places[i];
    if (layer.keys_back > 0) {
      place = places[i - layer.keys_back];
      continue;
    }
    place.in_windows = window_pages && !spec.both_ways && has_window(layer, context);
    std::vector<model::Heads>& known = groups[place.in_windows];
    std::vector<int>& counts = n_layers[place.in_windows];
    const auto found = std::ranges::find(known, spec.heads(i));
    place.group = static_cast<int>(found - known.begin());
    if (found == known.end()) {
      known.push_back(spec.heads(i));
      counts.push_back(0);
    }
    const int n_before = counts[place.group]++;
    place.layer = spec.both_ways ? n_before % 2 : n_before;
  }
  return places;
}

KvSizes KvSizes::shapes_of(const model::ModelSpec& spec, const KvOptions& options) {
  KvSizes sizes;
  sizes.page_len = options.page_len;
  const std::vector<KvPlace> places = kv_places(spec, options.window_pages, options.context);
  for (int i = 0; i < spec.n_layers(); ++i) {
    const model::LayerConfig& layer = spec.layers[i];
    if (layer.mixer != model::Mixer::kAttention || layer.keys_back > 0) continue;
    const KvPlace& place = places[i];
    if (place.in_windows)
      sizes.window = std::max(sizes.window, static_cast<uint32_t>(layer.window));
    std::vector<kernel::KvShape>& groups = place.in_windows ? sizes.windows : sizes.pages;
    const model::Heads heads = spec.heads(i);
    if (std::ssize(groups) == place.group)
      // Texts keep theirs for two layers only, and embeddings are compared to others' f32.
      groups.push_back({.type = spec.both_ways ? DType::kF32 : options.type,
                        .n_kv_heads = heads.n_kv,
                        .head_dim = heads.head_dim,
                        .page_len = options.page_len,
                        .tile_len = options.tile_len,
                        .span_len = options.span_len});
    groups[place.group].n_layers = std::max(groups[place.group].n_layers, place.layer + 1);
    if (!spec.both_ways) continue;
    const int n_queries = heads.q_dim() * (spec.attention_gate ? 2 : 1);
    sizes.text_row_bytes =
        std::max(sizes.text_row_bytes, (size_t{0} + spec.d_model + n_queries) * sizeof(float));
  }
  sizes.slot_bytes = StateLayout(spec).slot_bytes();
  return sizes;
}

KvSizes KvSizes::in_room(const model::ModelSpec& spec, const KvOptions& options,
                         const KvRoom& room) {
  KvSizes sizes = shapes_of(spec, options);
  sizes.n_pages = room.n_pages;
  sizes.n_window_pages = room.n_window_pages;
  sizes.n_slots = room.n_slots;
  sizes.kv_capacity = room.kv_capacity;
  return sizes;
}

size_t KvSizes::all_page_bytes() const {
  return page_bytes(pages) + static_cast<size_t>(page_len) * text_row_bytes;
}

KvRoom KvSizes::room() const {
  return {.n_pages = n_pages,
          .n_window_pages = n_window_pages,
          .n_slots = n_slots,
          .page_bytes = all_page_bytes(),
          .window_page_bytes = exec::page_bytes(windows),
          .slot_bytes = slot_bytes,
          .page_len = page_len,
          .window = window,
          .kv_capacity = kv_capacity};
}

Result<KvSizes> KvSizes::of(const model::ModelSpec& spec, const KvOptions& options) {
  KvSizes sizes = shapes_of(spec, options);
  if (sizes.window > 0 && sizes.slot_bytes > 0)
    return unsupported(
        "{} has recurrent layers and layers with a window of {} positions, expected "
        "no window",
        spec.family_name, sizes.window);
  const size_t page_bytes = sizes.all_page_bytes(), memory = options.memory;
  const size_t page_len = options.page_len;
  if (sizes.window > 0) {
    divide_windows(options, sizes);
    const size_t least = least_window_pages(options, sizes.window);
    const size_t window_bytes = exec::page_bytes(sizes.windows);
    if (sizes.n_window_pages < least || sizes.n_window_pages * window_bytes > memory)
      return invalid_option(
          kKvMemory,
          "is {} bytes, expected at least {} bytes, so that a window of {} positions "
          "fits",
          memory, std::max(least, sizes.n_window_pages) * window_bytes + page_bytes, sizes.window);
  } else {
    const size_t n_slots = n_slots_in(options, sizes.slot_bytes, page_bytes);
    if (sizes.slot_bytes > 0 && n_slots < 2)
      return invalid_option(
          kKvMemory, "is {} bytes, expected at least {} bytes, so that two states of {} bytes fit",
          memory, std::max(4 * sizes.slot_bytes, 2 * (sizes.slot_bytes + page_bytes)),
          sizes.slot_bytes);
    sizes.n_slots = n_slots;
    // Layers without keys and values, as a stage of a model may have alone, take no page's bytes.
    const size_t left = memory - std::min(memory, n_slots * sizes.slot_bytes);
    sizes.n_pages = page_bytes == 0 ? size_t{1} << 24 : left / page_bytes;
  }
  if (std::max(sizes.n_pages, sizes.n_window_pages) >= kNoPage)
    return invalid_option(kKvMemory, "is {} bytes, expected fewer than 2^32 - 1 pages of {} bytes",
                          memory, std::max(page_bytes, exec::page_bytes(sizes.windows)));
  if (sizes.n_pages == 0 && sizes.window > 0)
    return invalid_option(
        kKvMemory,
        "is {} bytes, expected at least {} bytes, so that a window of {} positions and "
        "one page fit",
        memory, page_bytes + sizes.n_window_pages * exec::page_bytes(sizes.windows), sizes.window);
  if (sizes.n_pages == 0)
    return invalid_option(kKvMemory,
                          "is {} bytes, expected at least one page of {} bytes ({} positions)",
                          memory, page_bytes, page_len);
  const bool all_windows = sizes.window > 0 && sizes.pages.empty();
  sizes.kv_capacity = (all_windows ? sizes.n_window_pages : sizes.n_pages) * page_len;
  return sizes;
}

}  // namespace pando::exec
