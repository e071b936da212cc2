// Options of a router.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "schedule/router.h"
#include "serve/route/replica_url.h"

namespace pando::serve {

struct RouteOptions {
  std::vector<ReplicaUrl> replicas;
  std::string replicas_file;  // more of them, read again at SIGHUP; empty: none
  RouterOptions router;
  std::string key;      // that replicas take routed requests with; empty: none is sent
  std::string ca_file;  // PEM, for replicas with TLS; empty: the system's authorities
  // The silence after a question about its state, after which a replica counts as lost.
  std::chrono::milliseconds replica_timeout{5000};
  std::chrono::seconds resolve_interval{10};  // between look-ups of names
  std::chrono::milliseconds probe_interval{1000};
  std::chrono::milliseconds longest_pause{30'000};  // between questions to a replica that is down
  std::chrono::milliseconds continue_time{15'000};  // a broken stream waits for another replica
  int max_requests_per_key = 0;                     // open at once; 0: any number
  bool show_replica = false;                        // in the header X-Pando-Routed-To of answers
};

}  // namespace pando::serve
