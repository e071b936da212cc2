// TLS from a certificate and its key.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "pando/values/result.h"

namespace pando::serve {

// PEM files. Errors: kBadFile.
Result<std::unique_ptr<boost::asio::ssl::context>> make_tls(const std::string& certificate,
                                                            const std::string& key);

}  // namespace pando::serve
