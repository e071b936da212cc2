// HTTP, by libcurl where the build has it. Proxies are those of the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando::hub {

struct HttpOptions {
  std::string user_agent;
  std::string ca_file;       // empty: the system's certificates
  int stalled_seconds = 30;  // a transfer below 100 bytes/s for this long fails
  int connect_seconds = 10;
};

struct HttpResponse {
  int status = 0;                              // 0: no response
  std::string failure;                         // why the transfer failed; empty: it did not
  bool is_transient = false;                   // the failure: a later try may succeed
  std::map<std::string, std::string> headers;  // names in lower case
  std::string location;                        // absolute; empty: no redirect
  double retry_after = 0;                      // seconds that the server asks to wait; 0: none
  std::string body;                            // if the request has no `sink`

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

struct HttpRequest {
  std::string url;
  bool is_head = false;
  std::string token = {};                  // sent as a bearer token; empty: none
  uint64_t offset = 0;                     // first byte of the range to ask for; 0: the whole
  size_t longest_body = size_t{64} << 20;  // without `sink`
  // Takes the body of responses of status 200 and 206, piece by piece; false ends the transfer.
  std::function<bool(const HttpResponse& head, std::string_view piece)> sink = {};
  std::function<bool()> is_stopped = {};  // asked about once a second, and with each piece
};

// Keeps its connection open between requests. One thread at a time. It follows no redirects.
class HttpConnection {
 public:
  // kUnsupported if the build has no libcurl.
  static Result<std::unique_ptr<HttpConnection>> open(const HttpOptions& options);
  virtual ~HttpConnection() = default;

  virtual HttpResponse send(const HttpRequest& request) = 0;
};

// "https://host:port" in lower case of a URL of http or https without user name. Empty for others.
std::string origin_of(const std::string& url);

}  // namespace pando::hub
