// Checksums of files, as hubs give them.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "pando/values/result.h"

namespace pando::hub {

enum class Digest {
  kSha256,   // of the contents: LFS files
  kGitSha1,  // of "blob SIZE\0" and the contents: all others
};

// The checksum in lower-case hexadecimal. `stop` ends the call with kUnavailable.
Result<std::string> digest_of_file(const std::filesystem::path& path, Digest digest,
                                   const std::atomic<bool>& stop);

}  // namespace pando::hub
