// Scores an answer against reference answers: the best match counts.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pando {

// Lower case, without punctuation, without the articles a, an, the, single spaces.
std::string normalize_answer(std::string_view text);

// 1 where the text is one of the references, but for white space around it, else 0: of choices.
double accuracy(std::string_view answer, std::span<const std::string> references);

// The rules of SQuAD: 1 where the normalised answer equals one of the references, else 0. No
// references, or an empty one: the answer should be empty. Where SQuAD's rules would leave nothing
// of a reference, as of "the" or "?", both sides keep their articles, and if that is not enough
// their punctuation. The same for a reference that is a single letter: "a" is one, not an article.
double exact_match(std::string_view answer, std::span<const std::string> references);

// The best F1 over words of answer and reference, by the same rules; 1 for two empty ones.
double token_f1(std::string_view answer, std::span<const std::string> references);

// ROUGE-L (Lin 2004), F1: the longest common subsequence of lower-case words of letters and digits,
// without stemming; of words as they stand where the reference has no letter or digit. 1 for two
// empty ones.
double rouge_l(std::string_view answer, std::span<const std::string> references);

}  // namespace pando
