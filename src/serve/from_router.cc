#include "serve/from_router.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/errors.h"
#include "base/json.h"

namespace pando::serve {
namespace {

// True for a stream that has room for comments.
bool can_tell_tokens(const ask::Body& body) {
  return body.stream && std::string_view(body.stream_type()).starts_with("text/event-stream");
}

}  // namespace

std::optional<HttpResponse> identify(const Door& door, HttpRequest& request,
                                     const KeyHeaders& keys) {
  const bool has_router_keys = door.router_keys && !door.router_keys->empty();
  const bool is_router = has_router_keys && door.router_keys->identify(keys);
  if (!is_router && door.options.router_only)
    return wrong_request(401, "invalid_router_key",
                         "this server answers its router alone, expected the router's key");
  if (!is_router) {
    const Result<uint64_t> key = door.keys.identify(keys);
    if (!key) return wrong_request(401, "invalid_api_key", key.error().message());
    request.isolation_key = *key;
  }
  request.may_be_routed = is_router || (door.router_keys && !has_router_keys && door.keys.empty());
  if (request.routed_header.empty()) return std::nullopt;
  if (!request.may_be_routed)
    return wrong_request(401, "invalid_router_key",
                         fmt::format("the header '{}' needs the key of a router", kRoutedHeader));
  Result<Routed> routed = parse_routed(request.routed_header);
  if (!routed) return wrong_request(400, "bad_request", routed.error().message());
  if (!routed->id.empty()) request.id = routed->id;
  if (routed->owner) request.isolation_key = key_of_owner(*routed->owner);
  request.routed = std::move(*routed);
  return std::nullopt;
}

Result<std::optional<std::vector<BegunAnswer>>> take_begun(const HttpRequest& request, Json& body) {
  const auto field = body.find(kBegunField);
  if (field == body.end() || !request.may_be_routed)
    return std::optional<std::vector<BegunAnswer>>();
  Result<std::vector<BegunAnswer>> begun = parse_begun(*field);
  if (!begun) return begun.error();
  body.erase(field);
  return std::optional(std::move(*begun));
}

Status set_begun(const std::vector<BegunAnswer>& begun, ask::Body& body) {
  if (!can_tell_tokens(body)) return invalid_field(kBegunField, "needs a stream of events");
  body.goes_on = true;
  for (size_t i = 0; i < begun.size(); ++i) {
    const BegunAnswer& answer = begun[i];
    const std::string place = place_in(kBegunField, i);
    if (answer.request >= body.requests.size())
      return invalid_field(place, "has request {}, expected less than {}", answer.request,
                           body.requests.size());
    Request& request = body.requests[answer.request];
    const auto n = static_cast<size_t>(request.sampling.n);
    if (answer.choice > n)
      return invalid_field(place, "has choice {}, expected at most {}", answer.choice, n);
    if (answer.choice == n || request.sampling.max_tokens == 0) {
      body.set_told(answer.request, answer.choice);
      continue;
    }
    request.begun.resize(n);
    request.begun[answer.choice] = answer.tokens;
  }
  return {};
}

void set_routed(const Routed& routed, ask::Body& body, size_t index) {
  Request& request = body.requests[index];
  if (routed.seed && !request.sampling.seed)
    request.sampling.seed = seed_of_request(*routed.seed, index);
  if (routed.created && !request.chat.now) request.chat.now = day_of(*routed.created);
  body.tells_tokens = request.tells_tokens = routed.tells_tokens && can_tell_tokens(body);
}

}  // namespace pando::serve
