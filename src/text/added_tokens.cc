#include "text/added_tokens.h"

#include <algorithm>

#include "text/characters.h"
#include "text/utf8.h"

namespace pando {
namespace {

unsigned char first_byte(std::string_view text) { return static_cast<unsigned char>(text.front()); }

char32_t first_point(std::string_view text) { return next_utf8(text).point; }

bool touches_word(std::string_view before, std::string_view after) {
  return (!before.empty() && is_word(first_point(last_character(before)))) ||
         (!after.empty() && is_word(first_point(after)));
}

size_t spaces_before(std::string_view text) {
  size_t n = 0;
  while (n < text.size()) {
    const std::string_view last = last_character(text.substr(0, text.size() - n));
    if (!is_space(first_point(last))) break;
    n += last.size();
  }
  return n;
}

size_t spaces_after(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && is_space(first_point(text.substr(n)))) n += utf8_length(text[n]);
  return n;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), ends_(1, -1) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& content = tokens_[i].content;
    begins_.set(first_byte(content));
    int node = 0;
    for (char c : content) {
      const uint64_t edge = static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(c);
      const auto [found, added] = nodes_.emplace(edge, static_cast<int>(ends_.size()));
      if (added) ends_.push_back(-1);
      node = found->second;
    }
    int& end = ends_[node];
    const bool first = end < 0 || (tokens_[i].special && !tokens_[end].special);
    if (first) end = static_cast<int>(i);
  }
}

const AddedToken* AddedTokens::match(std::string_view text) const {
  int node = 0;
  int longest = -1;
  for (char c : text) {
    const auto next = nodes_.find(static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(c));
    if (next == nodes_.end()) break;
    node = next->second;
    if (ends_[node] >= 0) longest = ends_[node];
  }
  return longest < 0 ? nullptr : &tokens_[longest];
}

void AddedTokens::split(std::string_view text, FunctionRef<void(const Part&)> part) const {
  size_t done = 0;
  const auto flush = [&](size_t end) {
    if (done < end) part({text.substr(done, end - done), nullptr});
    done = end;
  };
  for (size_t at = 0; at < text.size();) {
    const bool possible = begins_[first_byte(text.substr(at))];
    const AddedToken* token = possible ? match(text.substr(at)) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + token->content.size();
    at = end;  // as in `tokenizers`, a token in spaces that this one takes is found too
    if (token->single_word && touches_word(text.substr(0, begin), text.substr(end))) continue;
    if (token->lstrip && begin > done) begin -= spaces_before(text.substr(done, begin - done));
    if (token->lstrip) begin = std::max(begin, done);
    if (token->rstrip) end += spaces_after(text.substr(end));
    if (begin >= end) continue;
    flush(begin);
    part({text.substr(begin, end - begin), token});
    done = end;
  }
  flush(text.size());
}

}  // namespace pando
