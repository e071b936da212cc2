// Who may ask.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"

namespace pando::serve {

// Headers in which a client may send its key; empty: not sent.
struct KeyHeaders {
  std::string_view authorization;       // "Bearer KEY"
  std::string_view x_api_key, api_key;  // "KEY"
};

// Immutable; any thread.
class ApiKeys {
 public:
  // Lines "name:key" or "key"; empty ones and those that begin with # are left out. Errors:
  // kInvalidArgument for a key shorter than 16 characters or given twice, a name that a line of the
  // log has no room for, or lines without any key.
  static Result<ApiKeys> parse(std::span<const std::string> lines);

  bool empty() const { return digests_.empty(); }
  // The isolation key of the client that sent the headers, from 1; 0 if the server has no keys.
  // kInvalidArgument if the headers have no key, different keys, or an unknown key. Takes the same
  // time for every wrong key.
  Result<uint64_t> identify(const KeyHeaders& headers) const;
  // Names the key that identify() gave this isolation key; empty where it has none.
  std::string_view name_of(uint64_t isolation_key) const;
  // [isolation keys] identifies each key, independent of its place in the lines. The first is
  // empty, for servers without keys.
  std::vector<std::string> owners() const;

 private:
  using Digest = std::array<unsigned char, 32>;  // SHA-256
  static Digest digest(std::string_view key);
  std::vector<Digest> digests_;
  std::vector<std::string> names_;  // [digests_]
};

// The keys of a server.
struct ServerKeys {
  ApiKeys clients, routers;
};

}  // namespace pando::serve
