// Errors of the engine and the model, as the API reports them.
#pragma once

#include <string_view>

#include "ask/errors.h"
#include "pando/values/result.h"
#include "serve/service.h"

namespace pando::serve {

// The message about a prompt that is too long gives the limit in words that clients know.
ask::HttpError http_error(const Service& service, const Error& error);

// path: of the request. A chat template that is missing or cannot be read is told by the files of
// the server, which are no affair of its clients.
Error for_clients(const Service& service, std::string_view path, const Error& error);

}  // namespace pando::serve
