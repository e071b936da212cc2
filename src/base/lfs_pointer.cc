#include "base/lfs_pointer.h"

#include "base/errors.h"

namespace pando {

Status refuse_lfs_pointer(const std::filesystem::path& path, std::string_view bytes) {
  if (!bytes.starts_with("version https://git-lfs.github.com/spec/")) return {};
  return in_file(
      path.string(),
      bad_file("is a Git LFS pointer of {} bytes, expected the file itself", bytes.size()));
}

}  // namespace pando
