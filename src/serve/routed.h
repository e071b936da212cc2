// Words of a router about the requests that it passes on to a replica (docs/http-api.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "pando/values/chat.h"
#include "pando/values/request.h"
#include "pando/values/result.h"

namespace pando::serve {

inline constexpr const char* kReplicaPath = "/v1/replica";  // tells routers the state
inline constexpr const char* kRoutedHeader = "X-Pando-Routed";
inline constexpr const char* kBegunField = "pando_begun";
// A header of answers to routers: "PROCESS FINGERPRINT" of the server that answers.
inline constexpr const char* kReplicaHeader = "X-Pando-Replica";

// The header's line of JSON, in which every member may be absent.
struct Routed {
  std::string id;                  // of the answer, in all logs; empty: the server makes one
  std::optional<int64_t> created;  // when it was asked, seconds since 1970
  std::optional<uint64_t> seed;    // for requests of the body that have none
  std::optional<uint64_t> owner;   // isolation key of the router's client
  bool tells_tokens = false;       // the stream has comments with its tokens
};
// kInvalidArgument names field, found and expected.
Result<Routed> parse_routed(std::string_view header);

// Isolation key of a router's client here: never that of an API key or of one request.
uint64_t key_of_owner(uint64_t owner);
// Seed of a body's request by its index. The first has the router's own.
uint64_t seed_of_request(uint64_t seed, size_t request);
// Midnight of the day in UTC, which templates take for now, so that replicas write equal prompts.
LocalTime day_of(int64_t created);

// The tokens that one answer of a body has had from another replica.
struct BegunAnswer {
  size_t request = 0, choice = 0;
  std::vector<Token> tokens;
};
// The list of the field; kInvalidArgument, with the place in it.
Result<std::vector<BegunAnswer>> parse_begun(const Json& field);

}  // namespace pando::serve
