// Bodies of requests, as far as a router reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ask/prompt_bytes.h"
#include "schedule/router.h"
#include "serve/http.h"
#include "serve/routes.h"

namespace pando::serve {

struct ReadBody {
  std::vector<Piece> pieces;
  ask::PromptWork work;
  std::string model;
  bool is_stored = true;  // an answer that can be
  std::optional<HttpResponse> refusal;
};

// A body that cannot be read is left to a replica, which says what is wrong with it. owner: of the
// client, which pieces depend on.
ReadBody read_routed_body(const Route& route, std::string_view text, uint64_t owner);

// Its deadline is in seconds from now.
RoutedWork work_of(const ReadBody& read);

}  // namespace pando::serve
