// Loads a model with options that are not public.
#pragma once

#include <filesystem>
#include <memory>

#include "pando/model.h"

namespace pando {

// Model::load for timing: with all_rows.
Result<std::shared_ptr<const Model>> load_for_timing(const std::filesystem::path& path,
                                                     const ModelOptions& options);

}  // namespace pando
