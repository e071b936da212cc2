// How well an answer matches reference answers: the rules of SQuAD.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pando {

// Lower case, without punctuation, without the articles a, an, the, single spaces.
std::string normalize_answer(std::string_view text);

// 1 where the normalised answer equals one of the references, else 0. No references: the answer
// should be empty.
double exact_match(std::string_view answer, std::span<const std::string> references);

// The best F1 over words of answer and reference; 1 for two empty ones.
double token_f1(std::string_view answer, std::span<const std::string> references);

}  // namespace pando
