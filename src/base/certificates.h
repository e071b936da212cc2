// The certificates that a system trusts.
#pragma once

#include <filesystem>

namespace pando {

// The file of PEM certificates where this distribution keeps it; empty: in none of the usual
// places. An OpenSSL of another distribution, as wheels hold, looks in places of its own.
std::filesystem::path system_certificates();

}  // namespace pando
