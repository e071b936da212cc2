// Sliding windows in a config.json.
#pragma once

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "model/config.h"
#include "model/family.h"
#include "model/gguf_translator.h"

namespace pando::model {

// Reads the windows of layers, once read_decoder has set their number. A null `sliding_window`
// means no window.
void read_windows(Fields& fields, const WindowFields& usual, ModelConfig& config);
void write_windows(const ModelConfig& config, const WindowFields& usual,
                   nlohmann::ordered_json& object);
// After decoder().
void translate_windows(GgufTranslator& gguf, const WindowFields& usual);

// Layers without a window get another rotation than the others: none.
void rotate_in_windows(ModelConfig& config);

}  // namespace pando::model
