#include "base/is_there.h"

#include "base/errors.h"

namespace pando {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() != fs::file_type::not_found ||
         why_not_found(path).code != ErrorCode::kNotFound;
}

Error why_not_found(const fs::path& path) {
  std::error_code failure;
  const fs::path folder = path.parent_path();
  for (const fs::path& at : {path, folder})
    if (fs::is_symlink(at, failure) && !fs::exists(at, failure))
      return in_file(at.string(),
                     io_error("is a broken link to '{}'", fs::read_symlink(at, failure).string()));
  if (fs::status(path, failure).type() != fs::file_type::not_found)
    return in_file(path.string(), io_error("cannot be read: {}", failure.message()));
  if (fs::exists(folder, failure) && !fs::is_directory(folder, failure))
    return in_file(folder.string(), bad_file("is not a directory"));
  return in_file(path.string(), not_found("no such file"));
}

}  // namespace pando
