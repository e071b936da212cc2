#include "text/spm.h"

#include <algorithm>
#include <unordered_set>

#include "base/errors.h"
#include "text/bpe.h"
#include "text/score_merges.h"
#include "text/utf8.h"

namespace pando {
namespace {

std::optional<Token> token_or_none(int id) {
  return id < 0 ? std::nullopt : std::optional<Token>(id);
}

bool is_exact_here(const SpmModel& model) {
  const auto odd = [](const Piece& piece) {
    // A piece that is not used is taken apart again, and a space in a piece is none of the text.
    return piece.type == PieceType::kUnused || piece.text.find(' ') != piece.text.npos;
  };
  return model.is_bpe && model.character_map.empty() && !model.marks_after && model.marks_spaces &&
         std::none_of(model.pieces.begin(), model.pieces.end(), odd);
}

// Nothing if the library must tokenise.
std::optional<TokenizerParts> make_parts(const SpmModel& model, const std::string& file) {
  if (!is_exact_here(model)) return std::nullopt;
  Result<TokenizerParts> parts = make_score_parts({.pieces = model.pieces,
                                                   .byte_fallback = model.byte_fallback,
                                                   .puts_space_first = model.puts_space_first,
                                                   .removes_spaces = model.removes_spaces},
                                                  file);
  if (!parts.ok()) return std::nullopt;
  return std::move(*parts);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> SpmTokenizer::load(const std::string& model,
                                                      const std::string& file,
                                                      const TokenizerConfig& config) {
  const Result<SpmModel> read = read_spm_model(model, file);  // before the library, which trusts it
  if (!read.ok()) return read.error();
  std::unique_ptr<SpmTokenizer> tokenizer(new SpmTokenizer);
  try {
    const auto loaded = tokenizer->processor_.LoadFromSerializedProto(model);
    if (!loaded.ok()) {
      return bad_file("'{}' is not a SentencePiece model: {}", file, loaded.message());
    }
  } catch (const std::exception& failure) {  // of its tries, which it does not catch
    return bad_file("'{}' is not a SentencePiece model: {}", file, failure.what());
  }
  if (Status found = tokenizer->find_tokens(file, config); !found.ok()) return found.error();
  if (auto parts = make_parts(*read, file)) {
    parts->special = tokenizer->special_;
    for (const AddedToken& token : tokenizer->added_list_) {
      parts->added.push_back(token);
      if (token.id >= static_cast<Token>(parts->token_bytes.size())) {
        parts->token_bytes.resize(token.id + 1);
      }
      parts->token_bytes[token.id] = token.content;
    }
    return WordTokenizer::make(std::move(*parts));
  }
  tokenizer->find_texts();
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

Status SpmTokenizer::find_tokens(const std::string& file, const TokenizerConfig& config) {
  const int n = processor_.GetPieceSize();
  for (Token id = 0; id < n; ++id) {
    const std::string& piece = processor_.IdToPiece(id);
    if (!vocab_.add(piece, id)) {
      return bad_file("'{}': piece {} is '{}', expected each piece once", file, id, piece);
    }
  }
  if (Status done = add_config_tokens(config, &vocab_, &added_list_); !done.ok()) return done;
  add_written();

  OwnSpecialTokens own;
  own.bos = token_or_none(processor_.bos_id());
  if (own.bos) own.before = {*own.bos};
  own.eos = token_or_none(processor_.eos_id());
  Result<SpecialTokens> special = find_special_tokens(config, vocab_, own);
  if (!special.ok()) return special.error();
  special_ = std::move(*special);
  special_.templates = templates_around(special_.before, special_.after);
  return {};
}

// The library does not look for control and unknown pieces in a text; all other formats do.
void SpmTokenizer::add_written() {
  std::unordered_set<Token> there;
  for (const AddedToken& token : added_list_) there.insert(token.id);
  for (Token id = 0; id < processor_.GetPieceSize(); ++id) {
    const bool written = processor_.IsControl(id) || processor_.IsUnknown(id);
    if (!written || there.contains(id)) continue;
    AddedToken token;
    token.id = id;
    token.content = processor_.IdToPiece(id);
    token.special = true;
    added_list_.push_back(std::move(token));
  }
}

void SpmTokenizer::find_texts() {
  const int n = processor_.GetPieceSize();
  is_special_.resize(vocab_.size());
  for (Token id = 0; id < vocab_.size(); ++id) {
    const std::string& text = vocab_.text(id);
    const bool piece = id < n;
    is_special_[id] = piece && (processor_.IsControl(id) || processor_.IsUnknown(id));
    const auto byte = piece && processor_.IsByte(id) ? byte_of_token_text(text) : std::nullopt;
    token_bytes_.push_back(byte ? std::string(1, *byte) : replace_all(text, kSpaceMark, " "));
  }
  for (const AddedToken& token : added_list_) {
    is_special_[token.id] = token.special;
    token_bytes_[token.id] = token.content;
  }
  added_ = AddedTokens(std::move(added_list_));

  std::vector<std::string> pieces;  // the library does not tell whether it puts a space in front
  if (!processor_.Encode("a", &pieces).ok() || pieces.empty()) return;
  strips_leading_space_ = pieces.front().starts_with(kSpaceMark);
}

Result<std::vector<Token>> SpmTokenizer::encode(std::string_view text, bool add_bos) const {
  if (const auto at = find_invalid_utf8(text)) {
    return invalid_argument("the text is not UTF-8 at byte {}", *at);
  }
  std::vector<Token> tokens;
  Status failed;
  std::vector<int> ids;
  added_.split(text, [&](const AddedTokens::Part& part) {
    if (part.token != nullptr) {
      tokens.push_back(part.token->id);
      return;
    }
    const auto done = processor_.Encode({part.text.data(), part.text.size()}, &ids);
    if (!done.ok()) failed = bad_file("the tokenizer's SentencePiece model: {}", done.message());
    tokens.insert(tokens.end(), ids.begin(), ids.end());
  });
  if (!failed.ok()) return failed.error();
  if (add_bos) put_around(special_, &tokens);
  return tokens;
}

std::string SpmTokenizer::token_bytes(Token token, bool skip_special) const {
  if (token < 0 || token >= vocab_size()) return {};
  if (skip_special && is_special_[token]) return {};
  return token_bytes_[token];
}

}  // namespace pando
