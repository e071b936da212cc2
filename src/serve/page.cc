#include "serve/page.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pando::serve {
namespace {

// Scripts and styles of this server alone, and no frames, forms or pages of others.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

constexpr std::pair<const char*, const char*> kPageHeaders[] = {
    {"Content-Security-Policy", kContentPolicy},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-cache"},  // the next version of the program has other files
    {"Vary", "Accept, Origin"},     // / has other answers for other clients
};

constexpr std::pair<std::string_view, const char*> kPageTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
};

const char* type_of_page_file(std::string_view name) {
  for (const auto& [ending, type] : kPageTypes)
    if (name.ends_with(ending)) return type;
  return "text/plain; charset=utf-8";
}

}  // namespace

bool opens_page(const ServerOptions& options, const HttpRequest& request) {
  return has_page(options) && request.path == "/" &&
         (request.method == "GET" || is_head(request.method)) &&
         request.accept.find("text/html") != std::string::npos;
}

std::optional<HttpResponse> page_response(std::string_view name, const HttpRequest& request) {
  const auto file = std::ranges::find(page_files(), name, &PageFile::name);
  if (file == page_files().end()) return std::nullopt;
  HttpResponse response;
  for (const auto& [header, value] : kPageHeaders) response.headers.emplace_back(header, value);
  response.headers.emplace_back("ETag", file->etag);
  if (request.if_none_match.find(file->etag) != std::string::npos) {
    response.status = 304;
    response.content_type.clear();
  } else {
    response.body = file->text;
    response.content_type = type_of_page_file(name);
  }
  return response;
}

}  // namespace pando::serve
