#include "text/score_merges.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "text/bpe.h"
#include "text/utf8.h"

namespace pando {
namespace {

// Pieces that merging gives. Equal scores have equal ranks: then the leftmost pair goes first.
Result<std::vector<RankedText>> rank_pieces(const std::vector<Piece>& pieces,
                                            const std::string& file) {
  std::vector<RankedText> ranked;
  for (size_t id = 0; id < pieces.size(); ++id) {
    const Piece& piece = pieces[id];
    if (piece.type != PieceType::kNormal) continue;
    if (piece.text.size() > kLongestMerged) {
      return unsupported("'{}': piece {} has {} bytes, expected at most {}", file, id,
                         piece.text.size(), kLongestMerged);
    }
    if (!std::isfinite(piece.score)) {
      return bad_file("'{}': piece {} has score {}, expected a number", file, id, piece.score);
    }
    ranked.push_back({piece.text, static_cast<Token>(id), 0});
  }
  const auto score = [&](const RankedText& text) { return pieces[text.id].score; };
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const RankedText& a, const RankedText& b) { return score(a) > score(b); });
  for (size_t i = 1; i < ranked.size(); ++i) {
    const bool equal = score(ranked[i]) == score(ranked[i - 1]);
    ranked[i].rank = ranked[i - 1].rank + (equal ? 0 : 1);
  }
  return ranked;
}

// Merging begins with characters, so a piece whose characters are no pieces could never be built.
Status check_characters(const std::vector<RankedText>& pieces, const std::string& file) {
  std::unordered_set<std::string_view> texts;
  for (const RankedText& piece : pieces) texts.insert(piece.text);
  for (const RankedText& piece : pieces) {
    for (size_t at = 0; at < piece.text.size();) {
      const Utf8Step step = next_utf8(piece.text.substr(at));
      const std::string_view character = piece.text.substr(at, step.length);
      if (!texts.contains(character)) {
        return unsupported("'{}': piece {} is '{}', expected its character '{}' to be a piece too",
                           file, piece.id, piece.text, character);
      }
      at += step.length;
    }
  }
  return {};
}

Result<Vocab> vocab_of(const std::vector<Piece>& pieces, const std::string& file) {
  Vocab vocab;
  for (size_t id = 0; id < pieces.size(); ++id) {
    const Piece& piece = pieces[id];
    if (find_invalid_utf8(piece.text)) {
      return bad_file("'{}': piece {} is not UTF-8", file, id);
    }
    const bool takes_part = piece.type == PieceType::kNormal || piece.type == PieceType::kByte;
    if (takes_part && !piece.text.empty() &&
        !vocab.add(std::string(piece.text), static_cast<Token>(id))) {
      return bad_file("'{}': piece {} is '{}', expected each piece once", file, id, piece.text);
    }
  }
  return vocab;
}

Normalizer normalizer_of(const ScoredVocab& vocab) {
  std::vector<NormalStep> steps;
  const std::string mark(kSpaceMark);
  if (vocab.removes_spaces) steps.emplace_back(normal::FewerSpaces{mark});
  if (vocab.puts_space_first) steps.emplace_back(normal::Prepend{mark});
  steps.emplace_back(normal::Replace{" ", mark});
  return Normalizer(std::move(steps));
}

void add_piece(const ScoredVocab& vocab, Token id, TokenizerParts* parts) {
  const Piece& piece = vocab.pieces[id];
  const std::string text(piece.text);
  const auto byte = piece.type == PieceType::kByte ? byte_of_token_text(text) : std::nullopt;
  parts->token_bytes.push_back(byte ? std::string(1, *byte) : replace_all(text, kSpaceMark, " "));
  if (piece.type == PieceType::kControl || piece.type == PieceType::kUnknown) {
    parts->hidden.push_back(id);
  }
  if (piece.type != PieceType::kUserDefined || text.empty()) return;
  AddedToken token;
  token.id = id;
  token.content = replace_all(text, " ", kSpaceMark);
  token.normalized = true;
  token.is_normal_form = true;
  parts->added.push_back(std::move(token));
}

}  // namespace

Result<TokenizerParts> make_score_parts(const ScoredVocab& vocab, const std::string& file) {
  const auto ranked = rank_pieces(vocab.pieces, file);
  if (!ranked.ok()) return ranked.error();
  if (Status status = check_characters(*ranked, file); !status.ok()) return status.error();
  const Result<Vocab> merged = vocab_of(vocab.pieces, file);
  if (!merged.ok()) return merged.error();
  Bpe::Options options;
  options.byte_fallback = vocab.byte_fallback;
  options.fuse_unknown = true;
  const auto unknown =
      std::find_if(vocab.pieces.begin(), vocab.pieces.end(),
                   [](const Piece& piece) { return piece.type == PieceType::kUnknown; });
  options.unknown = vocab.unknown;
  if (!options.unknown && unknown != vocab.pieces.end()) {
    options.unknown = static_cast<Token>(unknown - vocab.pieces.begin());
  }
  const Result<std::vector<Merge>> merges = merges_of_results(*ranked, file);
  if (!merges.ok()) return merges.error();
  TokenizerParts parts;
  parts.model = std::make_unique<Bpe>(*merged, *merges, options);
  parts.normalizer = normalizer_of(vocab);
  parts.strips_leading_space = vocab.puts_space_first;
  for (size_t id = 0; id < vocab.pieces.size(); ++id) {
    add_piece(vocab, static_cast<Token>(id), &parts);
  }
  return parts;
}

}  // namespace pando
