// Encodes a message as its difference from the message before it.
//
// The delta consists of 32-bit words: the number of words of the message, then runs. A run is its
// kind and length, then an index into the message before (copied words) or the new words.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "pando/values/result.h"

namespace pando {

// Both messages consist of whole words. Throws std::bad_alloc.
std::vector<std::byte> delta_of(std::span<const std::byte> before, std::span<const std::byte> now);

// Restores the message from its delta. kInvalidArgument for bytes that delta_of did not write.
Result<std::vector<std::byte>> apply_delta(std::span<const std::byte> before,
                                           std::span<const std::byte> delta);

}  // namespace pando
