// Addresses of replicas by name.
#pragma once

#include <atomic>
#include <boost/system/error_code.hpp>
#include <vector>

#include "serve/route/replica_set.h"

namespace pando::serve {

// A name that is being resolved, on a thread of its own: a name server that does not answer holds
// it for long. It cannot be stopped, so it may outlive the watch.
struct LookUp {
  const ReplicaUrl url;
  // Written by the thread until it is over.
  boost::system::error_code error;
  std::vector<ReplicaSet::Address> addresses;
  std::atomic<bool> is_over{false};

  explicit LookUp(const ReplicaUrl& url) : url(url) {}
  void run() noexcept;
};

}  // namespace pando::serve
