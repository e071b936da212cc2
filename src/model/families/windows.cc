#include "model/families/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "model/families/layer_list.h"

namespace pando::model {
namespace {

using json = Json;
using nlohmann::ordered_json;

// Layers that slide by layer_types; empty if the field is absent. window: 0 if none may slide.
std::vector<bool> read_layer_types(Fields& fields, const ModelConfig& config, int window) {
  const json* types = fields.find("layer_types");
  if (types == nullptr) return {};
  constexpr std::string_view kWords[] = {"full_attention", "sliding_attention"};
  if (!is_layer_list(fields, "layer_types", config.layers.size(),
                     std::span(kWords).first(window > 0 ? 2 : 1)))
    return {};
  std::vector<bool> slides;
  for (const json& type : *types) slides.push_back(type == kWords[1]);
  return slides;
}

int read_tokens(Fields& fields, int absent) {
  const int fallback = fields.contains("sliding_window") ? 0 : absent;
  return static_cast<int>(fields.integer("sliding_window", 1, kMaxPositions, fallback));
}

void write_layer_types(const ModelConfig& config, ordered_json& object) {
  for (const LayerConfig& layer : config.layers)
    object["layer_types"].push_back(layer.window > 0 ? "sliding_attention" : "full_attention");
}

int widest(const ModelConfig& config) {
  int window = 0;
  for (const LayerConfig& layer : config.layers) window = std::max(window, layer.window);
  return window;
}

void refuse_sliding_window(Fields& fields, const ModelConfig& config) {
  if (fields.find("sliding_window") != nullptr)
    fields.refuse("sliding_window", fmt::format("null for {}", config.family->name),
                  ErrorCode::kUnsupported);
}

void refuse_window(Fields& fields, const ModelConfig& config) {
  refuse_sliding_window(fields, config);
  if (fields.boolean("use_sliding_window", false))
    fields.refuse("use_sliding_window", fmt::format("false for {}", config.family->name),
                  ErrorCode::kUnsupported);
  read_layer_types(fields, config, 0);
}

void read_window_of_all(Fields& fields, int absent, ModelConfig& config) {
  const int window = read_tokens(fields, absent);
  const std::vector<bool> slides = read_layer_types(fields, config, window);
  const auto full = std::ranges::find(slides, false);
  if (window > 0 && full != slides.end())
    refuse_entry(fields, "layer_types", static_cast<size_t>(full - slides.begin()),
                 fmt::format("\"sliding_attention\" for {}", config.family->name));
  for (LayerConfig& layer : config.layers) layer.window = window;
}

void read_windows_of_some(Fields& fields, int absent, ModelConfig& config) {
  const int window = fields.boolean("use_sliding_window", false) ? read_tokens(fields, absent) : 0;
  const std::vector<bool> slides = read_layer_types(fields, config, window);
  const int64_t first =
      window > 0 && slides.empty() ? fields.integer("max_window_layers", 0, kMaxLayers, 28) : 0;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const bool has_window = i < slides.size() ? slides[i] : static_cast<int64_t>(i) >= first;
    config.layers[i].window = has_window ? window : 0;
  }
}

void read_mixed_windows(Fields& fields, const WindowFields& usual, ModelConfig& config) {
  const int64_t interval =
      usual.says_interval ? fields.integer("sliding_window_pattern", 1, kMaxLayers, usual.interval)
                          : usual.interval;
  const int window = read_tokens(fields, usual.absent);
  const std::vector<bool> slides = read_layer_types(fields, config, window);
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const bool has_window =
        i < slides.size() ? slides[i] : static_cast<int64_t>(i + 1) % interval != 0;
    config.layers[i].window = has_window ? window : 0;
  }
}

}  // namespace

void read_windows(Fields& fields, const WindowFields& usual, ModelConfig& config) {
  switch (usual.layers) {
    case Windows::kNone:
      return refuse_window(fields, config);
    case Windows::kRecurrent:
      return refuse_sliding_window(fields, config);
    case Windows::kAll:
      return read_window_of_all(fields, usual.absent, config);
    case Windows::kSome:
      return read_windows_of_some(fields, usual.absent, config);
    case Windows::kMixed:
      return read_mixed_windows(fields, usual, config);
    case Windows::kUnread:
    case Windows::kIgnored:
      return;
  }
}

void write_windows(const ModelConfig& config, const WindowFields& usual, ordered_json& object) {
  const int window = widest(config);
  const Windows layers = usual.layers;
  if (layers == Windows::kAll || layers == Windows::kMixed)
    object["sliding_window"] = window == 0 ? ordered_json(nullptr) : ordered_json(window);
  if (layers == Windows::kMixed) write_layer_types(config, object);
  if (layers != Windows::kSome || window == 0) return;
  object["use_sliding_window"] = true;
  object["sliding_window"] = window;
  write_layer_types(config, object);
}

void translate_windows(GgufTranslator& gguf, const WindowFields& usual) {
  if (usual.layers == Windows::kIgnored) return;
  if (usual.layers == Windows::kMixed) return gguf.layer_windows(usual.interval);
  usual.layers == Windows::kAll ? gguf.window() : gguf.no_window();
}

void rotate_in_windows(ModelConfig& config) {
  config.rotations.push_back({.rotary_share = 0.0});
  for (LayerConfig& layer : config.layers) layer.rotation = layer.window > 0 ? 0 : 1;
}

}  // namespace pando::model
