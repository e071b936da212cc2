// GET and DELETE of stored responses.
#pragma once

#include "base/json.h"
#include "pando/values/result.h"
#include "serve/http.h"
#include "serve/service.h"

namespace pando::serve {

Result<HttpResponse> get_response(Service& service, const HttpRequest& request, const Json&);
Result<HttpResponse> delete_response(Service& service, const HttpRequest& request, const Json&);
// The items of the request; the query may have "order", "limit" and "after".
Result<HttpResponse> get_input_items(Service& service, const HttpRequest& request, const Json&);

}  // namespace pando::serve
