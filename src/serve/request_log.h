// The request log has a line for each request that is over.
#pragma once

#include <string>
#include <string_view>

#include "serve/http.h"

namespace pando::serve {

struct LoggedRequest {
  std::string client;        // address and port
  std::string method, path;  // as sent; without the query
  int status = 0;            // 499: the client left
  double seconds = 0;        // from the request to the end of its answer
  Tally tally;               // of its answer
  std::string key_name;      // of the API key it was asked with
  std::string id;            // as the answer says it
};

// "2026-11-22T08:40:12.345Z ": UTC, before each line.
std::string log_time();
// Ends with a line feed; holds no key, prompt or answer.
std::string log_line(const LoggedRequest& request);

// Says whether it can stand in a line, as a client's name for its request: 1 to 128 visible
// characters of ASCII.
bool is_log_word(std::string_view text);

}  // namespace pando::serve
