// Addresses of replicas as a router is told them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"

namespace pando::serve {

struct ReplicaUrl {
  bool is_tls = false;
  std::string host;  // an address or a name, which may stand for many addresses; no brackets
  uint16_t port = 0;

  std::string text() const;  // "https://[::1]:8443"
  // Value of the header Host.
  std::string authority() const;
  friend bool operator==(const ReplicaUrl&, const ReplicaUrl&) = default;
};

// "http://HOST[:PORT]", "https://HOST[:PORT]" or "HOST:PORT". Errors: kInvalidArgument.
Result<ReplicaUrl> parse_replica_url(std::string_view text);
// One in each line; empty lines and those that begin with # are left out. Errors: kNotFound,
// kInvalidArgument with the line.
Result<std::vector<ReplicaUrl>> read_replica_urls(const std::string& path);

}  // namespace pando::serve
