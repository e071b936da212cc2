// Requests of routers: which ones are believed, and what they change.
#pragma once

#include <optional>
#include <vector>

#include "ask/body.h"
#include "base/json_fwd.h"
#include "serve/api_keys.h"
#include "serve/door.h"
#include "serve/http.h"
#include "serve/routed.h"

namespace pando::serve {

// Finds out who sent a request, and reads its router's header. Nothing, or the error that it is
// answered with.
std::optional<HttpResponse> identify(const Door& door, HttpRequest& request,
                                     const KeyHeaders& keys);

// Takes the answers that another replica began out of a router's body; absent: there are none.
// Bodies of others keep the field, which is unknown to their readers. kInvalidArgument, with the
// place.
Result<std::optional<std::vector<BegunAnswer>>> take_begun(const HttpRequest& request, Json& body);
// The body's stream goes on behind them. kInvalidArgument, with the place.
Status set_begun(const std::vector<BegunAnswer>& begun, ask::Body& body);
// Gives a request of the body its seed and day, so that all replicas draw the same tokens.
void set_routed(const Routed& routed, ask::Body& body, size_t index);

}  // namespace pando::serve
