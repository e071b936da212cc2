#include "text/bpe.h"

#include <algorithm>

#include "text/byte_level.h"
#include "text/utf8.h"

namespace pando {
namespace {

// Bytes from F1 on begin only what is not assigned or private: StarCoder, for one, has no tokens
// for them, and such a byte is left out as the published tokenizers do.
bool must_have_token(int byte) { return byte < 0xC0 || (byte > 0xC1 && byte < 0xF1); }

}  // namespace

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

Result<Bpe> Bpe::build(const Vocab& vocab, const std::vector<Merge>& merges, const Options& options,
                       const std::string& file) {
  Bpe bpe(merges, options);
  if (Status found = bpe.find_symbols(vocab, file); !found.ok()) return found.error();
  bpe.find_boundaries(vocab, merges);
  bpe.find_words(vocab);
  return bpe;
}

Status Bpe::find_symbols(const Vocab& vocab, const std::string& file) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto code = static_cast<unsigned char>(byte);
    const std::string text =
        options_.byte_level ? byte_level_character(code) : byte_token_text(code);
    const bool wanted = options_.byte_level || options_.byte_fallback;
    bytes_[byte] = wanted ? vocab.find(text).value_or(-1) : -1;
    const bool lacking = bytes_[byte] < 0 && must_have_token(byte) && !options_.unknown;
    if (!lacking) continue;
    return bad_file("'{}': the vocabulary has no token '{}' for byte 0x{:02X} and no unknown token",
                    file, text, byte);
  }
  if (options_.byte_level) return {};
  for (Token id = 0; id < vocab.size(); ++id) {
    const std::string& text = vocab.text(id);
    if (text.empty()) continue;
    const Utf8Step step = next_utf8(text);
    const bool whole = step.kind == Utf8Kind::kCharacter;
    if (whole && step.length == static_cast<int>(text.size())) characters_[step.point] = id;
  }
  return {};
}

// Words begin with U+2581 in such vocabularies; where no merge crosses into one, each word can be
// merged alone, which is exact and lets words_ answer.
void Bpe::find_boundaries(const Vocab& vocab, const std::vector<Merge>& merges) {
  const auto crosses = [&](const Merge& merge) {
    return vocab.text(merge.right).starts_with(kSpaceMark) &&
           !vocab.text(merge.left).ends_with(kSpaceMark);
  };
  cut_at_spaces_ = !options_.byte_level && !options_.ignore_merges && vocab.find(kSpaceMark) &&
                   std::none_of(merges.begin(), merges.end(), crosses);
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
    if (!options_.ignore_merges) {
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

void Bpe::append_symbols(std::string_view piece, std::vector<Token>* tokens) const {
  bool after_unknown = false;
  for (size_t at = 0; at < piece.size();) {
    const size_t length = options_.byte_level ? 1 : next_utf8(piece.substr(at)).length;
    const bool known = append_symbol(piece.substr(at, length), tokens);
    const bool fused = after_unknown && options_.fuse_unknown;
    if (!known && !fused && options_.unknown) tokens->push_back(*options_.unknown);
    after_unknown = !known;
    at += length;
  }
}

// False, and nothing appended, for what has neither a token nor bytes.
bool Bpe::append_symbol(std::string_view character, std::vector<Token>* tokens) const {
  if (!options_.byte_level) {
    const auto found = characters_.find(next_utf8(character).point);
    if (found != characters_.end()) {
      tokens->push_back(found->second);
      return true;
    }
  }
  const auto token = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
  for (char byte : character) {
    if (token(byte) < 0) return false;
  }
  for (char byte : character) tokens->push_back(token(byte));
  return true;
}

}  // namespace pando
