// --generation-config: sampling defaults from the model's generation_config.json.
#pragma once

#include <filesystem>
#include <string>

#include "pando/request.h"
#include "pando/result.h"

namespace pando::cli {

// Which options the command line gave: these stay.
struct GivenSampling {
  bool temperature = false, top_k = false, top_p = false;
};

// Changes `sampling` by the file and returns one line that says what was taken and what was not.
Result<std::string> apply_generation_config(const std::filesystem::path& model,
                                            const GivenSampling& given, SamplingOptions& sampling);

}  // namespace pando::cli
