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
  // The isolation key of who sent the headers, from 1; 0 where there are no keys. kInvalidArgument
  // without a key, for different ones, and for one that is not known. Takes the same time for every
  // wrong key.
  Result<uint64_t> identify(const KeyHeaders& headers) const;
  // Of the key that identify() gave this isolation key; empty where it has none.
  std::string_view name_of(uint64_t isolation_key) const;

 private:
  using Digest = std::array<unsigned char, 32>;  // SHA-256
  static Digest digest(std::string_view key);
  std::vector<Digest> digests_;
  std::vector<std::string> names_;  // [digests_]
};

}  // namespace pando::serve
