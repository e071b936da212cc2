// How well an answer matches reference answers: the best of them counts.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pando {

// Lower case, without punctuation, without the articles a, an, the, single spaces.
std::string normalize_answer(std::string_view text);

// The rules of SQuAD: 1 where the normalised answer equals one of the references, else 0. No
// references: the answer should be empty.
double exact_match(std::string_view answer, std::span<const std::string> references);

// The best F1 over words of answer and reference; 1 for two empty ones.
double token_f1(std::string_view answer, std::span<const std::string> references);

// ROUGE-L (Lin 2004), F1: the longest common subsequence of lower-case words of letters and digits,
// without stemming. 1 for two empty ones.
double rouge_l(std::string_view answer, std::span<const std::string> references);

}  // namespace pando
