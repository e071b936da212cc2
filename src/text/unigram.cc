#include "text/unigram.h"

#include <algorithm>

#include "text/bpe.h"
#include "text/byte_level.h"
#include "text/utf8.h"

namespace pando {

Unigram::Unigram(const Vocab& vocab, const std::vector<double>& scores, const Options& options)
    : options_(options), scores_(scores) {
  constexpr double kPenalty = 10;
  unknown_score_ =
      options_.unknown_score.value_or(*std::min_element(scores_.begin(), scores_.end()) - kPenalty);
  build_trie(vocab);
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = byte_token_text(static_cast<unsigned char>(byte));
    bytes_[byte] = options_.byte_fallback ? vocab.find(text).value_or(kNone) : kNone;
  }
}

// Builds level by level. The texts below a node are a range of all texts in order.
void Unigram::build_trie(const Vocab& vocab) {
  std::vector<Token> ids;
  for (Token id = 0; id < vocab.size(); ++id) {
    if (!vocab.text(id).empty()) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end(),
            [&](Token a, Token b) { return vocab.text(a) < vocab.text(b); });
  struct Range {
    size_t begin, end;  // in `ids`
    size_t depth;       // bytes that the texts have in common
  };
  std::vector<Range> ranges = {{0, ids.size(), 0}};  // by node
  nodes_.emplace_back();
  for (size_t i = 0; i < ranges.size(); ++i) {
    Range range = ranges[i];
    const bool ends_here =
        range.begin < range.end && vocab.text(ids[range.begin]).size() == range.depth;
    if (ends_here) nodes_[i].token = ids[range.begin++];
    nodes_[i].first_child = static_cast<int>(nodes_.size());
    while (range.begin < range.end) {
      const char byte = vocab.text(ids[range.begin])[range.depth];
      size_t end = range.begin + 1;
      while (end < range.end && vocab.text(ids[end])[range.depth] == byte) ++end;
      ranges.push_back({range.begin, end, range.depth + 1});
      nodes_.emplace_back();
      nodes_.back().byte = static_cast<unsigned char>(byte);
      ++nodes_[i].n_children;
      range.begin = end;
    }
  }
}

const Unigram::Node* Unigram::child(const Node& node, char byte) const {
  const Node* begin = nodes_.data() + node.first_child;
  const Node* end = begin + node.n_children;
  const auto wanted = static_cast<unsigned char>(byte);
  const Node* found = std::lower_bound(
      begin, end, wanted, [](const Node& other, unsigned char b) { return other.byte < b; });
  return found != end && found->byte == wanted ? found : nullptr;
}

Token Unigram::find(std::string_view piece) const {
  const Node* node = nodes_.data();
  for (size_t at = 0; node != nullptr && at < piece.size(); ++at) node = child(*node, piece[at]);
  return node == nullptr ? kNone : node->token;
}

// By place: [word.size() + 1]. Every place between characters is reached.
std::vector<Unigram::Step> Unigram::best_steps(std::string_view word) const {
  std::vector<Step> steps(word.size() + 1);
  for (size_t begin = 0; begin < word.size();) {
    const auto offer = [&](size_t length, double score, Token token) {
      Step& step = steps[begin + length];
      const double sum = score + steps[begin].score;
      if (step.length == 0 || sum > step.score) step = {sum, static_cast<int>(length), token};
    };
    const size_t character = utf8_length(word[begin]);
    bool has_character = false;
    const Node* node = nodes_.data();
    for (size_t end = begin; end < word.size();) {
      node = child(*node, word[end++]);
      if (node == nullptr) break;
      if (node->token == kNone) continue;
      offer(end - begin, scores_[node->token], node->token);
      has_character = has_character || end - begin == character;
    }
    if (!has_character) offer(character, unknown_score_, options_.unknown.value_or(kNone));
    begin += character;
  }
  return steps;
}

void Unigram::encode(std::string_view word, std::vector<Token>* tokens) const {
  if (!options_.byte_level) return encode_characters(word, tokens);
  std::string written;
  for (char byte : word) written += byte_level_character(static_cast<unsigned char>(byte));
  encode_characters(written, tokens);
}

void Unigram::encode_characters(std::string_view word, std::vector<Token>* tokens) const {
  const std::vector<Step> steps = best_steps(word);
  std::vector<const Step*> path;
  for (size_t end = word.size(); end > 0; end -= steps[end].length) path.push_back(&steps[end]);
  size_t at = 0;
  size_t unknown = 0;  // bytes of unknown characters before `at`
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    const size_t length = (*step)->length;
    const Token token = (*step)->token;
    if (token == options_.unknown.value_or(kNone)) {
      unknown += length;
    } else {
      append_unknown(word.substr(at - unknown, unknown), tokens);
      unknown = 0;
      tokens->push_back(token);
    }
    at += length;
  }
  append_unknown(word.substr(at - unknown, unknown), tokens);
}

// `text`: adjacent characters, each without a piece. As in the library `tokenizers`, they may be a
// piece together. They become bytes only if each of their bytes has a token.
void Unigram::append_unknown(std::string_view text, std::vector<Token>* tokens) const {
  if (text.empty()) return;
  const auto token = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
  if (const Token piece = find(text); piece != kNone) {
    tokens->push_back(piece);
  } else if (std::none_of(text.begin(), text.end(), [&](char c) { return token(c) == kNone; })) {
    for (char byte : text) tokens->push_back(token(byte));
  } else if (options_.unknown) {
    tokens->push_back(*options_.unknown);
  }
}

}  // namespace pando
