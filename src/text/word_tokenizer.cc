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
      new WordTokenizer(std::move(*parts), std::move(as_written), std::move(as_normalised)));
}

WordTokenizer::WordTokenizer(TokenizerParts parts, std::vector<AddedToken> as_written,
                             std::vector<AddedToken> as_normalised)
    : parts_(std::move(parts)),
      is_special_(parts_.token_bytes.size()),
      as_written_(std::move(as_written)),
      as_normalised_(std::move(as_normalised)) {
  for (const AddedToken& token : parts_.added) is_special_[token.id] = token.special;
  for (Token token : parts_.hidden) is_special_[token] = true;
}

Result<std::vector<Token>> WordTokenizer::encode(std::string_view text, bool add_bos) const {
  if (const auto at = find_invalid_utf8(text)) {
    return invalid_argument("the text is not UTF-8 at byte {}", *at);
  }
  std::vector<Token> tokens;
  Status failed;
  as_written_.split(text, [&](const AddedTokens::Part& part) {
    if (part.token != nullptr) {
      tokens.push_back(part.token->id);
    } else if (failed.ok()) {
      failed = encode_section(part.text, part.text.data() == text.data(), &tokens);
    }
  });
  if (!failed.ok()) return failed.error();
  if (add_bos) put_around(parts_.special, &tokens);
  return tokens;
}

Status WordTokenizer::encode_section(std::string_view section, bool at_start,
                                     std::vector<Token>* tokens) const {
  Result<std::string> normalised = std::string();
  std::string_view text = section;
  if (!parts_.normalizer.empty()) {
    normalised = parts_.normalizer.apply(section);
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

std::string WordTokenizer::token_bytes(Token token, bool skip_special) const {
  if (token < 0 || token >= vocab_size()) return {};
  if (skip_special && is_special_[token]) return {};
  return parts_.token_bytes[token];
}

}  // namespace pando
