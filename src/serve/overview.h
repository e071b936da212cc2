// GET /: the model, the paths, and one request to try.
#pragma once

#include "serve/http.h"
#include "serve/service.h"

namespace pando::serve {

// Text, or JSON if the request accepts it.
HttpResponse overview(const Service& service, const HttpRequest& request);

}  // namespace pando::serve
