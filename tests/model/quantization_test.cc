// quantization_config: reading, and refusals by name.
#include "model/quantization.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/make_model.h"

namespace pando::model {
namespace {

using nlohmann::json;

Result<ModelConfig> parse_quantised(const json& quantization) {
  json object = json::parse(named_shape("tiny-llama").value().to_json(DType::kF16));
  object["quantization_config"] = quantization;
  return ModelConfig::from_json(object, "config.json");
}

Quantization read_quantised(const json& quantization) {
  const Result<ModelConfig> config = parse_quantised(quantization);
  EXPECT_TRUE(config.ok()) << config.error().message();
  return config.ok() ? config->quantization.value() : Quantization();
}

void expect_quantisation_refused(const json& quantization,
                                 std::initializer_list<std::string> words) {
  const Result<ModelConfig> config = parse_quantised(quantization);
  ASSERT_FALSE(config.ok()) << quantization;
  for (const std::string& word : words)
    EXPECT_NE(config.error().message().find(word), std::string::npos)
        << word << " in: " << config.error().message();
}

// The field with another value.
json changed(json object, const char* pointer, const json& value) {
  object[json::json_pointer(pointer)] = value;
  return object;
}

const json kFp8 = {{"quant_method", "fp8"},
                   {"activation_scheme", "dynamic"},
                   {"fmt", "e4m3"},
                   {"weight_block_size", {128, 64}},
                   {"modules_to_not_convert", {"lm_head"}}};
const json kAwq = {{"quant_method", "awq"}, {"bits", 4},
                   {"group_size", 64},      {"zero_point", true},
                   {"version", "GEMM"},     {"modules_to_not_convert", nullptr}};
const json kGptq = {{"quant_method", "gptq"}, {"bits", 8},
                    {"group_size", -1},       {"desc_act", true},
                    {"sym", false},           {"checkpoint_format", "gptq_v2"},
                    {"meta", {{"a", 1}}},     {"dynamic", {{"-:mlp", json::object()}}}};
const json kCompressed = {{"quant_method", "compressed-tensors"},
                          {"format", "pack-quantized"},
                          {"quantization_status", "compressed"},
                          {"global_compression_ratio", 1.5},
                          {"ignore", {"lm_head"}},
                          {"kv_cache_scheme", nullptr},
                          {"sparsity_config", json::object()},
                          {"transform_config", json::object()},
                          {"config_groups",
                           {{"group_0",
                             {{"targets", {"Linear"}},
                              {"input_activations", nullptr},
                              {"weights",
                               {{"num_bits", 4},
                                {"type", "int"},
                                {"symmetric", false},
                                {"strategy", "group"},
                                {"group_size", 128},
                                {"dynamic", false},
                                {"actorder", "weight"},
                                {"observer", "minmax"}}}}}}}};
constexpr const char* kWeights = "/config_groups/group_0/weights/";

TEST(ReadQuantization, ReadsEachMethod) {
  using Layout = QuantizedLayout;
  const WeightScheme block = {.is_float = true, .block_rows = 128, .block_columns = 64};
  EXPECT_EQ(read_quantised(kFp8),
            (Quantization{.schemes = {block}, .widened = DType::kF16, .has_activations = true}));
  json fp8 = changed(kFp8, "/weight_block_size", nullptr);
  const WeightScheme all = {.is_float = true}, rows = {.is_float = true, .block_rows = 1};
  EXPECT_EQ(read_quantised(fp8).schemes, (std::vector{all, rows}));
  fp8.erase("weight_block_size");
  const WeightScheme usual = {.is_float = true, .block_rows = 128, .block_columns = 128};
  EXPECT_EQ(read_quantised(fp8).schemes, (std::vector{usual, all, rows}));

  EXPECT_EQ(read_quantised(kAwq), (Quantization{.schemes = {{.layout = Layout::kAwq,
                                                             .bits = 4,
                                                             .has_zeros = true,
                                                             .block_rows = 1,
                                                             .block_columns = 64}},
                                                .widened = DType::kF16}));
  EXPECT_EQ(read_quantised({{"quant_method", "awq"}, {"w_bit", 4}, {"q_group_size", 32}})
                .schemes[0]
                .block_columns,
            32);
  const Quantization gptq = read_quantised(kGptq);
  EXPECT_EQ(
      gptq,
      (Quantization{
          .schemes = {{.layout = Layout::kGptq, .bits = 8, .has_zeros = true, .block_rows = 1}},
          .widened = DType::kF16}));
  EXPECT_FALSE(read_quantised(changed(kGptq, "/act_bits", 16)).has_activations);
  EXPECT_TRUE(read_quantised(changed(kGptq, "/act_bits", 8)).has_activations);
  EXPECT_TRUE(read_quantised(changed(kGptq, "/checkpoint_format", nullptr)).zeros_less_one);
  EXPECT_TRUE(read_quantised(changed(kGptq, "/checkpoint_format", "gptq")).zeros_less_one);
}

TEST(ReadQuantization, ReadsCompressedTensors) {
  using Layout = QuantizedLayout;
  const WeightScheme words = {.layout = Layout::kWords,
                              .bits = 4,
                              .has_zeros = true,
                              .block_rows = 1,
                              .block_columns = 128};
  EXPECT_EQ(read_quantised(kCompressed),
            (Quantization{.schemes = {words}, .widened = DType::kF16}));
  json mixed = changed(kCompressed, "/format", "mixed-precision");
  mixed["config_groups"]["group_0"]["format"] = "pack-quantized";
  mixed["config_groups"]["group_1"] = {
      {"format", "float-quantized"},
      {"weights", {{"type", "float"}, {"strategy", "block"}, {"block_structure", {128, 128}}}},
      {"input_activations", {{"num_bits", 8}, {"dynamic", true}}}};
  mixed["config_groups"]["group_2"] = {{"format", "int-quantized"},
                                       {"weights", {{"strategy", "channel"}}}};
  mixed["kv_cache_scheme"] = {{"num_bits", 8}};
  const WeightScheme floats = {.is_float = true, .block_rows = 128, .block_columns = 128};
  EXPECT_EQ(read_quantised(mixed), (Quantization{.schemes = {words, floats, {.block_rows = 1}},
                                                 .widened = DType::kF16,
                                                 .has_activations = true,
                                                 .has_keys_and_values = true}));
}

// Models that the configuration does not give a type of weights have bf16.
TEST(ReadQuantization, ReadsTheTypeOfTheModel) {
  json object = json::parse(named_shape("tiny-llama").value().to_json(DType::kF32));
  object["quantization_config"] = kFp8;
  const auto widened = [&] {
    return ModelConfig::from_json(object, "config.json")->quantization->widened;
  };
  EXPECT_EQ(widened(), DType::kF32);
  object["dtype"] = "float16";
  EXPECT_EQ(widened(), DType::kF16);
  object.erase("dtype");
  object.erase("torch_dtype");
  EXPECT_EQ(widened(), DType::kBF16);
}

TEST(ReadQuantization, RefusesByName) {
  expect_quantisation_refused(3, {"config.json", "'quantization_config' is 3", "an object"});
  expect_quantisation_refused(
      {{"bits", 4}}, {"config.json: quantization_config: 'quant_method' is absent", "awq"});
  expect_quantisation_refused({{"quant_method", "bitsandbytes"}},
                              {"'quant_method' is \"bitsandbytes\"", "compressed-tensors"});
  expect_quantisation_refused(changed(kFp8, "/fmt", "e5m2"), {"'fmt'", "e5m2", "e4m3"});
  expect_quantisation_refused(changed(kFp8, "/weight_block_size", {128, 0}),
                              {"'weight_block_size'", "[128,0]", "rows and columns"});
  expect_quantisation_refused(changed(kFp8, "/rotation", "random"), {"'rotation'", "expected null"});
  expect_quantisation_refused(changed(kAwq, "/bits", 3), {"'bits' is 3", "expected 4"});
  expect_quantisation_refused(changed(kAwq, "/version", "gemv"), {"'version'", "gemv", "gemm"});
  expect_quantisation_refused(changed(kAwq, "/backend", "llm-awq"), {"'backend'", "llm-awq"});
  expect_quantisation_refused(changed(kAwq, "/group_size", 0), {"'group_size' is 0"});
  expect_quantisation_refused(changed(kGptq, "/bits", 3), {"'bits' is 3", "4 or 8"});
  expect_quantisation_refused(changed(kGptq, "/bits", nullptr), {"'bits'"});
  expect_quantisation_refused(changed(kGptq, "/checkpoint_format", "marlin"),
                              {"'checkpoint_format'", "marlin", "gptq or gptq_v2"});
  expect_quantisation_refused(changed(kGptq, "/is_marlin_format", true),
                              {"'is_marlin_format' is true", "expected null"});
  expect_quantisation_refused(changed(kGptq, "/pack_dtype", "int16"), {"'pack_dtype'", "int32"});
  expect_quantisation_refused(changed(kGptq, "/data_type", "mx_fp"), {"'data_type'", "mx_fp"});
}

TEST(ReadQuantization, RefusesOtherCompressedTensorsByName) {
  const auto with = [](const char* field, const json& value) {
    return changed(kCompressed, (std::string(kWeights) + field).c_str(), value);
  };
  const std::string where = "config_groups.group_0.weights: ";
  expect_quantisation_refused(changed(kCompressed, "/format", "nvfp4-pack-quantized"),
                              {"'format'", "nvfp4-pack-quantized", "pack-quantized"});
  expect_quantisation_refused(changed(kCompressed, "/format", "float-quantized"),
                              {where, "'type'", "float"});
  expect_quantisation_refused(
      changed(kCompressed, "/sparsity_config", {{"format", "sparse-24-bitmask"}}),
      {"sparsity_config: 'format'", "sparse-24-bitmask", "dense"});
  expect_quantisation_refused(changed(kCompressed, "/transform_config", {{"config_groups", 1}}),
                              {"'transform_config'", "expected null"});
  expect_quantisation_refused(changed(kCompressed, "/config_groups", {{"W4A16", {"Linear"}}}),
                              {"config_groups.W4A16", "an object"});
  expect_quantisation_refused(changed(kCompressed, "/config_groups", nullptr), {"'config_groups'"});
  expect_quantisation_refused(with("num_bits", 3), {where, "'num_bits' is 3", "4 or 8"});
  expect_quantisation_refused(with("num_bits", "4"), {where, "'num_bits' is \"4\""});
  expect_quantisation_refused(with("type", "float"), {where, "'num_bits' is 4", "8"});
  expect_quantisation_refused(with("strategy", "tensor_group"),
                              {where, "'strategy'", "tensor_group"});
  expect_quantisation_refused(with("group_size", -1), {where, "'group_size' is -1", "above 0"});
  expect_quantisation_refused(with("dynamic", true), {where, "'dynamic' is true", "false"});
  expect_quantisation_refused(with("palette", 2), {where, "'palette' is 2", "expected null"});
}

}  // namespace
}  // namespace pando::model
