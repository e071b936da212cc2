// The page for browsers at /, and its parts at /page/NAME. Its files are in src/serve/page.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "serve/http.h"
#include "serve/options.h"

namespace pando::serve {

struct PageFile {
  std::string_view name;  // "index.html"
  std::string_view etag;  // with its quotes
  std::string_view text;
};

// In the order of their names. cmake/write_page.cmake makes the source.
std::span<const PageFile> page_files();

// A server that answers routers alone has no page.
inline bool has_page(const ServerOptions& options) { return options.page && !options.router_only; }
// A browser opens /, which other clients get an overview from.
bool opens_page(const ServerOptions& options, const HttpRequest& request);
// The file, or status 304 if the client has it. Nothing if the page has no such file.
std::optional<HttpResponse> page_response(std::string_view name, const HttpRequest& request);

}  // namespace pando::serve
