#include "serve/owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace pando::serve {
namespace {

constexpr std::string_view kOfRouter = "routed ";

}  // namespace

std::string Owners::of(uint64_t isolation_key) const {
  if (isolation_key < of_keys_.size()) return of_keys_[isolation_key];
  return fmt::format("{}{:016x}", kOfRouter, isolation_key);
}

std::optional<uint64_t> Owners::key_of(std::string_view owner) const {
  const auto found = std::ranges::find(of_keys_, owner);
  if (found != of_keys_.end()) return static_cast<uint64_t>(found - of_keys_.begin());
  if (!owner.starts_with(kOfRouter)) return std::nullopt;
  uint64_t key = 0;
  const auto read =
      std::from_chars(owner.data() + kOfRouter.size(), owner.data() + owner.size(), key, 16);
  return read.ec == std::errc() ? std::optional(key) : std::nullopt;
}

}  // namespace pando::serve
