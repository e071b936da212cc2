#include "serve/http.h"

namespace pando::serve {

HttpResponse error_response(const openai::WireError& error, int retry_after) {
  HttpResponse response{
      .status = error.status, .body = openai::dump(openai::error_body(error)), .error = error.code};
  if (error.status == 429 || error.status == 503)
    response.headers.push_back({"Retry-After", std::to_string(retry_after)});
  if (error.status == 401) response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

HttpResponse json_response(const nlohmann::ordered_json& body) {
  return {.body = openai::dump(body)};
}

}  // namespace pando::serve
