// GET /: what runs here, its paths, and one request to try.
#pragma once

#include "serve/http.h"
#include "serve/service.h"

namespace pando::serve {

// As text, or as JSON where the request accepts that.
HttpResponse overview(const Service& service, const HttpRequest& request);

}  // namespace pando::serve
