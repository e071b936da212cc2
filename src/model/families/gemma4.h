// Gemma 4 in files: what they call its fields, and GGUF files.
#pragma once

#include "model/families/experts.h"
#include "model/gguf_translator.h"

namespace pando::model {

namespace gemma4 {

constexpr const char *kLogitCap = "final_logit_softcapping", *kPerLayer = "per_layer_config",
                     *kGlobalDim = "global_head_dim", *kGlobalHeads = "num_global_key_value_heads",
                     *kKeysAsValues = "attention_k_eq_v", *kShared = "num_kv_shared_layers",
                     *kDoubleWide = "use_double_wide_mlp",
                     *kInputDim = "hidden_size_per_layer_input",
                     *kInputVocab = "vocab_size_per_layer_input",
                     *kSlidingRotated = "rope.dimension_count_swa", *kMixture = "enable_moe_block";
constexpr ExpertFields kExperts = {.used_name = "top_k_experts"};
constexpr int kInterval = 6;  // every sixth layer sees all, where nothing else is said
constexpr double kSlidingTheta = 1e4;

}  // namespace gemma4

void translate_gemma4(GgufTranslator& gguf);  // Family::translate

}  // namespace pando::model
