// Configurations as JSON for tests: a small decoder, with helpers for reading and refusals.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/make_model.h"

namespace pando::model::config_json {

// A decoder of 4 layers and 64 channels; `change` is merged into it.
inline nlohmann::json decoder(const char* architecture, const char* type,
                              const nlohmann::json& change = nlohmann::json::object()) {
  nlohmann::json object = {{"architectures", {architecture}},
                           {"model_type", type},
                           {"vocab_size", 100},
                           {"hidden_size", 64},
                           {"num_hidden_layers", 4},
                           {"num_attention_heads", 4},
                           {"num_key_value_heads", 2},
                           {"intermediate_size", 172},
                           {"max_position_embeddings", 512}};
  object.update(change);
  return object;
}

inline Result<ModelConfig> parse(const nlohmann::json& object) {
  return ModelConfig::parse(object.dump(), "test.json");
}

// Reads a configuration; checks that it is the same after writing and reading it again.
inline ModelConfig read(const nlohmann::json& object) {
  Result<ModelConfig> config = parse(object);
  EXPECT_TRUE(config.ok()) << config.error().message();
  if (!config.ok()) return named_shape("tiny-llama").value();
  const Result<ModelConfig> again = ModelConfig::parse(config->to_json(DType::kF32), "written");
  EXPECT_TRUE(again.ok()) << again.error().message();
  EXPECT_TRUE(again.ok() && *again == *config) << config->to_json(DType::kF32);
  return *config;
}

// The error names the file and every word.
inline void expect_error(const nlohmann::json& object, std::vector<std::string> words,
                         ErrorCode code = ErrorCode::kUnsupported) {
  const Result<ModelConfig> config = parse(object);
  ASSERT_FALSE(config.ok()) << object;
  EXPECT_EQ(config.error().code, code) << config.error().message();
  words.push_back("test.json");
  for (const std::string& word : words)
    EXPECT_NE(config.error().message().find(word), std::string::npos)
        << config.error().message() << " lacks " << word;
}

// The rotation of each layer.
inline std::vector<int> rotations(const ModelConfig& config) {
  std::vector<int> all;
  for (const LayerConfig& layer : config.layers) all.push_back(layer.rotation);
  return all;
}

inline std::vector<int> windows(const ModelConfig& config) {
  std::vector<int> all;
  for (const LayerConfig& layer : config.layers) all.push_back(layer.window);
  return all;
}

using Ints = std::vector<int>;

}  // namespace pando::model::config_json
