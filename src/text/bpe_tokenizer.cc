#include "text/bpe_tokenizer.h"

#include "base/errors.h"

namespace pando {
namespace {

std::vector<AddedToken> tokens_as_written(const std::vector<AddedToken>& added) {
  std::vector<AddedToken> tokens;
  for (const AddedToken& token : added) {
    if (!token.normalized) tokens.push_back(token);
  }
  return tokens;
}

std::vector<AddedToken> tokens_as_normalised(const std::vector<AddedToken>& added,
                                             const Normalizer& normalizer) {
  std::vector<AddedToken> tokens;
  for (AddedToken token : added) {
    if (!token.normalized) continue;
    token.content = normalizer.apply(token.content);
    if (!token.content.empty()) tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace

BpeTokenizer::BpeTokenizer(BpeParts parts)
    : parts_(std::move(parts)),
      is_special_(parts_.token_bytes.size()),
      as_written_(tokens_as_written(parts_.added)),
      as_normalised_(tokens_as_normalised(parts_.added, parts_.normalizer)) {
  for (const AddedToken& token : parts_.added) is_special_[token.id] = token.special;
}

Result<std::vector<Token>> BpeTokenizer::encode(std::string_view text, bool add_bos) const {
  if (const auto at = find_invalid_utf8(text)) {
    return invalid_argument("the text is not UTF-8 at byte {}", *at);
  }
  std::vector<Token> tokens;
  if (add_bos && parts_.special.asks_bos) tokens.push_back(*parts_.special.bos);
  Status failed;
  as_written_.split(text, [&](const AddedTokens::Part& part) {
    if (part.token != nullptr) {
      tokens.push_back(part.token->id);
    } else if (failed.ok()) {
      failed = encode_section(part.text, part.text.data() == text.data(), &tokens);
    }
  });
  if (!failed.ok()) return failed.error();
  return tokens;
}

Status BpeTokenizer::encode_section(std::string_view section, bool at_start,
                                    std::vector<Token>* tokens) const {
  std::string normalised;
  std::string_view text = section;
  if (!parts_.normalizer.empty()) text = normalised = parts_.normalizer.apply(section);
  Status failed;
  as_normalised_.split(text, [&](const AddedTokens::Part& part) {
    if (part.token != nullptr) {
      tokens->push_back(part.token->id);
      return;
    }
    const bool first = at_start && part.text.data() == text.data();
    const Status done = parts_.pre_tokenizer.split(
        part.text, first, [&](std::string_view word) { parts_.bpe.encode(word, tokens); });
    if (!done.ok()) failed = done;
  });
  return failed;
}

std::string BpeTokenizer::token_bytes(Token token, bool skip_special) const {
  if (token < 0 || token >= vocab_size()) return {};
  if (skip_special && is_special_[token]) return {};
  return parts_.token_bytes[token];
}

}  // namespace pando
