#include "serve/tls.h"

#include "base/errors.h"

namespace pando::serve {

namespace ssl = boost::asio::ssl;

Result<std::unique_ptr<ssl::context>> make_tls(const std::string& certificate,
                                               const std::string& key) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  boost::system::error_code error;
  context->set_options(
      ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, error);
  if (!error) context->use_certificate_chain_file(certificate, error);
  if (error)
    return in_file(certificate, bad_file("{}, expected a certificate in PEM", error.message()));
  context->use_private_key_file(key, ssl::context::pem, error);
  if (error)
    return in_file(key,
                   bad_file("{}, expected the key of {} in PEM", error.message(), certificate));
  return context;
}

}  // namespace pando::serve
