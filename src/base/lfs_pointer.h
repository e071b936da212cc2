// Git LFS pointers: a few lines of text that stand for a large file until it is fetched.
#pragma once

#include <filesystem>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

// kBadFile if the file at `path`, which begins with `bytes`, is a pointer.
Status refuse_lfs_pointer(const std::filesystem::path& path, std::string_view bytes);

}  // namespace pando
