// Configurations of models with mixtures of experts as JSON for tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::experts_json {

using config_json::decoder;
using config_json::Ints;
using config_json::read;
using nlohmann::json;

// The error names the file and every word.
inline void expect_error(const json& object, const std::vector<std::string>& words,
                         ErrorCode code = ErrorCode::kBadFile) {
  config_json::expect_error(object, words, code);
}

// The layers whose feed-forward is a mixture of experts.
inline std::vector<int> mixtures(const ModelConfig& config) {
  std::vector<int> all;
  for (int i = 0; i < config.n_layers(); ++i)
    if (config.layers[i].feed_forward == FeedForward::kExperts) all.push_back(i);
  return all;
}

}  // namespace pando::model::experts_json
