// Optional files of a model. A file that exists but cannot be read is never treated as absent.
#pragma once

#include <filesystem>

#include "pando/values/result.h"

namespace pando {

// True if anything has this name: also a directory, a broken link, a file below a broken link or
// below a file, and a file without read permission. Reading it then gives the error.
bool is_there(const std::filesystem::path& path);

// Why the system does not find a file: kNotFound only if nothing has its name.
Error why_not_found(const std::filesystem::path& path);

}  // namespace pando
