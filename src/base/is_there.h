// Files that a model may have or lack. One that is there and cannot be read is never taken for one
// that is absent.
#pragma once

#include <filesystem>

#include "pando/result.h"

namespace pando {

// Whether anything has this name: also a directory, a broken link, a file in a folder that is a
// broken link or no directory, and a file that may not be read. Reading it says what is wrong.
bool is_there(const std::filesystem::path& path);

// Why the system does not find a file: kNotFound only where nothing has its name.
Error why_not_found(const std::filesystem::path& path);

}  // namespace pando
