// Configurations that are refused, and the messages.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/llama_json.h"
#include "model/make_model.h"

namespace pando::model::config_refusals_test {
namespace {

using nlohmann::json;
using namespace llama_json;

// Passed over they would change every answer.
TEST(Config, RefusesComputationsThatAreNotOffered) {
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, json>>{{"final_logit_softcapping", 30.0},
                                                           {"attn_logit_softcapping", 50.0},
                                                           {"logit_scale", 0.0625},
                                                           {"logits_scaling", 8.0},
                                                           {"embedding_multiplier", 12.0},
                                                           {"residual_multiplier", 0.22},
                                                           {"attention_multiplier", 0.0078125},
                                                           {"query_pre_attn_scalar", 256},
                                                           {"clip_qkv", 8.0},
                                                           {"no_rope_layers", {1, 0}},
                                                           {"attention_chunk_size", 8192},
                                                           {"attn_temperature_tuning", true},
                                                           {"rope_interleaved", true},
                                                           {"num_local_experts", 8},
                                                           {"use_parallel_residual", true}})
    expect_error({{name, value}}, ErrorCode::kUnsupported, {name, value.dump()});
  json object = llama();
  object.update({{"final_logit_softcapping", nullptr},
                 {"logit_scale", 1},
                 {"embedding_multiplier", 1.0},
                 {"query_pre_attn_scalar", 16},
                 {"no_rope_layers", {1, 1}},
                 {"rope_interleaved", false},
                 {"num_experts", 0}});
  EXPECT_TRUE(parse(object).ok());
  object["num_hidden_layers"] = 2.0;  // some tools write whole numbers so
  EXPECT_TRUE(parse(object).ok());
}

TEST(Config, RefusesRotationThatContradictsItself) {
  const ErrorCode code = ErrorCode::kBadFile;
  const auto refuse = [&](const json& scaling, std::vector<std::string> words) {
    expect_error({{"rope_scaling", scaling}}, code, std::move(words));
  };
  refuse({{"type", "linear"}}, {"'rope_scaling'", "'factor' is absent"});
  refuse({{"type", "linear"}, {"factor", 0.5}}, {"'factor' is 0.5"});
  refuse({{"type", "llama3"}, {"factor", 8}}, {"low_freq_factor"});
  refuse({{"type", "llama3"}, {"factor", 8}, {"low_freq_factor", 4}, {"high_freq_factor", 4}},
         {"high_freq_factor"});
  refuse({{"type", "yarn"}, {"factor", 2}, {"beta_fast", 1}, {"beta_slow", 2}}, {"beta_fast"});
  refuse({{"type", "yarn"}, {"factor", 2}, {"original_max_position_embeddings", "x"}},
         {"original_max_position_embeddings"});
  json longrope = {{"type", "longrope"}, {"short_factor", {1, 1}}, {"long_factor", {1, 1}}};
  refuse(longrope, {"original_max_position_embeddings", "absent"});
  longrope["original_max_position_embeddings"] = 64;
  refuse(longrope, {"short_factor", "8 numbers"});
}

TEST(Config, RefusesByNameWhatIsNotOffered) {
  const ErrorCode code = ErrorCode::kUnsupported;
  expect_error({{"architectures", {"GPT2LMHeadModel"}}}, code,
               {"GPT2LMHeadModel", "Phi3ForCausalLM"});
  expect_error({{"model_type", "mistral4"}}, code, {"model_type", "mistral4", "mistral"});
  const Result<ModelConfig> infinite =
      ModelConfig::parse(R"({"model_type": "jamba", "time_step_limit": [0.0, Infinity]})", "x");
  ASSERT_FALSE(infinite.ok());
  EXPECT_TRUE(
      infinite.error().message().starts_with("x: 'model_type' is \"jamba\", expected llama, "))
      << infinite.error().message();
  expect_error({{"model_type", "jamba"}}, code,
               {"; or a model whose text part is read: ", ", lfm2_vl, ", ", gemma3, "});
  expect_error({{"architectures", {"LlamaForQuestionAnswering"}}}, code,
               {"architectures", "LlamaForQuestionAnswering"});
  expect_error({{"architectures", json::array()}}, code, {"architectures", "[]"});
  expect_error({{"architectures", nullptr}, {"model_type", nullptr}}, code, {"model_type"});
  expect_error({{"rope_scaling", {{"rope_type", "dynamic"}, {"alpha", 8.0}}}}, code, {"alpha"});
  expect_error({{"rope_parameters", {{"rope_type", "default"}, {"mrope_section", {1, 2}}}}}, code,
               {"mrope_section"});
  expect_error({{"rope_scaling", {{"type", "linear"}, {"factor", 2}, {"beta_fast", 3}}}}, code,
               {"beta_fast", "linear"});
  expect_error({{"partial_rotary_factor", 0.5}}, code, {"partial_rotary_factor"});
  for (const double share : {1.5, 1e12, 1e300}) {  // before a list of that length is expected
    expect_error({{"partial_rotary_factor", share}}, ErrorCode::kBadFile,
                 {"partial_rotary_factor", "(0, 1]"});
    const json longrope = {{"rope_type", "longrope"},
                           {"partial_rotary_factor", share},
                           {"short_factor", {1.0}},
                           {"long_factor", {1.0}},
                           {"original_max_position_embeddings", 64}};
    expect_error({{"rope_parameters", longrope}}, ErrorCode::kBadFile,
                 {"partial_rotary_factor", "(0, 1]"});
  }
  expect_error({{"mlp_bias", true}}, code, {"mlp_bias"});
  expect_error({{"hidden_act", "gelu"}}, code, {"hidden_act", "gelu", "silu"});
  expect_error({{"sliding_window", 128}}, code, {"sliding_window", "128"});
  expect_error({{"use_sliding_window", true}}, code, {"use_sliding_window"});
  expect_error({{"layer_types", {"full_attention", "sliding_attention"}}}, code,
               {"'layer_types[1]' is \"sliding_attention\", expected \"full_attention\""});
  expect_error({{"layer_types", {"full_attention"}}}, code,
               {"'layer_types' has 1 entry, expected 2"});
  expect_error({{"layer_types", "full_attention"}}, code, {"'layer_types'", "a list", "2 layers"});
  const json mistral = {{"model_type", "mistral"}, {"architectures", {"MistralForCausalLM"}}};
  json change = mistral;
  change.update({{"layer_types", {"sliding_attention", "full_attention"}}});
  expect_error(change, code, {"'layer_types[1]' is \"full_attention\"", "sliding_attention"});
  change = mistral;
  change["attention_bias"] = true;
  expect_error(change, code, {"attention_bias", "true", "false"});
  change = mistral;
  change["sliding_window"] = 0;
  expect_error(change, ErrorCode::kBadFile, {"sliding_window", "0"});
  expect_error({{"quantization_config", {{"bits", 4}}}}, code, {"quantization_config"});
  expect_error({{"architectures", {"Qwen3ForCausalLM"}}}, ErrorCode::kBadFile,
               {"architectures", "model_type"});
}

TEST(Config, ChecksEveryNumber) {
  const ErrorCode code = ErrorCode::kBadFile;
  for (const char* name : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                           "num_key_value_heads", "intermediate_size", "max_position_embeddings"}) {
    for (const json& value : {json(0), json(-1), json(1.5), json("8"), json(INT64_MAX),
                              json(UINT64_MAX), json(int64_t{1} << 31), json::array({1})})
      expect_error({{name, value}}, code, {name, value.dump(), "expected"});
  }
  expect_error({{"vocab_size", nullptr}}, code, {"vocab_size"});
  expect_error({{"num_key_value_heads", 3}}, code, {"num_attention_heads", "4", "3"});
  expect_error({{"num_attention_heads", 3}, {"num_key_value_heads", 3}}, code, {"head_dim"});
  expect_error({{"hidden_size", 62}}, code, {"num_attention_heads"});
  expect_error({{"hidden_size", 63}, {"head_dim", 16}}, code,
               {"hidden_size", "63", "multiple of 2"});
  expect_error({{"intermediate_size", 171}}, code, {"intermediate_size", "171"});
  expect_error({{"head_dim", 18}}, code, {"head_dim", "18", "multiple of 4"});
  expect_error({{"head_dim", 1 << 20}}, code, {"head_dim"});
  expect_error({{"rms_norm_eps", 0}}, code, {"rms_norm_eps"});
  expect_error({{"rms_norm_eps", 1e-60}}, code, {"rms_norm_eps"});
  expect_error({{"rope_theta", -5}}, code, {"rope_theta", "-5"});
  expect_error({{"rope_theta", 1e300}}, code, {"rope_theta"});
  expect_error({{"tie_word_embeddings", 1}}, code, {"tie_word_embeddings", "1", "true or false"});
  expect_error({{"bos_token_id", 100}}, code, {"bos_token_id", "100", "[0, 99]"});
  expect_error({{"eos_token_id", -1}}, code, {"eos_token_id", "-1"});
  expect_error({{"eos_token_id", {2, 100}}}, code, {"'eos_token_id[1]' is 100", "[0, 99]"});
  expect_error({{"eos_token_id", {"x", 2}}}, code, {"'eos_token_id[0]' is \"x\""});
}

// The message expects the same whatever is wrong with a field.
TEST(Config, OneRangeForAField) {
  const auto expected = [](const std::string& name, const json& value) {
    json object = llama();
    object[name] = value;
    const Result<ModelConfig> config = ModelConfig::from_json(object, "c");
    EXPECT_FALSE(config.ok()) << name;
    const std::string message = config.ok() ? "" : config.error().message();
    return message.substr(message.find(", expected"));
  };
  for (const auto& [name, values] :
       std::map<std::string, std::vector<json>>{{"hidden_size", {-1, 1.5, 1 << 24, "x"}},
                                                {"head_dim", {-4, 18, 1 << 24}},
                                                {"intermediate_size", {0, 171, "x"}},
                                                {"rms_norm_eps", {0, 1, 1e-60, "x"}},
                                                {"rope_theta", {-5, 0.5, 1e300, "x"}}})
    for (const json& value : values)
      EXPECT_EQ(expected(name, value), expected(name, values[0])) << name << value;
}

TEST(Config, RefusesAModelWithoutAttention) {
  ModelConfig config = *named_shape("tiny-qwen3.5");
  ASSERT_TRUE(config.validate("shape").ok());
  for (LayerConfig& layer : config.layers) layer.mixer = Mixer::kDeltaNet;
  const Status status = config.validate("shape");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(status.error().message(),
            "shape: none of the 4 layers has attention, expected at least one");
}

TEST(Config, RefusesWhatIsNotAnObject) {
  for (const char* text :
       {"", "{", "[]", "3", "null", "{\"vocab_size\": 1e999}", "{\"a\": \"\xff\"}", "{\"a\": 1} x"})
    EXPECT_EQ(ModelConfig::parse(text, "t").error().code, ErrorCode::kBadFile) << text;
  std::string twice = llama().dump();
  twice.insert(1, "\"vocab_size\": 7, ");
  const Result<ModelConfig> config = ModelConfig::parse(twice, "t");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().message(), "t: 'vocab_size' appears twice, expected once");
  EXPECT_FALSE(ModelConfig::parse(std::string(100'000, '['), "t").ok());
}

}  // namespace
}  // namespace pando::model::config_refusals_test
