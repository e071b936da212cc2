// Byte-pair encoding by ranks: tokens are bytes, and of two side by side those are merged whose
// joined bytes are the token with the lowest rank. The models of tiktoken and Tekken files.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocab.h"
#include "text/word_model.h"

namespace pando {

// Bytes in the byte-level alphabet.
std::string byte_level_text(std::string_view bytes);

// `tokens`: bytes, by rank, none empty and none with more than kLongestMerged. The token of rank r
// has the id `first` + r. Errors: kBadFile if a token appears twice, else those of
// merges_of_results(); `file` is for messages.
Result<std::unique_ptr<const WordModel>> make_ranked_model(const std::vector<std::string>& tokens,
                                                           Token first, const std::string& file);

}  // namespace pando
