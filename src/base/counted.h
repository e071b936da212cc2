// Numbers with their nouns, for messages.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace pando {

// "1 answer", "2 answers"; "1 entry", "2 entries". The last of several words is the noun.
inline std::string counted(uint64_t n, std::string_view plural) {
  if (n != 1) return fmt::format("{} {}", n, plural);
  if (plural.ends_with("ies")) return fmt::format("1 {}y", plural.substr(0, plural.size() - 3));
  const size_t n_ending = plural.ends_with("sses") ? 2 : 1;
  return fmt::format("1 {}", plural.substr(0, plural.size() - n_ending));
}

}  // namespace pando
