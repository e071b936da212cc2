#include "serve/http.h"

#include <charconv>

namespace pando::serve {

std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char *digits = text.data() + i + 1, *end = digits + 2;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, end, byte, 16).ptr == end) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

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
