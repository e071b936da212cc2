// Configurations of Gemma 4 with mixtures of experts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/experts_json.h"
#include "model/make_model.h"

namespace pando::model::gemma4_moe_test {
namespace {

using namespace experts_json;

json gemma4(const json& change = json::object()) {
  json object = decoder("Gemma4ForCausalLM", "gemma4_text",
                        {{"hidden_size_per_layer_input", 0},
                         {"enable_moe_block", true},
                         {"num_experts", 6},
                         {"top_k_experts", 2},
                         {"moe_intermediate_size", 40}});
  object.update(change);
  return object;
}

TEST(ExpertsConfig, ReadsGemma4) {
  const ModelConfig config = read(gemma4());
  EXPECT_EQ(
      config.experts,
      (ExpertsConfig{
          .n_experts = 6, .n_used = 2, .d_ff = 40, .shared_d_ff = 172, .renormalised = true}));
  EXPECT_EQ(mixtures(config), (Ints{0, 1, 2, 3}));
  // Without the block, the library has no experts.
  EXPECT_EQ(mixtures(read(gemma4({{"enable_moe_block", false}}))), Ints());
  for (const char* name : {"num_experts", "top_k_experts", "moe_intermediate_size"})
    expect_error(gemma4({{name, nullptr}}), {name});
  expect_error(gemma4({{"num_experts", 0}}), {"num_experts", "at least 1"});
  expect_error(gemma4({{"top_k_experts", 7}}), {"'top_k_experts' is 7", "6"});
  expect_error(
      gemma4({{"layer_types",
               {"sliding_attention", "full_attention", "sliding_attention", "full_attention"}},
              {"num_kv_shared_layers", 2},
              {"use_double_wide_mlp", true}}),
      {"use_double_wide_mlp", "experts"}, ErrorCode::kUnsupported);
}

// As the model of 26 billion parameters is published.
TEST(ExpertsConfig, ReadsGemma4InsideALargerModel) {
  const ModelConfig whole = read({{"model_type", "gemma4"},
                                  {"architectures", {"Gemma4ForConditionalGeneration"}},
                                  {"tie_word_embeddings", true},
                                  {"text_config",
                                   {{"model_type", "gemma4_text"},
                                    {"hidden_size", 2816},
                                    {"intermediate_size", 2112},
                                    {"num_hidden_layers", 30},
                                    {"num_attention_heads", 16},
                                    {"num_key_value_heads", 8},
                                    {"head_dim", 256},
                                    {"global_head_dim", 512},
                                    {"num_global_key_value_heads", 2},
                                    {"attention_k_eq_v", true},
                                    {"enable_moe_block", true},
                                    {"num_experts", 128},
                                    {"top_k_experts", 8},
                                    {"moe_intermediate_size", 704},
                                    {"sliding_window", 1024},
                                    {"final_logit_softcapping", 30.0},
                                    {"hidden_size_per_layer_input", 0},
                                    {"max_position_embeddings", 262144},
                                    {"bos_token_id", 2},
                                    {"eos_token_id", {1, 106}}}},
                                  {"vision_config", json::object()},
                                  {"audio_config", nullptr}});
  EXPECT_EQ(whole, *named_shape("gemma-4-26b-a4b"));
}

}  // namespace
}  // namespace pando::model::gemma4_moe_test
