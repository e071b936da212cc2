// GET /: the model, the paths, and one request to try.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "serve/http.h"
#include "serve/service.h"

namespace pando::serve {

// Text, or JSON if the request accepts it.
HttpResponse overview(const Service& service, const HttpRequest& request);

// The JSON if the request accepts it, else the text.
HttpResponse overview_response(const HttpRequest& request, std::string text, const Json& json);

}  // namespace pando::serve
