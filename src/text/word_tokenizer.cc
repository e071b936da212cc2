#include "text/word_tokenizer.h"

#include "base/errors.h"
#include "text/utf8.h"

namespace pando {

Result<std::unique_ptr<Tokenizer>> WordTokenizer::make(Result<TokenizerParts> parts) {
  if (!parts.ok()) return parts.error();
  std::vector<AddedToken> as_written, as_normalised;
  for (const AddedToken& token : parts->added) {
    if (!token.normalized) {
      as_written.push_back(token);
      continue;
    }
    Result<std::string> content = token.is_normal_form ? Result<std::string>(token.content)
                                                       : parts->normalizer.apply(token.content);
    if (!content.ok()) return content.error();
    if (content->empty()) continue;
    as_normalised.push_back(token);
    as_normalised.back().content = std::move(*content);
  }
  return std::unique_ptr<Tokenizer>(
      new WordTokenizer(std::move(*parts), as_written, as_normalised));
}

WordTokenizer::WordTokenizer(TokenizerParts parts, const std::vector<AddedToken>& as_written,
                             const std::vector<AddedToken>& as_normalised)
    : parts_(std::move(parts)),
      is_special_(parts_.token_bytes.size()),
      as_written_(as_written),
      as_normalised_(as_normalised),
      cuts_(parts_, as_written, as_normalised) {
  SpecialTokens& special = parts_.special;
  if (special.templates.single.empty())
    special.templates = templates_around(special.before, special.after);
  for (const AddedToken& token : parts_.added) is_special_[token.id] = token.special;
  for (Token token : parts_.hidden) is_special_[token] = true;
}

Result<std::vector<Token>> WordTokenizer::encode(std::string_view text, bool add_bos) const {
  const TextMemoLimits& limits = memo_.limits();
  const bool is_long = cuts_.any() && limits.most_bytes > 0 && text.size() >= limits.least_bytes;
  const TextMemo::Beginning known = is_long ? memo_.find(text) : TextMemo::Beginning();
  const size_t n_known = known.end().at;
  if (const auto at = find_invalid_utf8(text.substr(n_known))) {
    return invalid_argument("the text is not UTF-8 at byte {}", n_known + *at);
  }
  std::vector<Token> tokens;
  Status done = is_long ? encode_after(known, text, &tokens)
                        : encode_part(text, /*continues=*/false, &tokens);
  if (!done.ok() && is_long) {  // limits of steps depend on the length of what they are given
    tokens.clear();
    done = encode_part(text, /*continues=*/false, &tokens);
  }
  if (!done.ok()) return done.error();
  if (add_bos) put_around(parts_.special, &tokens);
  return tokens;
}

// The parts lie between cuts: where each ends, a later text can begin.
Status WordTokenizer::encode_after(const TextMemo::Beginning& beginning, std::string_view text,
                                   std::vector<Token>* tokens) const {
  if (beginning.of != nullptr) {
    const std::vector<Token>& known = beginning.of->tokens;
    tokens->reserve(known.size() + known.size() / 8);
    tokens->assign(known.begin(), known.begin() + static_cast<ptrdiff_t>(beginning.end().n_tokens));
  }
  std::vector<TextMemo::Cut> cuts;
  for (size_t at = beginning.end().at; at < text.size();) {
    const size_t end = cuts_.next(text, at + memo_.limits().part_bytes);
    const Status done = encode_part(text.substr(at, end - at), /*continues=*/at > 0, tokens);
    if (!done.ok()) return done;
    if (end < text.size()) cuts.push_back({end, tokens->size()});
    at = end;
  }
  memo_.add(text, beginning, cuts, *tokens);
  return {};
}

Status WordTokenizer::encode_part(std::string_view part, bool continues,
                                  std::vector<Token>* tokens) const {
  n_bytes_encoded_ += part.size();
  Status failed;
  as_written_.split(part, [&](const AddedTokens::Part& piece) {
    if (piece.token != nullptr) {
      tokens->push_back(piece.token->id);
    } else if (failed.ok()) {
      const bool first = piece.text.data() == part.data();
      failed = encode_section(piece.text, first && !continues, first && continues, tokens);
    }
  });
  return failed;
}

Status WordTokenizer::encode_section(std::string_view section, bool at_start, bool continues,
                                     std::vector<Token>* tokens) const {
  Result<std::string> normalised = std::string();
  std::string_view text = section;
  if (!parts_.normalizer.empty()) {
    normalised = parts_.normalizer.apply(section, continues);
    if (!normalised.ok()) return normalised.error();
    text = *normalised;
  }
  Status failed;
  as_normalised_.split(text, [&](const AddedTokens::Part& part) {
    if (part.token != nullptr) {
      tokens->push_back(part.token->id);
      return;
    }
    const bool first = at_start && part.text.data() == text.data();
    const Status done = parts_.pre_tokenizer.split(
        part.text, first, [&](std::string_view word) { parts_.model->encode(word, tokens); });
    if (!done.ok()) failed = done;
  });
  return failed;
}

std::vector<TokenSpan> WordTokenizer::spans_of(std::string_view text,
                                               std::span<const Token> tokens) const {
  std::vector<TokenPiece> pieces;
  for (const Token token : tokens)
    pieces.push_back(
        {token_bytes(token, /*skip_special=*/false), parts_.model->is_inside_word(token)});
  const auto normalise = [&](std::string_view character) {
    Result<std::string> form = parts_.normalizer.apply(character, /*continues=*/true);
    return form.ok() ? std::move(*form) : std::string(character);
  };
  return find_token_spans(text, pieces,
                          {.normalise = normalise, .marks_words = parts_.model->marks_words()});
}

std::string WordTokenizer::token_bytes(Token token, bool skip_special) const {
  if (token < 0 || token >= vocab_size()) return {};
  if (skip_special && is_special_[token]) return {};
  return parts_.token_bytes[token];
}

}  // namespace pando
