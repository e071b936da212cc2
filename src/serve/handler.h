// From a request of HTTP to its answer.
#pragma once

#include <optional>

#include "serve/api_keys.h"
#include "serve/door.h"
#include "serve/http.h"
#include "serve/routes.h"
#include "serve/service.h"

namespace pando::serve {

// Once the head of a request is there: nothing, or the error that it is answered with.
// Fills in the request's isolation key.
std::optional<HttpResponse> check_head(const Door& door, HttpRequest& request,
                                       const KeyHeaders& keys);

// Answers a request that check_head let pass. Throws where the client is gone. What the engine was
// asked for it is cancelled where it ends early.
boost::asio::awaitable<void> handle(Service& service, HttpRequest& request, Replier& replier);

}  // namespace pando::serve
