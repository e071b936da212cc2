// --generation-config: sampling defaults from the model's generation_config.json.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "pando/request.h"
#include "pando/result.h"

namespace pando::cli {

// Whether the command line gave an option, by its name: then that stays.
using IsGiven = std::function<bool(const std::string& option)>;

// Changes `sampling` by the file and returns one line that says what was taken and what was not.
Result<std::string> apply_generation_config(const std::filesystem::path& model,
                                            const IsGiven& given, SamplingOptions& sampling);

}  // namespace pando::cli
