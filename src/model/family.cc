#include "model/family.h"

#include "base/check.h"

namespace pando::model {
namespace {

constexpr FamilyTraits kFamilies[] = {
    {.family = Family::kLlama,
     .name = "llama",
     .architecture = "LlamaForCausalLM",
     .optional_bias = true,
     .kv_heads_as_heads = true},
    {.family = Family::kMistral,
     .name = "mistral",
     .architecture = "MistralForCausalLM",
     .window = WindowFields::kAlways,
     .sliding_window = 4096},
    {.family = Family::kQwen2,
     .name = "qwen2",
     .architecture = "Qwen2ForCausalLM",
     .qkv_bias = true,
     .window = WindowFields::kByLayer,
     .sliding_window = 4096},
    {.family = Family::kQwen3,
     .name = "qwen3",
     .architecture = "Qwen3ForCausalLM",
     .qk_norm = QkNorm::kPerHead,
     .optional_bias = true,
     .window = WindowFields::kByLayer,
     .head_dim = 128,
     .sliding_window = 4096},
    {.family = Family::kPhi3,
     .name = "phi3",
     .architecture = "Phi3ForCausalLM",
     .fused_projections = true,
     .partial_rotary = true,
     .window = WindowFields::kAlways,
     .kv_heads_as_heads = true,
     .rms_eps = 1e-5},
    {.family = Family::kOlmo2,
     .name = "olmo2",
     .architecture = "Olmo2ForCausalLM",
     .qk_norm = QkNorm::kFullWidth,
     .post_norm = true,
     .optional_bias = true,
     .kv_heads_as_heads = true,
     .rms_eps = 1e-5},
};

}  // namespace

std::span<const FamilyTraits> families() { return kFamilies; }

const FamilyTraits& traits_of(Family family) {
  for (const FamilyTraits& traits : kFamilies)
    if (traits.family == family) return traits;
  PANDO_CHECK(false);
}

}  // namespace pando::model
