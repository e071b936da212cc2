// Routes say what is answered under which path.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ask/body.h"
#include "ask/errors.h"
#include "base/json.h"
#include "serve/http.h"
#include "serve/service.h"

namespace pando::serve {

struct Route {
  const char* path;  // in which "{name}" stands for any text
  const char* method;
  ask::ReadBody* read_body = nullptr;  // asks the engine; or
  // is answered at once. `body` is null for a GET.
  Result<HttpResponse> (*answer)(Service&, const HttpRequest&, const Json& body) = nullptr;
  // Answers by what the server keeps, whatever its models; may wait for a disk.
  Result<HttpResponse> (*answer_kept)(StateDoor&, const HttpRequest&, const Json& body) = nullptr;
  bool open = false;  // needs no API key
  const ask::ErrorForm* errors = &ask::kOpenAiErrors;
  bool takes_form = false;      // its body is a form, taken by HttpRequest::upload
  bool may_lack_body = false;   // of a POST, which then needs no content type
  bool while_draining = false;  // is answered although no new requests are taken
  bool is_of_page = false;      // a part of the page for browsers, which a server may not have
};

// All routes, in the order of the overview.
std::span<const Route> routes();
// Null for a path that is not served. If no route of the path has the method: its first route.
const Route* find_route(std::string_view path, std::string_view method);
// The form of errors of a path. A path that is not served has the form of its neighbours.
const ask::ErrorForm& errors_of(std::string_view path, std::string_view method);
// The text in the path that matches the route's parameter; empty if the route has none.
std::string parameter_of(const Route& route, std::string_view path);
// "GET, HEAD, DELETE": the methods that the path of a route takes.
std::string methods_of(const Route& route);
// The one that may be meant by a path that is not served, which begins or ends in another way;
// empty: none.
std::string meant_path(std::string_view path);

}  // namespace pando::serve
