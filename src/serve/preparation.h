// From the body of a request to what the engine is asked for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ask/body.h"
#include "serve/http.h"
#include "serve/routes.h"
#include "serve/service.h"

namespace pando::serve {

// Has a body or a response; neither if there is more to tokenise than was allowed.
struct Prepared {
  std::unique_ptr<ask::Body> body;
  std::optional<HttpResponse> response;
  uint64_t n_prompt = 0;     // tokens of prompts, as far as it came
  std::string ignored = {};  // unknown fields, as a header has them
};

// Runs on a thread for texts, or for the disk if the route waits for it. most_bytes: of texts to
// tokenise.
Prepared prepare(Service& service, const Route& route, const HttpRequest& request,
                 size_t most_bytes);

}  // namespace pando::serve
