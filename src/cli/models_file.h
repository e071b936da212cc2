// The file of --models: TOML with a table for each model.
#pragma once

#include <string>
#include <vector>

#include "cli/serve_options.h"

namespace pando::cli {

// A model of the file, and its options over those of the command line.
struct FileModel {
  std::string name;  // in requests
  ModelArguments model;
  DefaultsArguments generation;
};

// The tables [models.NAME], in the order of the file. Errors: kNotFound, kBadFile, and
// kInvalidArgument with the line of a wrong option.
Result<std::vector<FileModel>> read_models_file(const std::string& path,
                                                const ModelArguments& common);

}  // namespace pando::cli
