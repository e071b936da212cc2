// A build without libcurl.
#include "base/errors.h"
#include "hub/http.h"

namespace pando::hub {

Result<std::unique_ptr<HttpConnection>> HttpConnection::open(const HttpOptions&) {
  return unsupported(
      "this build fetches nothing, expected a path or a model in the local hub cache (hint: build "
      "with libcurl and -DPANDO_HUB=ON)");
}

std::string origin_of(const std::string&) { return {}; }

}  // namespace pando::hub
