// /v1/batches: files whose lines are requests (docs/http-api.md).
#pragma once

#include "base/json.h"
#include "pando/values/result.h"
#include "serve/http.h"
#include "serve/state_door.h"

namespace pando::serve {

Result<HttpResponse> create_batch(StateDoor& door, const HttpRequest& request, const Json& body);
// The query may have "limit" and "after".
Result<HttpResponse> list_batches(StateDoor& door, const HttpRequest& request, const Json&);
Result<HttpResponse> get_batch(StateDoor& door, const HttpRequest& request, const Json&);
Result<HttpResponse> cancel_batch(StateDoor& door, const HttpRequest& request, const Json&);

}  // namespace pando::serve
