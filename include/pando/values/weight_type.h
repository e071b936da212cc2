// Types in which weights are held, and their names.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace pando {

enum class WeightType {
  kAsStored,  // as in the files
  // Made while loading:
  kF32,
  kF16,
  kBF16,
  kQ8_0,     // 8-bit integers in groups of 32 with an f16 scale
  kQ4_0,     // 4-bit integers in groups of 32 with an f16 scale
  kInt8,     // 8-bit integers, one f32 scale for each output channel
  kBF16Dot,  // bf16, and activations are rounded to it in products: faster where processors have
             // an instruction for it
  kNone,     // not loaded: the model encodes, decodes and renders, and no engine takes it
};

// The names of all but kNone: "stored", "f32", "f16", "bf16", "q8_0", "q4_0", "int8", "bf16_dot".
std::vector<std::string_view> weight_type_names();
// Nothing for any other name.
std::optional<WeightType> weight_type_of(std::string_view name);
// "none" for kNone.
std::string_view weight_type_name(WeightType type);

}  // namespace pando
