// Configurations of Nemotron-H, whose layers are a mixer or a feed-forward each.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"
#include "model/make_model.h"

namespace pando::model::nemotron_h_test {
namespace {

using config_json::read;
using nlohmann::json;

// As files of Nemotron Nano 2 and Nemotron 3 Nano have them.
json dense() {
  return {{"architectures", {"NemotronHForCausalLM"}},
          {"model_type", "nemotron_h"},
          {"attention_bias", false},
          {"bos_token_id", 1},
          {"chunk_size", 128},
          {"conv_kernel", 4},
          {"eos_token_id", 12},
          {"expand", 2},
          {"head_dim", 128},
          {"hidden_size", 4480},
          {"hybrid_override_pattern", "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"},
          {"intermediate_size", 15680},
          {"layer_norm_epsilon", 1e-5},
          {"mamba_head_dim", 80},
          {"mamba_hidden_act", "silu"},
          {"mamba_num_heads", 128},
          {"mamba_proj_bias", false},
          {"max_position_embeddings", 131072},
          {"mlp_bias", false},
          {"mlp_hidden_act", "relu2"},
          {"n_groups", 8},
          {"num_attention_heads", 40},
          {"num_hidden_layers", 56},
          {"num_key_value_heads", 8},
          {"residual_in_fp32", false},
          {"rms_norm_eps", 1e-5},
          {"sliding_window", nullptr},
          {"ssm_state_size", 128},
          {"tie_word_embeddings", false},
          {"time_step_limit", {0.0, "Infinity"}},
          {"use_bias", false},
          {"use_conv_bias", true},
          {"use_mamba_kernels", true},
          {"vocab_size", 131072}};
}

json mixture() {
  json object = dense();
  object.update(
      {{"eos_token_id", 2},
       {"hidden_size", 2688},
       {"hybrid_override_pattern", "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"},
       {"intermediate_size", 1856},
       {"mamba_head_dim", 64},
       {"mamba_num_heads", 64},
       {"max_position_embeddings", 262144},
       {"moe_intermediate_size", 1856},
       {"moe_shared_expert_intermediate_size", 3712},
       {"n_group", 1},
       {"n_routed_experts", 128},
       {"n_shared_experts", 1},
       {"norm_topk_prob", true},
       {"num_attention_heads", 32},
       {"num_experts_per_tok", 6},
       {"num_hidden_layers", 52},
       {"num_key_value_heads", 2},
       {"routed_scaling_factor", 2.5},
       {"topk_group", 1}});
  return object;
}

void expect_error(json object, const json& change, ErrorCode code, std::vector<std::string> words) {
  object.update(change);
  config_json::expect_error(object, std::move(words), code);
}

TEST(NemotronHConfig, ReadsPublishedFiles) {
  EXPECT_EQ(read(dense()), named_shape("nemotron-nano-9b-v2").value());
  EXPECT_EQ(read(mixture()), named_shape("nemotron-3-nano-30b-a3b").value());
  const ModelConfig config = read(mixture());
  EXPECT_EQ(config.n_attention_layers(), 6);
  EXPECT_EQ(config.n_recurrent_layers(), 23);
  EXPECT_EQ(config.n_inner(), 1);
  // Files of Nemotron-H have an older name for the size of heads.
  json older = dense();
  older.erase("head_dim");
  EXPECT_EQ(read(older).head_dim, 128);
  older["attention_head_dim"] = 112;
  EXPECT_EQ(read(older).head_dim, 112);
}

TEST(NemotronHConfig, KindsOfLayersHaveNamesToo) {
  json object = dense();
  object["hybrid_override_pattern"] = "M-*E";
  object["num_hidden_layers"] = 4;
  const ModelConfig config = read(object);
  for (const json& kinds : {json{"linear_attention", "mlp", "full_attention", "moe"},
                            json{"mamba", "mlp", "attention", "moe"}}) {
    json other = object;
    other.erase("hybrid_override_pattern");
    other.erase("num_hidden_layers");
    other["layers_block_type"] = kinds;
    EXPECT_EQ(read(other), config);
    json renamed = other;
    renamed["layer_types"] = renamed["layers_block_type"];
    EXPECT_EQ(read(renamed), config);
    renamed.erase("layers_block_type");
    EXPECT_EQ(read(renamed), config);
    renamed["layers_block_type"] = {"mlp", "attention"};
    expect_error(renamed, json::object(), ErrorCode::kBadFile, {"'layer_types' is"});
  }
  EXPECT_EQ(config.layers[1].mixer, Mixer::kNone);
  EXPECT_EQ(config.layers[1].feed_forward, FeedForward::kDense);
  EXPECT_EQ(config.layers[2].feed_forward, FeedForward::kNone);
}

TEST(NemotronHConfig, RefusesByNameWhatIsNotOffered) {
  const ErrorCode bad = ErrorCode::kBadFile, unsupported = ErrorCode::kUnsupported;
  expect_error(dense(), {{"hybrid_override_pattern", "M-X*"}}, bad,
               {"'hybrid_override_pattern' is \"M-X*\"", "the letters M, *, - and E"});
  expect_error(dense(), {{"hybrid_override_pattern", nullptr}}, bad, {"hybrid_override_pattern"});
  expect_error(dense(), {{"num_hidden_layers", 55}}, bad,
               {"'num_hidden_layers' is 55", "56, the number of layers"});
  expect_error(dense(), {{"hybrid_override_pattern", "M-M-"}, {"num_hidden_layers", 4}},
               unsupported, {"none of the 4 layers has attention"});
  expect_error(dense(), {{"layers_block_type", {"mlp", "attention", "conv"}}}, unsupported,
               {"'layers_block_type[2]' is \"conv\"", "\"mlp\" or \"moe\""});
  expect_error(dense(), {{"mlp_hidden_act", "silu"}}, unsupported, {"mlp_hidden_act", "relu2"});
  expect_error(dense(), {{"use_bias", true}}, unsupported, {"use_bias"});
  expect_error(dense(), {{"mlp_bias", true}}, unsupported, {"mlp_bias"});
  expect_error(dense(), {{"time_step_limit", {0.001, 0.1}}}, unsupported, {"time_step_limit"});
  expect_error(dense(), {{"time_step_limit", {0.0, "0.05"}}}, unsupported, {"time_step_limit"});
  expect_error(dense(), {{"time_step_limit", {0.0, nullptr}}}, unsupported, {"time_step_limit"});
  expect_error(dense(), {{"time_step_min", 0.5}}, unsupported, {"'time_step_min' is 0.5", "0.001"});
  expect_error(dense(), {{"sliding_window", 64}}, unsupported, {"sliding_window"});
  expect_error(dense(), {{"attention_head_dim", 64}}, bad, {"attention_head_dim", "128"});
  expect_error(mixture(), {{"moe_latent_size", 1024}}, unsupported, {"'moe_latent_size' is 1024"});
  expect_error(mixture(), {{"n_shared_experts", 2}}, unsupported, {"n_shared_experts"});
  expect_error(mixture(), {{"num_experts_per_tok", 200}}, bad, {"num_experts_per_tok"});
}

}  // namespace
}  // namespace pando::model::nemotron_h_test
