// Models whose rows see both ways: their configurations, and the reference forward pass against
// hidden states of the transformers library.
#include "model/encoders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/family.h"
#include "model/opened_model.h"
#include "reference/reference_forward.h"

namespace pando::model {
namespace {

using nlohmann::json;

ModelConfig config_of_fixture(const std::string& name) {
  return ModelConfig::load(encoder_folder(name)).value();
}

class Encoders : public ::testing::TestWithParam<std::string> {};

// Largest difference of hidden states from those of the library, and their largest value.
std::pair<double, double> distance(const std::string& name, const reference::Options& options) {
  const std::filesystem::path folder = encoder_folder(name);
  const auto opened = OpenedModel::open(folder);
  EXPECT_TRUE(opened.ok()) << opened.error().message();
  const auto model = reference::Model::load(opened->config, opened->checkpoint, options);
  EXPECT_TRUE(model.ok()) << model.error().message();
  std::ifstream file(folder / "golden.json");
  double most = 0, scale = 0;
  const json golden = json::parse(file);
  for (const json& sequence : golden["sequences"]) {
    const auto tokens = sequence["tokens"].get<std::vector<int32_t>>();
    const auto types = sequence.value("types", std::vector<uint8_t>());
    const std::vector<float> hidden = model->hidden(tokens, 0, types);
    for (const json& row : sequence["rows"]) {
      const auto expected = row["hidden"].get<std::vector<double>>();
      const size_t first = row["position"].get<size_t>() * expected.size();
      for (size_t i = 0; i < expected.size(); ++i) {
        const double difference = std::abs(hidden[first + i] - expected[i]);
        if (!(difference <= most)) most = difference;  // keeps a NaN
        scale = std::max(scale, std::abs(expected[i]));
      }
    }
  }
  return {most, scale};
}

TEST_P(Encoders, EqualTheTransformersLibrary) {
  const auto [most, scale] = distance(GetParam(), {});
  EXPECT_GT(scale, 1.0);
  EXPECT_LE(most, 1e-5 * scale);
}

TEST_P(Encoders, SmallTilesAndSpansChangeRoundingOnly) {
  const auto [most, scale] = distance(GetParam(), {.tile_len = 4, .span_len = 8});
  EXPECT_LE(most, 1e-5 * scale);
}

TEST_P(Encoders, AreWrittenAsTheyAreRead) {
  const ModelConfig config = config_of_fixture(GetParam());
  EXPECT_TRUE(config.both_ways);
  EXPECT_EQ(ModelConfig::parse(config.to_json(DType::kF32), "config.json").value(), config);
}

INSTANTIATE_TEST_SUITE_P(Models, Encoders, ::testing::ValuesIn(encoder_names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(EncoderConfigs, HavePositionsWindowsAndRotations) {
  const ModelConfig bert = config_of_fixture("bert");
  EXPECT_EQ(bert.max_positions, 96);
  EXPECT_EQ(bert.position_offset, 0);
  EXPECT_EQ(bert.n_token_types, 2);
  EXPECT_EQ(bert.rotations[0].rotary_dim(8), 0);
  EXPECT_EQ(config_of_fixture("bert-tanh").activation, Activation::kUngatedGeluTanh);
  const ModelConfig roberta = config_of_fixture("roberta");
  EXPECT_EQ(roberta.n_learned_positions, 96);
  EXPECT_EQ(roberta.position_offset, 2);
  EXPECT_EQ(roberta.pad_token, 1);
  EXPECT_EQ(roberta.max_positions, 94);
  // Half of local_attention on each side, and the row itself.
  const ModelConfig modern = config_of_fixture("modernbert");
  EXPECT_EQ(modern.layers[0].window, 0);
  EXPECT_EQ(modern.layers[1].window, 16 / 2 + 1);
  EXPECT_EQ(modern.rotations[modern.layers[0].rotation].theta, 160000.0);
  EXPECT_EQ(modern.rotations[modern.layers[1].rotation].theta, 10000.0);
  EXPECT_EQ(config_of_fixture("gemma3").layers[0].window, 12 / 2 + 1);
  EXPECT_EQ(config_of_fixture("mistral").layers[0].window, 9 + 1);
  EXPECT_EQ(config_of_fixture("nomic_bert").rotations[0].theta, 1000.0);
}

// Fields as published files of Nomic's models have them.
TEST(EncoderConfigs, ReadNomicsOwnNames) {
  const ModelConfig config =
      ModelConfig::parse(R"({"model_type": "nomic_bert", "architectures": ["NomicBertModel"],
                             "n_embd": 24, "n_head": 3, "n_inner": 40, "n_layer": 2,
                             "n_positions": 80, "layer_norm_epsilon": 1e-6, "vocab_size": 50,
                             "rotary_emb_base": 500, "rotary_emb_fraction": 1.0,
                             "activation_function": "swiglu", "prenorm": false})",
                         "config.json")
          .value();
  EXPECT_EQ(config.d_model, 24);
  EXPECT_EQ(config.n_heads, 3);
  EXPECT_EQ(config.d_ff, 40);
  EXPECT_EQ(config.n_layers(), 2);
  EXPECT_EQ(config.max_positions, 80);
  EXPECT_EQ(config.rms_eps, 1e-6f);
  EXPECT_EQ(config.rotations[0].theta, 500.0);
}

std::string refusal(const json& changed) {
  json object = {{"model_type", "bert"}, {"architectures", {"BertModel"}}};
  object.update(changed);
  const auto config = ModelConfig::from_json(Json::parse(object.dump()), "config.json");
  return config.ok() ? "" : config.error().message();
}

TEST(EncoderConfigs, RefuseWhatWouldComputeSomethingElse) {
  EXPECT_EQ(refusal(json::object()), "");
  EXPECT_EQ(refusal({{"architectures", {"BertForSequenceClassification"}}}), "");
  EXPECT_NE(refusal({{"position_embedding_type", "relative_key"}}).find("position_embedding_type"),
            std::string::npos);
  EXPECT_NE(refusal({{"is_decoder", true}}).find("'is_decoder' is true, expected false"),
            std::string::npos);
  EXPECT_NE(refusal({{"hidden_act", "relu"}}).find("'hidden_act' is \"relu\""), std::string::npos);
  EXPECT_NE(refusal({{"architectures", {"BertLMHeadModel"}}}).find("architectures"),
            std::string::npos);
  EXPECT_NE(refusal({{"model_type", "nomic_bert"},
                     {"architectures", {"NomicBertModel"}},
                     {"activation_function", "geglu"}})
                .find("'activation_function' is \"geglu\""),
            std::string::npos);
}

// Heads stay in the checkpoint, for those who read them; nothing else is ignored.
TEST(EncoderFiles, KeepTheirHeads) {
  const auto opened = OpenedModel::open(encoder_folder("xlm-roberta"));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_TRUE(opened->checkpoint.contains("classifier.out_proj.weight"));
  EXPECT_EQ(opened->passed_over, std::vector<std::string>{"classifier (4 tensors)"});
  EXPECT_FALSE(opened->has_no_head);
  const auto bare = OpenedModel::open(encoder_folder("bert"));
  ASSERT_TRUE(bare.ok()) << bare.error().message();
  EXPECT_TRUE(bare->checkpoint.contains("model.pooler.dense.weight"));
  EXPECT_EQ(bare->passed_over, std::vector<std::string>{"pooler (2 tensors)"});
}

}  // namespace
}  // namespace pando::model
