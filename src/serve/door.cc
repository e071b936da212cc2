#include "serve/door.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <ctime>
#include <utility>

#include "base/check.h"

namespace pando::serve {

Door::Door(ServerOptions o, ApiKeys k, std::optional<ApiKeys> of_routers)
    : options(std::move(o)),
      keys(std::move(k)),
      router_keys(std::move(of_routers)),
      started(std::time(nullptr)),
      connections(static_cast<size_t>(options.io_threads)),
      body_memory(options.max_bodies_bytes) {}

std::string Door::new_id() const {
  uint64_t bits = 0;
  PANDO_CHECK(getentropy(&bits, sizeof bits) == 0);
  return fmt::format("{:016x}", bits);
}

void Door::log(const LoggedRequest& request) const {
  const bool failed = request.status >= 400 || !request.tally.error.empty();
  if (!failed && request.path == kReplicaPath) return;  // routers ask every second
  const LogRequests which = options.log_requests;
  if (options.log && (which == LogRequests::kAll || (which == LogRequests::kErrors && failed)))
    options.log(log_line(request));
}

void Door::log(const std::string& line) const {
  if (options.log) options.log(log_time() + line + "\n");
}

}  // namespace pando::serve
