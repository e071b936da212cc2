// A tiny model of bytes whose vocabulary has tokens for fill-in-the-middle.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "engine/tiny_engine.h"
#include "text/text_testing.h"

namespace pando::testing {

constexpr Token kFimFile = 259;  // the first token that ends an answer, besides the model's own

// Made once for each program.
inline const std::shared_ptr<const Model>& fim_model() {
  static const TemporaryFolder folder;
  static const std::shared_ptr<const Model> model = [] {
    RandomModelOptions random;
    random.out = folder.path() / "model";
    random.tokenizer = folder.path() / "tokenizer";
    random.max_positions = kTinyContext;
    std::filesystem::create_directories(random.tokenizer);
    Json json = byte_level_json({}, Json::array());
    json["added_tokens"] = {added_token(256, "<|fim_prefix|>"), added_token(257, "<|fim_suffix|>"),
                            added_token(258, "<|fim_middle|>"),
                            added_token(kFimFile, "<|file_sep|>")};
    std::ofstream(random.tokenizer / "tokenizer.json") << json.dump();
    if (Status status = make_random_model(random); !status)
      throw std::runtime_error(status.error().message());
    return Model::load(random.out).value();
  }();
  return model;
}

}  // namespace pando::testing
