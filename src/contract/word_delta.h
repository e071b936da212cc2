// A message in words, as its difference from the one before it.
//
// Words of 32 bits: the number of words of the message, then runs. A run is its kind and length,
// then the index in the message before (copied words), or the words themselves (new words).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "pando/values/result.h"

namespace pando {

// Both messages are whole words. Throws std::bad_alloc.
std::vector<std::byte> delta_of(std::span<const std::byte> before, std::span<const std::byte> now);

// The message whose delta this is. kInvalidArgument for bytes that delta_of did not write.
Result<std::vector<std::byte>> apply_delta(std::span<const std::byte> before,
                                           std::span<const std::byte> delta);

}  // namespace pando
