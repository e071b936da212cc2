// /v1/batches: files whose lines are requests (docs/http-api.md).
#pragma once

#include "base/json.h"
#include "pando/values/result.h"
#include "serve/http.h"
#include "serve/service.h"

namespace pando::serve {

Result<HttpResponse> create_batch(Service& service, const HttpRequest& request, const Json& body);
// The query may have "limit" and "after".
Result<HttpResponse> list_batches(Service& service, const HttpRequest& request, const Json&);
Result<HttpResponse> get_batch(Service& service, const HttpRequest& request, const Json&);
Result<HttpResponse> cancel_batch(Service& service, const HttpRequest& request, const Json&);

}  // namespace pando::serve
