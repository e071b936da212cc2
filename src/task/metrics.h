// Scores an answer against reference answers: the best match counts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pando {

// Lower case, without punctuation, without the articles a, an, the, single spaces.
std::string normalize_answer(std::string_view text);

// For choices: 1 if the text is one of the references, but for white space around it, else 0.
double accuracy(std::string_view answer, std::span<const std::string> references);

// The rules of SQuAD: 1 if the normalised answer equals one of the references, else 0. No
// references, or an empty one: the answer should be empty. If SQuAD's rules would leave nothing of
// a reference, such as "the" or "?", both sides keep their articles and, if that is not enough,
// their punctuation. The same for a reference that is a single letter: "a" is a letter then, not an
// article.
double exact_match(std::string_view answer, std::span<const std::string> references);

// The best F1 over words of answer and reference, by the same rules; 1 for two empty texts.
double token_f1(std::string_view answer, std::span<const std::string> references);

// ROUGE-L (Lin 2004), F1: the longest common subsequence of lower-case words of letters and digits,
// without stemming. If the reference has no letter or digit, words are compared as they are. 1 for
// two empty texts.
double rouge_l(std::string_view answer, std::span<const std::string> references);

// The last decimal number of a text: 1234.5 for "about $1,234.50.", 100000 for "1e5". Commas may
// divide digits into thousands. A minus counts unless a letter, a digit or a point stands before
// it.
std::optional<double> last_number(std::string_view text);

// 1 if the last number of the answer equals that of one of the references, else 0; nothing where no
// reference has a number.
std::optional<double> number_match(std::string_view answer,
                                   std::span<const std::string> references);

}  // namespace pando
