// Base64, as tokenizer files write bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pando {

// The bytes that `text` stands for; nothing if it is empty or not base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace pando
