// Writes texts. An error gives the system's reason.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

// ": No space left on device" for an errno; empty for 0.
std::string reason_of_code(int code);

// Writes and flushes. kIo: "cannot write WHAT: No space left on device".
Status write_text(std::ostream& stream, std::string_view text, std::string_view what);

// Writes the same to a file. Its only content is then `text`.
Status write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace pando
