// Answers that a browser gives to web pages of other origins (fetch.spec.whatwg.org, section 3.2).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http.h"

namespace pando::serve {

// With which every answer to a page of `origin` goes; none where it may not ask, or is empty.
HttpHeaders cors_headers(const std::vector<std::string>& allowed, std::string_view origin);

HttpResponse origin_not_allowed(std::string_view origin);

// A browser asks this before it sends a page's request, to know whether it may.
struct Preflight {
  std::string_view origin, headers;  // who asks, and which headers are to be sent
};
HttpResponse answer_preflight(const std::vector<std::string>& allowed, const Preflight& asked);

}  // namespace pando::serve
