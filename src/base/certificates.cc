#include "base/certificates.h"

#include <system_error>

namespace pando {

std::filesystem::path system_certificates() {
  constexpr const char* kPlaces[] = {
      "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Gentoo
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
      "/etc/pki/tls/certs/ca-bundle.crt",                   // older of these
      "/etc/ssl/ca-bundle.pem",                             // SUSE
      "/etc/ssl/cert.pem"};                                 // Alpine
  std::error_code error;
  for (const std::filesystem::path place : kPlaces)
    if (std::filesystem::exists(place, error)) return place;
  return {};
}

}  // namespace pando
