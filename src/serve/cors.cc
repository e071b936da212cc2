#include "serve/cors.h"

#include <algorithm>

#include "base/errors.h"

namespace pando::serve {
namespace {

bool has(const std::vector<std::string>& allowed, std::string_view origin) {
  return std::ranges::find(allowed, origin) != allowed.end();
}

}  // namespace

HttpHeaders cors_headers(const std::vector<std::string>& allowed, std::string_view origin) {
  const bool any = has(allowed, "*");
  if (origin.empty() || (!any && !has(allowed, origin))) return {};
  HttpHeaders headers = {
      {"Access-Control-Allow-Origin", any ? "*" : std::string(origin)},
      {"Access-Control-Expose-Headers", "X-Request-Id, Retry-After, X-Pando-Ignored-Fields"}};
  if (!any) headers.emplace_back("Vary", "Origin");
  return headers;
}

HttpResponse origin_not_allowed(std::string_view origin) {
  return wrong_request(
      403, "origin_not_allowed",
      fmt::format(
          "pages from '{}' may not send requests here (hint: the server's option --cors-origin)",
          one_line(std::string(origin))));
}

HttpResponse answer_preflight(const std::vector<std::string>& allowed, const Preflight& asked) {
  if (cors_headers(allowed, asked.origin).empty()) return origin_not_allowed(asked.origin);
  HttpResponse response{.status = 204, .content_type = ""};
  response.headers = {{"Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE, OPTIONS"},
                      {"Access-Control-Max-Age", "600"}};
  const bool is_plain =
      std::ranges::all_of(asked.headers, [](char c) { return c >= ' ' && c < 127; });
  response.headers.emplace_back("Access-Control-Allow-Headers", asked.headers.empty() || !is_plain
                                                                    ? "Authorization, Content-Type"
                                                                    : std::string(asked.headers));
  return response;
}

}  // namespace pando::serve
