// A certificate for tests.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace pando::testing {

// A certificate for "localhost" that it signs itself, and its key, as files.
class Certificate {
 public:
  explicit Certificate(const std::filesystem::path& folder)
      : certificate((folder / "certificate.pem").string()), key((folder / "key.pem").string()) {
    EVP_PKEY* pair = EVP_EC_gen("P-256");
    X509* x509 = X509_new();
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -60);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, pair);
    X509_NAME* name = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(x509, name);
    X509_EXTENSION* names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost");
    X509_add_ext(x509, names, -1);
    X509_sign(x509, pair, EVP_sha256());
    write(certificate, [&](FILE* file) { PEM_write_X509(file, x509); });
    write(key, [&](FILE* file) {
      PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
    });
    X509_EXTENSION_free(names);
    X509_free(x509);
    EVP_PKEY_free(pair);
  }

  const std::string certificate, key;  // paths

 private:
  template <class Write>
  static void write(const std::string& path, Write write_to) {
    FILE* file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    write_to(file);
    std::fclose(file);
  }
};

}  // namespace pando::testing
