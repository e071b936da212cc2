// Sampling defaults in a model's files.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "pando/values/request_options.h"
#include "pando/values/result.h"
#include "pando/values/token.h"

namespace pando {

class ModelPath;

// Sampling options of a generation_config.json, or of the keys general.sampling.* of a GGUF file;
// docs/formats.md lists them. They have no effect until apply_to() puts them into SamplingOptions.
struct GenerationConfig {
  std::string source;  // name of the file
  // The request options that it sets, with values within their bounds.
  std::vector<std::pair<const RequestOption*, double>> options;
  std::vector<std::string> stop;         // texts that end an answer; may be empty
  std::vector<Token> eos;                // tokens that end an answer; the model's own always do
  std::vector<std::string> not_offered;  // fields that may change answers, but that Pando lacks

  // Sets `options` and `stop`, and stop_tokens to `eos`.
  void apply_to(SamplingOptions& sampling) const;
};

// Sets one of the options. A min_tokens above max_tokens becomes max_tokens.
void apply_option(const RequestOption& option, double value, SamplingOptions& sampling);

// Reads the defaults of the model at `path` (a directory or GGUF file), or a
// generation_config.json. Errors: kNotFound if there are none, kBadFile.
Result<GenerationConfig> read_generation_config(const std::filesystem::path& path);
// For the library itself: reads files that may be open already.
Result<GenerationConfig> read_generation_config(const ModelPath& path);

}  // namespace pando
