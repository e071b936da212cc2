#include <iterator>
#include <stdexcept>

#include "base/byte_order_mark.h"
#include "base/errors.h"
#include "batch/input_kind.h"
#include "pando/file_input.h"
#include "text/utf8.h"

namespace pando {

Result<std::string> read_text(const std::string& path) {
  FileInput file;
  if (Status status = file.open(path, "file"); !status) return status.error();
  const std::string name = path == "-" ? "standard input" : fmt::format("'{}'", path);
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(&file), {});
  } catch (const std::runtime_error& error) {  // FileInput's
    return io_error("cannot read {}: {}", name, error.what());
  }
  if (const std::optional<InputKind> kind = packed_kind(text))
    return bad_file("{} is {}", name, kind->expecting("text in UTF-8"));
  if (const size_t at = text.find('\0'); at != std::string::npos)
    return bad_file("{} is binary data, not text: byte {} is 0, expected text in UTF-8", name, at);
  if (const auto at = find_invalid_utf8(text))
    return bad_file("{} is not UTF-8 at byte {}, expected text in UTF-8", name, *at);
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

}  // namespace pando
