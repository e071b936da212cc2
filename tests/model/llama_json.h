// The configuration of a small Llama as JSON, with helpers for changes that are read or refused.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::llama_json {

using nlohmann::json;

inline json llama() {
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

using config_json::parse;

// `change` is merged into a good file; the error must name the file and every word.
inline void expect_error(const json& change, ErrorCode code, std::vector<std::string> words) {
  json object = llama();
  object.update(change);
  config_json::expect_error(object, std::move(words), code);
}

// A good file of a family, changed.
inline json of_family(const char* type, const char* architecture, const json& change = {}) {
  json object = llama();
  object.update({{"model_type", type}, {"architectures", {architecture}}});
  if (!change.is_null()) object.update(change);
  return object;
}

inline ModelConfig parsed(const json& object) {
  const Result<ModelConfig> config = parse(object);
  EXPECT_TRUE(config.ok()) << config.error().message();
  return config.ok() ? *config : ModelConfig();
}

}  // namespace pando::model::llama_json
