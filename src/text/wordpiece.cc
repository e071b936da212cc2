#include "text/wordpiece.h"

#include <algorithm>

#include "text/utf8.h"

namespace pando {

WordPiece::WordPiece(const Vocab& vocab, const Options& options) : options_(options) {
  inside_.resize(static_cast<size_t>(vocab.size()));
  for (Token id = 0; id < vocab.size(); ++id) {
    const std::string& text = vocab.text(id);
    longest_ = std::max(longest_, text.size());
    const bool begins = text.starts_with(options_.first);
    const bool goes_on = text.starts_with(options_.later) && (!begins || options_.first.empty());
    if (begins && text.size() > options_.first.size())
      first_.emplace(text.substr(options_.first.size()), id);
    if (!goes_on || text.size() == options_.later.size()) continue;
    later_.emplace(text.substr(options_.later.size()), id);
    inside_[static_cast<size_t>(id)] = true;
  }
}

void WordPiece::encode(std::string_view word, std::vector<Token>* tokens) const {
  const size_t begin = tokens->size();
  const auto n = static_cast<size_t>(std::count_if(word.begin(), word.end(), begins_character));
  const bool fits = n <= options_.most_characters;
  for (size_t at = 0; fits && at < word.size();) {
    const TokenOfText& table = at == 0 ? first_ : later_;
    size_t length = std::min(word.size() - at, longest_);
    auto found = table.end();
    for (; length > 0 && found == table.end(); --length) {
      const bool whole = at + length == word.size() || begins_character(word[at + length]);
      if (whole) found = table.find(word.substr(at, length));
    }
    if (found == table.end()) break;
    tokens->push_back(found->second);
    at += length + 1;
    if (at == word.size()) return;
  }
  tokens->resize(begin);
  if (!word.empty()) tokens->push_back(options_.unknown);
}

}  // namespace pando
