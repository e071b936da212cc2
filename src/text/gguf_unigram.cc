#include "text/gguf_unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/errors.h"
#include "text/bpe.h"
#include "text/gguf_special.h"
#include "text/unigram.h"

namespace pando {
namespace {

constexpr std::string_view kMapKey = "tokenizer.ggml.precompiled_charsmap";

// Null if the file has no character map.
Result<std::shared_ptr<const CharacterMap>> read_map(const GgufFile& file) {
  const auto values = file.integers(kMapKey);
  if (!values.ok()) return values.error();
  if (!*values || (*values)->empty()) return std::shared_ptr<const CharacterMap>();
  std::string bytes;
  for (const int64_t value : **values) {
    if (value < -128 || value > 255) return file.wrong(kMapKey, "an array of bytes");
    bytes += static_cast<char>(value);
  }
  if (!is_character_map(bytes)) return file.wrong(kMapKey, "a character map of SentencePiece");
  return std::make_shared<const CharacterMap>(std::move(bytes));
}

struct Spaces {
  bool first = false;    // one is put before a text
  bool removes = false;  // of several, one stays, and none at the ends
};

Result<Normalizer> normalizer_of_unigram(const GgufFile& file, const Spaces& spaces) {
  Result<std::shared_ptr<const CharacterMap>> map = read_map(file);
  if (!map.ok()) return map.error();
  std::vector<NormalStep> steps;
  if (*map != nullptr) {
    steps.emplace_back(normal::MapCharacters{std::move(*map), /*longest=*/true});
  }
  if (spaces.removes) steps.emplace_back(normal::FewerSpaces{""});
  if (spaces.first || spaces.removes) steps.emplace_back(normal::Prepend{" "});
  steps.emplace_back(normal::Replace{" ", std::string(kSpaceMark)});
  return Normalizer(std::move(steps));
}

bool is_cut_out(const Piece& piece) {
  const bool used = piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined ||
                    piece.type == PieceType::kUnused;
  return used && !piece.text.empty();
}

// As in llama.cpp, scores are floats and their sums doubles.
Result<std::unique_ptr<const WordModel>> make_unigram(const std::vector<Piece>& pieces,
                                                      std::optional<Token> unknown,
                                                      const std::string& file) {
  constexpr float kPenalty = 10;
  Vocab vocab;
  std::vector<double> scores(pieces.size());
  float lowest = std::numeric_limits<float>::max();
  for (size_t id = 0; id < pieces.size(); ++id) {
    const Piece& piece = pieces[id];
    if (!is_cut_out(piece)) continue;
    if (piece.text.size() > Unigram::kLongestPiece) {
      return in_file(file, unsupported("token {} has {} bytes, supported: up to {}", id,
                                       piece.text.size(), Unigram::kLongestPiece));
    }
    if (!std::isfinite(piece.score)) {
      return in_file(file, bad_file("token {} has score {}, expected a number", id, piece.score));
    }
    if (!vocab.add(std::string(piece.text), static_cast<Token>(id))) {
      return in_file(file, bad_file("token {} is '{}', expected each token once", id, piece.text));
    }
    if (piece.type == PieceType::kNormal) lowest = std::min(lowest, piece.score);
    scores[id] = piece.type == PieceType::kUserDefined ? 0 : piece.score;
  }
  Unigram::Options options;
  options.unknown = unknown;
  options.unknown_score = lowest - kPenalty;
  return std::unique_ptr<const WordModel>(std::make_unique<Unigram>(vocab, scores, options));
}

std::string shown_text(const Piece& piece) {
  const std::string text(piece.text);
  const auto byte = piece.type == PieceType::kByte ? byte_of_token_text(text) : std::nullopt;
  if (byte) return std::string(1, *byte);
  return is_cut_out(piece) ? replace_all(text, kSpaceMark, " ") : text;
}

}  // namespace

Result<TokenizerParts> read_gguf_unigram(const GgufFile& file, const std::vector<Piece>& pieces,
                                         std::optional<Token> unknown) {
  const Result<bool> first = gguf_flag(file, "add_space_prefix", false);
  if (!first.ok()) return first.error();
  const Result<bool> removes = gguf_flag(file, "remove_extra_whitespaces", false);
  if (!removes.ok()) return removes.error();
  const auto named = gguf_token(file, "unknown_token_id", pieces.size(), unknown);
  if (!named.ok()) return named.error();
  Result<Normalizer> normalizer = normalizer_of_unigram(file, {*first, *removes});
  if (!normalizer.ok()) return normalizer.error();
  auto model = make_unigram(pieces, *named, file.file().path().string());
  if (!model.ok()) return model.error();
  TokenizerParts parts;
  parts.model = std::move(*model);
  parts.normalizer = std::move(*normalizer);
  parts.strips_leading_space = *first || *removes;
  for (const Piece& piece : pieces) parts.token_bytes.push_back(shown_text(piece));
  return parts;
}

}  // namespace pando
