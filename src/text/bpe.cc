#include "text/bpe.h"

#include <algorithm>

#include "text/byte_level.h"
#include "text/utf8.h"

namespace pando {

std::string byte_token_text(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

std::optional<char> byte_of_token_text(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
  int byte = 0;
  for (char digit : text.substr(3, 2)) {
    const size_t value = std::string_view("0123456789ABCDEF").find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    byte = byte * 16 + static_cast<int>(value);
  }
  return static_cast<char>(byte);
}

Bpe::Bpe(const Vocab& vocab, const std::vector<Merge>& merges, const Options& options)
    : merges_(merges), options_(options) {
  find_symbols(vocab);
  find_boundaries(vocab, merges);
  find_joined(vocab, merges);
  find_words(vocab);
}

void Bpe::find_symbols(const Vocab& vocab) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto code = static_cast<unsigned char>(byte);
    const std::string text =
        options_.byte_level ? byte_level_character(code) : byte_token_text(code);
    const bool wanted = options_.byte_level || options_.byte_fallback;
    bytes_[byte] = wanted ? vocab.find(text).value_or(-1) : -1;
  }
  if (options_.byte_level) return;
  for (Token id = 0; id < vocab.size(); ++id) {
    const std::string& text = vocab.text(id);
    if (text.empty()) continue;
    const Utf8Step step = next_utf8(text);
    const bool whole = step.kind == Utf8Kind::kCharacter;
    if (whole && step.length == static_cast<int>(text.size())) characters_[step.point] = id;
  }
}

// If words begin with U+2581 and no merge crosses into a word, each word can be merged alone, with
// the same result, and found in words_. Not if unknown characters are dropped: the marks around one
// could then merge.
void Bpe::find_boundaries(const Vocab& vocab, const std::vector<Merge>& merges) {
  const auto crosses = [&](const Merge& merge) {
    return vocab.text(merge.right).starts_with(kSpaceMark) &&
           !vocab.text(merge.left).ends_with(kSpaceMark);
  };
  const bool has_bytes =
      std::all_of(bytes_.begin(), bytes_.end(), [](Token id) { return id >= 0; });
  const bool drops = !options_.unknown && !has_bytes;
  cut_at_spaces_ = !drops && !options_.byte_level && !options_.ignore_merges &&
                   vocab.find(kSpaceMark) && std::none_of(merges.begin(), merges.end(), crosses);
}

// A character without a token is dropped or becomes others, and a word that is a token need not
// come of merges: then nothing is known.
void Bpe::find_joined(const Vocab& vocab, const std::vector<Merge>& merges) {
  const std::string written =
      options_.byte_level ? byte_level_character(' ') : std::string(kSpaceMark);
  const bool has_space = token_of(space()) >= 0;
  for (size_t c = 0; c < joined_.size(); ++c) {
    const char character = static_cast<char>(c);
    joined_[c] = !has_space || options_.ignore_merges || token_of({&character, 1}) < 0;
  }
  for (const Merge& merge : merges) {
    const std::string& left = vocab.text(merge.left);
    const size_t last = left.empty() ? 0 : static_cast<unsigned char>(left.back());
    if (last < joined_.size() && vocab.text(merge.right).starts_with(written)) joined_.set(last);
  }
}

void Bpe::find_words(const Vocab& vocab) {
  std::vector<Token> tokens;
  for (Token id = 0; id < vocab.size(); ++id) {
    if (vocab.text(id).empty()) continue;
    std::string text = vocab.text(id);
    if (options_.byte_level) {
      auto bytes = from_byte_level(text);
      if (!bytes) continue;  // an added token: no text becomes it by merging
      text = std::move(*bytes);
    }
    const bool joined = options_.joins_line_ends && text.find_first_not_of('\n') == text.npos;
    if (!options_.ignore_merges && !joined) {
      tokens.clear();
      append_symbols(text, &tokens);
      merge_word(merges_, 0, &tokens);
      if (tokens.size() != 1 || tokens[0] != id) continue;
    }
    longest_word_ = std::max(longest_word_, text.size());
    words_.emplace(std::move(text), id);
  }
}

void Bpe::encode(std::string_view word, std::vector<Token>* tokens) const {
  size_t begin = 0;
  while (cut_at_spaces_) {
    size_t cut = word.find(kSpaceMark, begin + 1);
    while (cut != word.npos && word.substr(0, cut).ends_with(kSpaceMark)) {
      cut = word.find(kSpaceMark, cut + 1);
    }
    if (cut == word.npos) break;
    encode_piece(word.substr(begin, cut - begin), tokens);
    begin = cut;
  }
  encode_piece(word.substr(begin), tokens);
}

void Bpe::encode_piece(std::string_view piece, std::vector<Token>* tokens) const {
  if (piece.size() <= longest_word_) {
    if (const auto word = words_.find(piece); word != words_.end()) {
      tokens->push_back(word->second);
      return;
    }
  }
  const size_t begin = tokens->size();
  append_symbols(piece, tokens);
  merge_word(merges_, begin, tokens);
}

// An unknown token waits for the next symbol that has a token of its own: bytes go before it, as in
// the library `tokenizers`.
void Bpe::append_symbols(std::string_view piece, std::vector<Token>* tokens) const {
  bool unknown_waits = false;
  for (size_t at = 0; at < piece.size();) {
    const size_t length = options_.byte_level ? 1 : next_utf8(piece.substr(at)).length;
    const std::string_view symbol = piece.substr(at, length);
    at += length;
    if (const Token token = token_of(symbol); token >= 0) {
      if (unknown_waits) tokens->push_back(*options_.unknown);
      unknown_waits = false;
      tokens->push_back(token);
    } else if (!append_bytes(symbol, tokens) && options_.unknown) {
      if (unknown_waits && !options_.fuse_unknown) tokens->push_back(*options_.unknown);
      unknown_waits = true;
    }
  }
  if (unknown_waits) tokens->push_back(*options_.unknown);
}

// Token of a single byte or character; -1 if there is none.
Token Bpe::token_of(std::string_view symbol) const {
  if (options_.byte_level) return bytes_[static_cast<unsigned char>(symbol.front())];
  const auto found = characters_.find(next_utf8(symbol).point);
  return found == characters_.end() ? -1 : found->second;
}

// False, and nothing appended, where a byte has no token.
bool Bpe::append_bytes(std::string_view character, std::vector<Token>* tokens) const {
  if (!options_.byte_fallback) return false;
  const auto token = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
  for (char byte : character) {
    if (token(byte) < 0) return false;
  }
  for (char byte : character) tokens->push_back(token(byte));
  return true;
}

}  // namespace pando
