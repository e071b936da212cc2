// The byte-level alphabet of GPT-2: each of the 256 bytes is written as one printable character.
// Printable Latin-1 bytes stand for themselves, the others for U+0100 and up in their order.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pando {

// The character, in UTF-8, that stands for a byte.
const std::string& byte_level_character(unsigned char byte);

// The bytes that a byte-level text stands for; nothing if a character stands for no byte.
std::optional<std::string> from_byte_level(std::string_view text);

}  // namespace pando
