#include "model/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/test_files.h"

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

TEST(Config, ReadsLlama) {
  const Result<ModelConfig> config = parse(llama());
  ASSERT_TRUE(config.ok()) << config.error().message;
  const ModelConfig expected = {.family = Family::kLlama,
                                .vocab = 100,
                                .d_model = 64,
                                .n_layers = 2,
                                .n_heads = 4,
                                .n_kv_heads = 2,
                                .head_dim = 16,
                                .d_ff = 172,
                                .rms_eps = 1e-5f,
                                .rope_theta = 10000.0,
                                .max_positions = 512,
                                .tied_embeddings = false,
                                .bos_id = 1,
                                .eos_ids = {2}};
  EXPECT_EQ(*config, expected);
  EXPECT_FALSE(config->qk_norm());
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
  EXPECT_TRUE(config->qk_norm());
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
  EXPECT_EQ(config->rope_theta, 10000.0);
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
  EXPECT_EQ(config->rope_theta, 5e5);
  expect_error({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5e5}}}},
               ErrorCode::kBadFile, {"rope_parameters", "10000"});
  expect_error({{"rope_parameters", 3}}, ErrorCode::kBadFile, {"rope_parameters", "3", "object"});
  expect_error({{"rope_parameters", {{"rope_theta", "x"}}}}, ErrorCode::kBadFile,
               {"rope_parameters"});
}

TEST(Config, RefusesByNameWhatIsNotOffered) {
  const ErrorCode code = ErrorCode::kUnsupported;
  expect_error({{"architectures", {"MistralForCausalLM"}}}, code, {"MistralForCausalLM"});
  expect_error({{"model_type", "qwen2"}}, code, {"model_type", "qwen2"});
  expect_error({{"architectures", json::array()}}, code, {"architectures", "[]"});
  expect_error({{"architectures", nullptr}, {"model_type", nullptr}}, code, {"architectures"});
  expect_error({{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}}}, code,
               {"rope_scaling", "llama3"});
  expect_error({{"rope_scaling", {{"type", "linear"}}}}, code, {"rope_scaling", "linear"});
  expect_error({{"rope_parameters", {{"rope_type", "yarn"}}}}, code, {"rope_parameters", "yarn"});
  expect_error({{"partial_rotary_factor", 0.5}}, code, {"partial_rotary_factor"});
  expect_error({{"attention_bias", true}}, code, {"attention_bias", "true", "false"});
  expect_error({{"mlp_bias", true}}, code, {"mlp_bias"});
  expect_error({{"hidden_act", "gelu"}}, code, {"hidden_act", "gelu", "silu"});
  expect_error({{"sliding_window", 128}}, code, {"sliding_window", "128"});
  expect_error({{"use_sliding_window", true}}, code, {"use_sliding_window"});
  expect_error({{"layer_types", {"sliding_attention"}}}, code, {"layer_types"});
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
  expect_error({{"hidden_size", 63}}, code, {"num_attention_heads"});
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
  expect_error({{"eos_token_id", {2, 100}}}, code, {"eos_token_id", "100"});
  expect_error({{"eos_token_id", {2, "x"}}}, code, {"eos_token_id"});
}

TEST(Config, RefusesWhatIsNotAnObject) {
  for (const char* text :
       {"", "{", "[]", "3", "null", "{\"vocab_size\": 1e999}", "{\"a\": \"\xff\"}", "{\"a\": 1} x"})
    EXPECT_EQ(ModelConfig::parse(text, "t").error().code, ErrorCode::kBadFile) << text;
  std::string twice = llama().dump();
  twice.insert(1, "\"vocab_size\": 7, ");
  const Result<ModelConfig> config = ModelConfig::parse(twice, "t");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().message, "t: 'vocab_size' is there twice, expected once");
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

TEST(WeightSpecs, NameEveryWeightOnce) {
  ModelConfig config = parse(llama()).value();
  EXPECT_EQ(weight_specs(config).size(), 2u + 2 * 9 + 1);
  EXPECT_EQ(weight_specs(config).back().name, "lm_head.weight");
  config.family = Family::kQwen3;
  config.tied_embeddings = true;
  const auto specs = weight_specs(config);
  EXPECT_EQ(specs.size(), 2u + 2 * 11);
  EXPECT_EQ(specs.back().name, "model.norm.weight");
  EXPECT_EQ(specs[1].name, layer_weight_name(0, "input_layernorm.weight"));
}

}  // namespace
}  // namespace pando::model
