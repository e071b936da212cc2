#include "task/metrics.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

namespace pando {
namespace {

// Parts of a text that are compared, all in lower case.
enum class Kept {
  kWords,     // without punctuation and articles: SQuAD's rules
  kArticles,  // without punctuation
  kAll,
};

bool is_article(std::string_view word) { return word == "a" || word == "an" || word == "the"; }

std::vector<std::string> words_of(std::string_view text, Kept kept) {
  std::vector<std::string> words;
  std::string word;
  const auto flush = [&] {
    if (!word.empty() && (kept != Kept::kWords || !is_article(word))) words.push_back(word);
    word.clear();
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isspace(byte)) {
      flush();
    } else if (kept == Kept::kAll || !std::ispunct(byte)) {
      word.push_back(static_cast<char>(std::tolower(byte)));
    }
  }
  flush();
  return words;
}

bool is_letter(const std::vector<std::string>& words) {
  return words.size() == 1 && words[0].size() == 1 &&
         std::isalpha(static_cast<unsigned char>(words[0][0]));
}

// The smallest part that leaves something of the reference.
Kept kept_for(std::string_view reference) {
  const std::vector<std::string> with_articles = words_of(reference, Kept::kArticles);
  if (is_letter(with_articles)) return Kept::kArticles;
  if (!words_of(reference, Kept::kWords).empty()) return Kept::kWords;
  if (!with_articles.empty()) return Kept::kArticles;
  return words_of(reference, Kept::kAll).empty() ? Kept::kWords : Kept::kAll;
}

double f1(const std::vector<std::string>& answer, const std::vector<std::string>& reference) {
  if (answer.empty() || reference.empty()) return answer.empty() && reference.empty() ? 1 : 0;
  std::unordered_map<std::string, int> counts;
  for (const std::string& word : reference) ++counts[word];
  int n_common = 0;
  for (const std::string& word : answer)
    if (counts[word]-- > 0) ++n_common;
  return 2.0 * n_common / static_cast<double>(answer.size() + reference.size());
}

// Letters and digits; bytes of other characters than ASCII count as letters.
std::vector<std::string> alphanumeric_words(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_word = byte >= 0x80 || std::isalnum(byte);
    if (is_word && !inside) words.emplace_back();
    if (is_word) words.back().push_back(static_cast<char>(std::tolower(byte)));
    inside = is_word;
  }
  return words;
}

size_t longest_common_subsequence(const std::vector<std::string>& a,
                                  const std::vector<std::string>& b) {
  std::vector<size_t> row(b.size() + 1);  // of the prefixes of b, for the prefix of a so far
  for (const std::string& word : a) {
    size_t diagonal = 0;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = word == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits from `at` on, without the commas that divide them into thousands.
std::string take_digits(std::string_view text, size_t& at, bool takes_commas) {
  std::string digits;
  const auto divides = [&] {
    const std::string_view rest = text.substr(at);
    return takes_commas && rest.size() > 3 && rest[0] == ',' && is_digit(rest[1]) &&
           is_digit(rest[2]) && is_digit(rest[3]) && (rest.size() == 4 || !is_digit(rest[4]));
  };
  for (; at < text.size() && (is_digit(text[at]) || (!digits.empty() && divides())); ++at)
    if (text[at] != ',') digits.push_back(text[at]);
  return digits;
}

// "e-3" from `at` on; nothing if there is no exponent.
std::string_view take_exponent(std::string_view text, size_t& at) {
  size_t end = at;
  if (end == text.size() || (text[end] != 'e' && text[end] != 'E')) return {};
  if (++end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
  if (end == text.size() || !is_digit(text[end])) return {};
  while (end < text.size() && is_digit(text[end])) ++end;
  const std::string_view exponent = text.substr(at, end - at);
  at = end;
  return exponent;
}

// True if the number that begins at `at` stands behind a minus of its own.
bool is_negative(std::string_view text, size_t at) {
  constexpr std::string_view kMinus = "\xe2\x88\x92";  // U+2212
  std::string_view before = text.substr(0, at);
  if (before.ends_with('$')) before.remove_suffix(1);
  if (before.ends_with('-'))
    before.remove_suffix(1);
  else if (before.ends_with(kMinus))
    before.remove_suffix(kMinus.size());
  else
    return false;
  if (before.empty()) return true;
  const auto last = static_cast<unsigned char>(before.back());
  return last < 0x80 && !std::isalnum(last) && last != '.';
}

template <class Score>
double best(std::span<const std::string> references, const Score& score) {
  if (references.empty()) return score("");
  double most = 0;
  for (const std::string& reference : references) most = std::max(most, score(reference));
  return most;
}

}  // namespace

std::string normalize_answer(std::string_view text) {
  std::string joined;
  for (const std::string& word : words_of(text, Kept::kWords))
    joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

double accuracy(std::string_view answer, std::span<const std::string> references) {
  return std::any_of(references.begin(), references.end(), [&](const std::string& reference) {
    return trimmed(answer) == trimmed(reference);
  });
}

double exact_match(std::string_view answer, std::span<const std::string> references) {
  return best(references, [&](const std::string& reference) {
    const Kept kept = kept_for(reference);
    return words_of(answer, kept) == words_of(reference, kept) ? 1.0 : 0.0;
  });
}

double token_f1(std::string_view answer, std::span<const std::string> references) {
  return best(references, [&](const std::string& reference) {
    const Kept kept = kept_for(reference);
    return f1(words_of(answer, kept), words_of(reference, kept));
  });
}

double rouge_l(std::string_view answer, std::span<const std::string> references) {
  return best(references, [&](const std::string& reference) {
    std::vector<std::string> words = alphanumeric_words(answer),
                             expected = alphanumeric_words(reference);
    if (expected.empty() && !trimmed(reference).empty()) {
      words = words_of(answer, Kept::kAll);
      expected = words_of(reference, Kept::kAll);
    }
    const size_t n = words.size() + expected.size();
    if (n == 0) return 1.0;
    return 2.0 * static_cast<double>(longest_common_subsequence(words, expected)) /
           static_cast<double>(n);
  });
}

std::optional<double> last_number(std::string_view text) {
  std::optional<double> last;
  for (size_t at = 0; at < text.size();) {
    const bool begins =
        is_digit(text[at]) || (text[at] == '.' && at + 1 < text.size() && is_digit(text[at + 1]));
    if (!begins) {
      ++at;
      continue;
    }
    std::string digits = is_negative(text, at) ? "-" : "";
    digits += take_digits(text, at, /*takes_commas=*/true);
    if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
      digits += digits.empty() || digits == "-" ? "0." : ".";
      digits += take_digits(text, ++at, /*takes_commas=*/false);
    }
    digits += take_exponent(text, at);
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range) value = std::strtod(digits.c_str(), nullptr);
    last = value;
  }
  return last;
}

std::optional<double> number_match(std::string_view answer,
                                   std::span<const std::string> references) {
  const std::optional<double> found = last_number(answer);
  std::optional<double> score;
  for (const std::string& reference : references)
    if (const std::optional<double> expected = last_number(reference))
      score = std::max(score.value_or(0), found == expected ? 1.0 : 0.0);
  return score;
}

}  // namespace pando
