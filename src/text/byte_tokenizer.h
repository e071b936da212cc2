// The tokenizer of generated models: every byte is a token.
#pragma once

#include <filesystem>

#include "pando/values/result.h"

namespace pando {

constexpr int kByteTokenizerVocab = 257;  // the bytes, and <|endoftext|> as the last

// Writes tokenizer.json and tokenizer_config.json: byte b is token b, 256 ends a sequence.
Status write_byte_tokenizer(const std::filesystem::path& directory);

}  // namespace pando
