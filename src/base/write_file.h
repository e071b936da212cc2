// Writing texts, where what the system says of a failure is not lost.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>

#include "pando/result.h"

namespace pando {

// ": No space left on device", of an errno; empty for 0.
std::string reason_of_code(int code);

// Writes and flushes. kIo: "cannot write WHAT: No space left on device".
Status write_text(std::ostream& stream, std::string_view text, std::string_view what);

// The same, to a file that becomes `text` and nothing else.
Status write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace pando
