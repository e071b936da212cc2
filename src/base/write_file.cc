#include "base/write_file.h"

#include <cerrno>
#include <fstream>
#include <ostream>
#include <system_error>

#include "base/errors.h"

namespace pando {

std::string reason_of_code(int code) {
  return code == 0 ? "" : ": " + std::generic_category().message(code);
}

Status write_text(std::ostream& stream, std::string_view text, std::string_view what) {
  errno = 0;  // streams do not keep the reason; a failure of their own leaves 0
  if (stream << text << std::flush) return {};
  return io_error("cannot write {}{}", what, reason_of_code(errno));
}

Status write_file(const std::filesystem::path& path, std::string_view text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  const std::string what = fmt::format("'{}'", path.string());
  if (!file) return io_error("cannot write {}{}", what, reason_of_code(errno));
  if (Status status = write_text(file, text, what); !status) return status;
  errno = 0;
  file.close();
  return file ? Status() : io_error("cannot write {}{}", what, reason_of_code(errno));
}

}  // namespace pando
