#include "text/spm.h"

#include "base/errors.h"
#include "text/bpe.h"

namespace pando {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

std::optional<Token> token_or_none(int id) {
  return id < 0 ? std::nullopt : std::optional<Token>(id);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> SpmTokenizer::load(const std::string& model,
                                                      const std::string& file,
                                                      const TokenizerConfig& config) {
  std::unique_ptr<SpmTokenizer> tokenizer(new SpmTokenizer);
  const auto loaded = tokenizer->processor_.LoadFromSerializedProto(model);
  if (!loaded.ok()) {
    return bad_file("'{}' is not a SentencePiece model: {}", file, loaded.message());
  }
  if (Status found = tokenizer->find_tokens(file, config); !found.ok()) return found.error();
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

Status SpmTokenizer::find_tokens(const std::string& file, const TokenizerConfig& config) {
  const int n = processor_.GetPieceSize();
  Vocab vocab;
  for (Token id = 0; id < n; ++id) {
    const std::string& piece = processor_.IdToPiece(id);
    if (!vocab.add(piece, id)) {
      return bad_file("'{}': piece {} is '{}', expected each piece once", file, id, piece);
    }
  }
  std::vector<AddedToken> added;
  if (Status done = add_config_tokens(config, &vocab, &added); !done.ok()) return done;

  OwnSpecialTokens own;
  own.bos = token_or_none(processor_.bos_id());
  own.asks_bos = own.bos.has_value();
  own.eos = token_or_none(processor_.eos_id());
  Result<SpecialTokens> special = find_special_tokens(config, vocab, own);
  if (!special.ok()) return special.error();
  special_ = std::move(*special);

  is_special_.resize(vocab.size());
  for (Token id = 0; id < vocab.size(); ++id) {
    const std::string& text = vocab.text(id);
    const bool piece = id < n;
    is_special_[id] = piece && (processor_.IsControl(id) || processor_.IsUnknown(id));
    const auto byte = piece && processor_.IsByte(id) ? byte_of_token_text(text) : std::nullopt;
    token_bytes_.push_back(byte ? std::string(1, *byte) : replace_all(text, kSpaceMark, " "));
  }
  for (const AddedToken& token : added) {
    is_special_[token.id] = token.special;
    token_bytes_[token.id] = token.content;
  }
  added_ = AddedTokens(std::move(added));

  std::vector<std::string> pieces;  // the library does not tell whether it puts a space in front
  if (!processor_.Encode("a", &pieces).ok() || pieces.empty()) return {};
  strips_leading_space_ = pieces.front().starts_with(kSpaceMark);
  return {};
}

Result<std::vector<Token>> SpmTokenizer::encode(std::string_view text, bool add_bos) const {
  if (const auto at = find_invalid_utf8(text)) {
    return invalid_argument("the text is not UTF-8 at byte {}", *at);
  }
  std::vector<Token> tokens;
  if (add_bos && special_.asks_bos) tokens.push_back(*special_.bos);
  Status failed;
  std::vector<int> ids;
  added_.split(text, [&](const AddedTokens::Part& part) {
    if (part.token != nullptr) {
      tokens.push_back(part.token->id);
      return;
    }
    const auto done = processor_.Encode({part.text.data(), part.text.size()}, &ids);
    if (!done.ok()) failed = make_error(ErrorCode::kInternal, "SentencePiece: {}", done.message());
    tokens.insert(tokens.end(), ids.begin(), ids.end());
  });
  if (!failed.ok()) return failed.error();
  return tokens;
}

std::string SpmTokenizer::token_bytes(Token token, bool skip_special) const {
  if (token < 0 || token >= vocab_size()) return {};
  if (skip_special && is_special_[token]) return {};
  return token_bytes_[token];
}

}  // namespace pando
