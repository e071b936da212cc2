// Checkpoints of NVIDIA's ModelOpt, which may have a separate file about their quantisation.
#include <gtest/gtest.h>

#include "model/config.h"
#include "model/opened_model.h"
#include "model/quantized_files.h"
#include "model/weight_specs.h"

namespace pando::model {
namespace {

using nlohmann::json;

constexpr const char* kFixture = "fp8-tensor";

json modelopt_file(const json& quantization) {
  return {{"producer", {{"name", "modelopt"}, {"version", "0.15"}}},
          {"quantization", quantization}};
}

const json kModelOptFp8 = {
    {"quant_algo", "FP8"}, {"kv_cache_quant_algo", "FP8"}, {"exclude_modules", {"lm_head"}}};

// The fixture with ModelOpt's names of tensors, and nothing about quantisation in config.json.
EditedCheckpoint renamed_fixture() {
  EditedCheckpoint checkpoint(quantized_fixture(kFixture));
  checkpoint.config.erase("quantization_config");
  std::map<std::string, EditedCheckpoint::Tensor> tensors;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    std::string other = name;
    for (const auto& [part, instead] :
         {std::pair<std::string, const char*>{"weight_scale_inv", "weight_scale"},
          {"activation_scale", "input_scale"}})
      if (name.ends_with(part)) other.replace(name.size() - part.size(), part.size(), instead);
    tensors[other] = tensor;
  }
  checkpoint.tensors = std::move(tensors);
  return checkpoint;
}

Result<OpenedModel> opened_with(const EditedCheckpoint& checkpoint, const json& file) {
  const TemporaryFolder folder;
  checkpoint.write(folder);
  if (!file.is_null()) folder.write("hf_quant_config.json", file.dump());
  return OpenedModel::open(folder.path());
}

void expect_same_values(const Result<OpenedModel>& weights) {
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  const OpenedModel expected = OpenedModel::open(quantized_fixture(kFixture)).value();
  size_t n_quantised = 0;
  for (const WeightSpec& spec : weight_specs(expected.config)) {
    if (spec.shape.size() != 2) continue;
    const TensorView view = weights->checkpoint.tensor(spec).value();
    n_quantised += view.quantized != nullptr;
    EXPECT_EQ(values_of(view), values_of(expected.checkpoint.tensor(spec).value())) << spec.name;
  }
  EXPECT_EQ(n_quantised, 7u);
}

TEST(ModelOpt, ReadsFp8ByItsOwnFile) {
  const Result<OpenedModel> weights = opened_with(renamed_fixture(), modelopt_file(kModelOptFp8));
  expect_same_values(weights);
  EXPECT_EQ(weights->config.quantization->schemes, std::vector{WeightScheme{.is_float = true}});
  EXPECT_TRUE(weights->config.quantization->has_activations);
  EXPECT_TRUE(weights->config.quantization->has_keys_and_values);
}

TEST(ModelOpt, ReadsFp8ByConfigJson) {
  EditedCheckpoint checkpoint = renamed_fixture();
  checkpoint.quantization() = {
      {"quant_method", "modelopt"},
      {"quant_algo", "FP8"},
      {"ignore", {"lm_head"}},
      {"producer", {{"name", "modelopt"}}},
      {"config_groups", {{"group_0", {{"weights", {{"num_bits", 8}, {"type", "float"}}}}}}}};
  expect_same_values(opened_with(checkpoint, nullptr));
  // config.json takes precedence.
  expect_same_values(opened_with(checkpoint, modelopt_file({{"quant_algo", "NVFP4"}})));
}

TEST(ModelOpt, ScalesOfKeysAndValuesArePassedOver) {
  EditedCheckpoint checkpoint = renamed_fixture();
  const EditedCheckpoint::Tensor one = {"F32", {}, std::string(4, '\0')};
  checkpoint.part("self_attn.k_proj.k_scale") = checkpoint.part("self_attn.v_proj.v_scale") = one;
  expect_same_values(opened_with(checkpoint, modelopt_file(kModelOptFp8)));
  // They are passed over even if nothing else is quantised.
  const TemporaryFolder plain_folder;
  EditedCheckpoint plain(write_plain(kFixture, DType::kBF16, plain_folder));
  plain.part("self_attn.k_proj.k_scale") = one;
  EXPECT_FALSE(opened_with(plain, nullptr).ok());
  const Result<OpenedModel> weights =
      opened_with(plain, modelopt_file({{"quant_algo", nullptr}, {"kv_cache_quant_algo", "FP8"}}));
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  EXPECT_TRUE(weights->config.quantization->schemes.empty());
}

TEST(ModelOpt, OtherAlgorithmsAreRefusedByName) {
  const auto refused = [](const json& file) {
    const Result<OpenedModel> weights = opened_with(renamed_fixture(), file);
    return weights ? std::string("opened") : weights.error().message();
  };
  const auto names = [&](const json& quantization, const std::string& what) {
    const std::string message = refused(modelopt_file(quantization));
    EXPECT_NE(message.find("hf_quant_config.json: quantization: " + what), std::string::npos)
        << message;
  };
  names({{"quant_algo", "NVFP4"}, {"group_size", 16}}, "'quant_algo' is \"NVFP4\", expected fp8");
  names({{"quant_algo", "MIXED_PRECISION"}}, "'quant_algo' is \"MIXED_PRECISION\", expected fp8");
  names({{"quant_algo", "FP8"}, {"pre_quant_scale", true}}, "'pre_quant_scale' is true");
  EXPECT_NE(refused({{"quantization", 5}}).find("'quantization' is 5, expected an object"),
            std::string::npos);
  EXPECT_NE(refused(json::object()).find("'quantization' is absent, expected an object"),
            std::string::npos);
  // Without the file, the scales are unknown tensors.
  EXPECT_NE(refused(nullptr).find("input_scale"), std::string::npos) << refused(nullptr);
}

}  // namespace
}  // namespace pando::model
