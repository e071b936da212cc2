// Sliding windows in a config.json.
#pragma once

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "model/config.h"

namespace pando::model {

// These read the windows of layers, once read_decoder has set the number of layers. A null
// `sliding_window` means no window. An absent one means `absent` tokens, 0 for no window.
//
// Refuses any window.
void refuse_window(Fields& fields, const ModelConfig& config);
// Refuses `sliding_window` alone, where layer_types names other kinds of layers.
void refuse_sliding_window(Fields& fields, const ModelConfig& config);
// Gives the window to every layer.
void read_window(Fields& fields, int absent, ModelConfig& config);
// Gives it to the layers that use_sliding_window, max_window_layers and layer_types name.
void read_layer_windows(Fields& fields, int absent, ModelConfig& config);
// Gives it to the layers that layer_types names, or, without layer_types, to all but every
// `interval`-th.
void read_mixed_windows(Fields& fields, int absent, int64_t interval, ModelConfig& config);

// All layers but every `interval`-th get a window.
void set_windows(int window, int interval, ModelConfig& config);
// Layers without a window get another rotation than the others: none.
void rotate_in_windows(ModelConfig& config);

// Write what read_window, read_layer_windows and read_mixed_windows read.
void write_window(const ModelConfig& config, nlohmann::ordered_json& object);
void write_layer_windows(const ModelConfig& config, nlohmann::ordered_json& object);
void write_mixed_windows(const ModelConfig& config, nlohmann::ordered_json& object);

}  // namespace pando::model
