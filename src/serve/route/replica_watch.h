// The thread that looks after a router's replicas.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "serve/route/replica_set.h"
#include "serve/route/route_options.h"

namespace pando::serve {

// Asks each replica for its status, resolves names again, and at SIGHUP also reads the list of
// replicas again.
class ReplicaWatch {
 public:
  // All must live longer. `log` takes lines, from this thread.
  ReplicaWatch(ReplicaSet& replicas, const RouteOptions& options,
               std::function<void(const std::string&)> log);
  ~ReplicaWatch();

  // Starts the thread, which resolves the names. Errors: kNotFound and kInvalidArgument as
  // read_replica_urls.
  Status start();
  void stop();  // and waits for the thread
  // Each name has been resolved once, or could not be.
  bool has_looked_up() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pando::serve
