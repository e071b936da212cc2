#include "model/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "model/make_model.h"
#include "model/test_files.h"
#include "model/weight_specs.h"

namespace pando::model {
namespace {

using nlohmann::json;

json llama() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"vocab_size", 100},
          {"hidden_size", 64},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"intermediate_size", 172},
          {"hidden_act", "silu"},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"max_position_embeddings", 512},
          {"tie_word_embeddings", false},
          {"bos_token_id", 1},
          {"eos_token_id", 2}};
}

Result<ModelConfig> parse(const json& object) {
  return ModelConfig::parse(object.dump(), "test.json");
}

// `change` is merged into a good file; the error must name the file and every word.
void expect_error(const json& change, ErrorCode code, std::vector<std::string> words) {
  json object = llama();
  object.update(change);
  const Result<ModelConfig> config = parse(object);
  ASSERT_FALSE(config.ok()) << change;
  EXPECT_EQ(config.error().code, code) << config.error().message;
  words.push_back("test.json");
  for (const std::string& word : words)
    EXPECT_NE(config.error().message.find(word), std::string::npos)
        << config.error().message << " lacks " << word;
}

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

// Tensors have types of their own, so that this field is for others; it has two names.
TEST(Config, TakesTheTypeOfWeightsByEitherName) {
  for (const char* name : {"dtype", "torch_dtype"}) {
    json object = llama();
    object[name] = "bfloat16";
    EXPECT_TRUE(parse(object).ok()) << name;
  }
}

// As a model is saved without its head.
TEST(Config, TakesTheClassWithoutAHead) {
  json object = llama();
  object["architectures"] = {"LlamaModel"};
  const Result<ModelConfig> config = parse(object);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->family, find_family("llama"));
}

TEST(Config, ReadsLlama) {
  const Result<ModelConfig> config = parse(llama());
  ASSERT_TRUE(config.ok()) << config.error().message;
  const ModelConfig expected = {.family = find_family("llama"),
                                .vocab = 100,
                                .d_model = 64,
                                .layers = std::vector<LayerConfig>(2),
                                .n_heads = 4,
                                .n_kv_heads = 2,
                                .head_dim = 16,
                                .d_ff = 172,
                                .rms_eps = 1e-5f,
                                .rotations = {{.theta = 10000.0}},
                                .max_positions = 512,
                                .tied_embeddings = false,
                                .bos_id = 1,
                                .eos_ids = {2}};
  EXPECT_EQ(*config, expected);
  EXPECT_EQ(config->q_dim(), 64);
  EXPECT_EQ(config->kv_dim(), 32);
  EXPECT_EQ(config->n_parameters(),
            2 * 100 * 64 + 64 + 2 * (2 * 64 + 2 * 64 * 64 + 2 * 32 * 64 + 3 * 172 * 64));
}

TEST(Config, ReadsQwen3) {
  json object = llama();
  object.update({{"architectures", {"Qwen3ForCausalLM"}},
                 {"model_type", "qwen3"},
                 {"head_dim", 32},
                 {"tie_word_embeddings", true},
                 {"eos_token_id", {2, 3}},
                 {"sliding_window", 4096},
                 {"use_sliding_window", false},
                 {"layer_types", {"full_attention", "full_attention"}}});
  const Result<ModelConfig> config = parse(object);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(config->layers[0].window, 0);
  EXPECT_EQ(config->q_dim(), 128);
  EXPECT_TRUE(config->tied_embeddings);
  EXPECT_EQ(config->eos_ids, (std::vector<int32_t>{2, 3}));
  object.erase("head_dim");
  EXPECT_EQ(parse(object)->head_dim, 128);
}

TEST(Config, FillsWhatTheFormatLeavesOut) {
  json object = llama();
  for (const char* name : {"architectures", "num_key_value_heads", "rms_norm_eps", "rope_theta",
                           "tie_word_embeddings", "bos_token_id", "hidden_act"})
    object.erase(name);
  object["eos_token_id"] = nullptr;
  const Result<ModelConfig> config = parse(object);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->n_kv_heads, 4);
  EXPECT_EQ(config->rms_eps, 1e-6f);
  EXPECT_EQ(config->rotations[0].theta, 10000.0);
  EXPECT_FALSE(config->bos_id.has_value());
  EXPECT_TRUE(config->eos_ids.empty());
}

TEST(Config, ReadsBothFormsOfRotaryParameters) {
  json object = llama();
  object["rope_scaling"] = {{"rope_type", "default"}};
  EXPECT_TRUE(parse(object).ok());
  object.erase("rope_theta");
  object["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  const Result<ModelConfig> config = parse(object);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->rotations[0].theta, 5e5);
  expect_error({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5e5}}}},
               ErrorCode::kBadFile, {"rope_parameters", "10000"});
  expect_error({{"rope_parameters", 3}}, ErrorCode::kBadFile, {"rope_parameters", "3", "object"});
  expect_error({{"rope_parameters", {{"rope_theta", "x"}}}}, ErrorCode::kBadFile,
               {"rope_parameters"});
}

// A good file of a family, changed.
json of_family(const char* type, const char* architecture, const json& change = {}) {
  json object = llama();
  object.update({{"model_type", type}, {"architectures", {architecture}}});
  if (!change.is_null()) object.update(change);
  return object;
}

ModelConfig parsed(const json& object) {
  const Result<ModelConfig> config = parse(object);
  EXPECT_TRUE(config.ok()) << config.error().message;
  return config.ok() ? *config : ModelConfig();
}

TEST(Config, ReadsMistral) {
  const auto mistral = [](const json& change) {
    return parsed(of_family("mistral", "MistralForCausalLM", change));
  };
  EXPECT_EQ(mistral({{"sliding_window", 37}}).layers[0].window, 37);
  EXPECT_EQ(mistral({{"sliding_window", 37}}).layers[1].window, 37);
  EXPECT_EQ(mistral({{"sliding_window", nullptr}}).layers[0].window, 0);
  EXPECT_EQ(mistral({}).layers[0].window, 4096);  // the library's, where the field is absent
  EXPECT_EQ(
      mistral({{"sliding_window", 9}, {"layer_types", {"sliding_attention", "sliding_attention"}}})
          .layers[0]
          .window,
      9);
}

TEST(Config, ReadsQwen2) {
  const auto qwen2 = [](const json& change) {
    return parsed(of_family("qwen2", "Qwen2ForCausalLM", change));
  };
  const ModelConfig plain = qwen2({{"sliding_window", 131072}, {"max_window_layers", 1}});
  EXPECT_TRUE(plain.qkv_bias);
  EXPECT_FALSE(plain.o_bias);
  EXPECT_EQ(plain.layers[1].window, 0);
  json window = {{"use_sliding_window", true}, {"sliding_window", 50}, {"max_window_layers", 1}};
  EXPECT_EQ(qwen2(window).layers[0].window, 0);
  EXPECT_EQ(qwen2(window).layers[1].window, 50);
  window["layer_types"] = {"sliding_attention", "full_attention"};  // it counts first
  EXPECT_EQ(qwen2(window).layers[0].window, 50);
  EXPECT_EQ(qwen2(window).layers[1].window, 0);
  window.erase("layer_types");
  window["max_window_layers"] = 0;
  EXPECT_EQ(qwen2(window).layers, std::vector<LayerConfig>(2, {.window = 50}));
  window["max_window_layers"] = 28;
  EXPECT_EQ(qwen2(window).layers, std::vector<LayerConfig>(2));
}

TEST(Config, ReadsPhi3) {
  const json change = {{"rms_norm_eps", nullptr},
                       {"partial_rotary_factor", 0.75},
                       {"original_max_position_embeddings", 128},
                       {"rope_scaling",
                        {{"type", "su"},
                         {"short_factor", {1, 1, 1, 1, 1, 1.5}},
                         {"long_factor", {1, 2, 3, 4, 5, 6}}}}};
  const ModelConfig config = parsed(of_family("phi3", "Phi3ForCausalLM", change));
  EXPECT_EQ(weight_specs(config)[2].name, layer_weight_name(0, "self_attn.qkv_proj.weight"));
  EXPECT_EQ(config.rms_eps, 1e-5f);
  EXPECT_EQ(config.rotations[0].type, RopeType::kLongRope);
  EXPECT_EQ(config.rotations[0].rotary_dim(config.head_dim), 12);
  EXPECT_EQ(config.rotations[0].original_positions, 128);
  EXPECT_EQ(config.rotations[0].long_factor, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_DOUBLE_EQ(config.rotations[0].attention_factor,
                   std::sqrt(1 + std::log(4.0) / std::log(128.0)));
}

TEST(Config, ReadsOlmo2) {
  const ModelConfig config =
      parsed(of_family("olmo2", "Olmo2ForCausalLM", {{"rms_norm_eps", nullptr}}));
  EXPECT_EQ(config.qk_norm, QkNorm::kFullWidth);
  EXPECT_EQ(config.q_norm_dim(config.heads(0)), 64);
  EXPECT_EQ(config.k_norm_dim(config.heads(0)), 32);
  EXPECT_EQ(config.rms_eps, 1e-5f);
  EXPECT_EQ(weight_specs(config).size(), 2u + 2 * 11 + 1);
  EXPECT_EQ(weight_specs(config)[11].name,
            layer_weight_name(0, "post_feedforward_layernorm.weight"));
}

TEST(Config, ReadsBiases) {
  EXPECT_FALSE(parsed(llama()).qkv_bias);
  const ModelConfig config =
      parsed(of_family("llama", "LlamaForCausalLM", {{"attention_bias", true}}));
  EXPECT_TRUE(config.qkv_bias && config.o_bias);
}

TEST(Config, ReadsScaledRotation) {
  const auto rope = [](const json& scaling) {
    return parsed(of_family("llama", "LlamaForCausalLM", {{"rope_scaling", scaling}})).rotations[0];
  };
  EXPECT_EQ(rope({{"type", "linear"}, {"factor", 4}}).factor, 4.0);
  const RopeConfig llama3 = rope({{"rope_type", "llama3"},
                                  {"factor", 8.0},
                                  {"low_freq_factor", 1.5},
                                  {"high_freq_factor", 4.5},
                                  {"original_max_position_embeddings", 64}});
  EXPECT_EQ(llama3.type, RopeType::kLlama3);
  EXPECT_EQ(llama3.low_freq_factor, 1.5);
  EXPECT_EQ(llama3.high_freq_factor, 4.5);
  EXPECT_EQ(llama3.original_positions, 64);
  const RopeConfig yarn = rope({{"type", "yarn"}, {"factor", 16.0}, {"finetuned", true}});
  EXPECT_EQ(yarn.original_positions, 512);  // the file's own context
  EXPECT_DOUBLE_EQ(yarn.attention_factor, 0.1 * std::log(16.0) + 1);
  EXPECT_EQ(yarn.beta_fast, 32.0);
  EXPECT_TRUE(yarn.truncate);
  EXPECT_EQ(rope({{"type", "yarn"}, {"factor", 2.0}, {"attention_factor", 1.25}}).attention_factor,
            1.25);
  // Both forms in one file must agree.
  json both = of_family("llama", "LlamaForCausalLM",
                        {{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}});
  both["rope_parameters"] = {{"rope_type", "linear"}, {"rope_theta", 1e4}, {"factor", 2.0}};
  EXPECT_EQ(parsed(both).rotations[0].factor, 2.0);
  both["rope_parameters"]["factor"] = 3.0;
  EXPECT_NE(parse(both).error().message.find("rope_parameters"), std::string::npos);
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
  expect_error({{"architectures", {"GemmaForCausalLM"}}}, code,
               {"GemmaForCausalLM", "Phi3ForCausalLM"});
  expect_error({{"model_type", "mistral4"}}, code, {"model_type", "mistral4", "mistral"});
  expect_error({{"architectures", {"LlamaForSequenceClassification"}}}, code,
               {"architectures", "LlamaForSequenceClassification"});
  expect_error({{"is_causal", false}}, code,
               {"'is_causal' is false, expected true, because bidirectional attention"});
  expect_error({{"use_bidirectional_attention", true}}, code,
               {"'use_bidirectional_attention' is true, expected false, because bidirectional "
                "attention, as in EmbeddingGemma, is not supported"});
  expect_error({{"architectures", json::array()}}, code, {"architectures", "[]"});
  expect_error({{"architectures", nullptr}, {"model_type", nullptr}}, code, {"model_type"});
  expect_error({{"rope_scaling", {{"rope_type", "dynamic"}, {"factor", 8.0}}}}, code,
               {"rope_scaling", "dynamic"});
  expect_error({{"rope_scaling", {{"type", "dynamic"}, {"factor", 8.0}}}}, code, {"dynamic"});
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
               {"'layer_types' has 1 entries, expected 2"});
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

// Of whatever is wrong with a field, the message expects the same.
TEST(Config, OneRangeForAField) {
  const auto expected = [](const std::string& name, const json& value) {
    json object = llama();
    object[name] = value;
    const Result<ModelConfig> config = ModelConfig::from_json(object, "c");
    EXPECT_FALSE(config.ok()) << name;
    const std::string message = config.ok() ? "" : config.error().message;
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
  EXPECT_EQ(status.error().message,
            "shape: 'layer_types' has 4 recurrent layers and no others, expected at least one "
            "layer with attention");
}

TEST(Config, RefusesWhatIsNotAnObject) {
  for (const char* text :
       {"", "{", "[]", "3", "null", "{\"vocab_size\": 1e999}", "{\"a\": \"\xff\"}", "{\"a\": 1} x"})
    EXPECT_EQ(ModelConfig::parse(text, "t").error().code, ErrorCode::kBadFile) << text;
  std::string twice = llama().dump();
  twice.insert(1, "\"vocab_size\": 7, ");
  const Result<ModelConfig> config = ModelConfig::parse(twice, "t");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().message, "t: 'vocab_size' appears twice, expected once");
  EXPECT_FALSE(ModelConfig::parse(std::string(100'000, '['), "t").ok());
}

TEST(Config, LoadsADirectory) {
  const TemporaryFolder folder;
  EXPECT_EQ(ModelConfig::load(folder.path()).error().code, ErrorCode::kNotFound);
  folder.write("config.json", llama().dump());
  EXPECT_TRUE(ModelConfig::load(folder.path()).ok());
  folder.write("config.json", "{}");
  const Error error = ModelConfig::load(folder.path()).error();
  EXPECT_NE(error.message.find((folder.path() / "config.json").string()), std::string::npos);
}

TEST(Config, WritesWhatItReads) {
  for (const char* type : {"llama", "qwen3"}) {
    json object = llama();
    object.update({{"model_type", type},
                   {"architectures", nullptr},
                   {"head_dim", 20},
                   {"eos_token_id", {7, 8}},
                   {"rope_theta", 1e6}});
    ModelConfig config = parse(object).value();
    const std::string text = config.to_json(DType::kBF16);
    EXPECT_EQ(ModelConfig::parse(text, "t").value(), config);
    EXPECT_EQ(json::parse(text)["torch_dtype"], "bfloat16");
    EXPECT_NE(text.find("1e-05"), std::string::npos);
    config.bos_id.reset();
    config.eos_ids.clear();
    EXPECT_EQ(ModelConfig::parse(config.to_json(DType::kF32), "t").value(), config);
  }
}

TEST(Config, WritesEveryShapeAsItReadsIt) {
  for (const std::string_view name : shape_names()) {
    const ModelConfig config = named_shape(name).value();
    EXPECT_EQ(ModelConfig::parse(config.to_json(DType::kF32), name).value(), config) << name;
  }
}

TEST(WeightSpecs, NameEveryWeightOnce) {
  ModelConfig config = parse(llama()).value();
  EXPECT_EQ(weight_specs(config).size(), 2u + 2 * 9 + 1);
  EXPECT_EQ(weight_specs(config).back().name, "lm_head.weight");
  config.qk_norm = QkNorm::kPerHead;
  config.tied_embeddings = true;
  const auto specs = weight_specs(config);
  EXPECT_EQ(specs.size(), 2u + 2 * 11);
  EXPECT_EQ(specs.back().name, "model.norm.weight");
  EXPECT_EQ(specs[1].name, layer_weight_name(0, "input_layernorm.weight"));
  config.qkv_bias = config.o_bias = true;
  EXPECT_EQ(weight_specs(config).size(), 2u + 2 * 15);
  config = ModelConfig::of_family(*find_family("phi3"));
  config.layers.resize(1);
  EXPECT_EQ(weight_specs(config).size(), 3u + 6);
}

}  // namespace
}  // namespace pando::model
