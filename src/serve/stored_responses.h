// GET and DELETE of stored responses.
#pragma once

#include "base/json.h"
#include "pando/values/result.h"
#include "serve/http.h"
#include "serve/state_door.h"

namespace pando::serve {

Result<HttpResponse> get_response(StateDoor& door, const HttpRequest& request, const Json&);
Result<HttpResponse> delete_response(StateDoor& door, const HttpRequest& request, const Json&);
// The items of the request; the query may have "order", "limit" and "after".
Result<HttpResponse> get_input_items(StateDoor& door, const HttpRequest& request, const Json&);

}  // namespace pando::serve
