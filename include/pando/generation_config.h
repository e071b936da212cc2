// The sampling defaults that a model brings.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "pando/request_options.h"
#include "pando/result.h"
#include "pando/token.h"

namespace pando {

// Sampling options of a generation_config.json, or of the keys general.sampling.* of a GGUF file;
// docs/formats.md lists them. The library applies them only where it is asked to: without that,
// requests are drawn as their SamplingOptions say.
struct GenerationConfig {
  std::string source;  // name of the file
  // Options of requests that it sets, within their bounds.
  std::vector<std::pair<const RequestOption*, double>> options;
  std::vector<std::string> stop;  // texts that end an answer; empty: it names none
  std::vector<Token> eos;         // tokens that end an answer; those of a model's own file end its
                                  // answers in any case
  std::vector<std::string> not_offered;  // fields that may change answers, and that Pando lacks

  // Sets the options, `stop`, and stop_tokens to `eos`.
  void apply_to(SamplingOptions& sampling) const;
};

// Sets one of the options. A min_tokens above max_tokens becomes max_tokens.
void apply_option(const RequestOption& option, double value, SamplingOptions& sampling);

// Reads what the model at `path` brings, a directory or GGUF file, or a generation_config.json by
// itself. Errors: kNotFound where there is none, kBadFile.
Result<GenerationConfig> read_generation_config(const std::filesystem::path& path);

}  // namespace pando
