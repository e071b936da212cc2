#include "text/stream_decoder.h"

#include "text/utf8.h"

namespace pando {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Moves what is settled from the front of `*bytes` to `*text`: whole characters as they are, each
// maximal subpart of an ill-formed sequence as one U+FFFD.
void take_settled(std::string* bytes, std::string* text) {
  std::string_view rest = *bytes;
  while (!rest.empty()) {
    const Utf8Step step = next_utf8(rest);
    if (step.kind == Utf8Kind::kTruncated) break;
    *text += step.kind == Utf8Kind::kCharacter ? rest.substr(0, step.length) : kReplacement;
    rest.remove_prefix(step.length);
  }
  bytes->erase(0, bytes->size() - rest.size());
}

}  // namespace

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool first_in_text, bool skip_special)
    : tokenizer_(&tokenizer),
      strip_space_(first_in_text && tokenizer.strips_leading_space()),
      skip_special_(skip_special) {}

std::string StreamDecoder::push(Token token) {
  pending_ += tokenizer_->token_bytes(token, skip_special_);
  if (strip_space_ && !pending_.empty()) {
    if (pending_.front() == ' ') pending_.erase(0, 1);
    strip_space_ = false;
  }
  std::string text;
  take_settled(&pending_, &text);
  return text;
}

std::string StreamDecoder::finish() {
  const bool incomplete = !pending_.empty();
  pending_.clear();
  return std::string(incomplete ? kReplacement : "");
}

std::string decode(const Tokenizer& tokenizer, std::span<const Token> tokens, bool skip_special) {
  StreamDecoder decoder(tokenizer, true, skip_special);
  std::string text;
  for (Token token : tokens) text += decoder.push(token);
  return text + decoder.finish();
}

std::string decode_piece(const Tokenizer& tokenizer, Token token) {
  StreamDecoder decoder(tokenizer, /*first_in_text=*/false, /*skip_special=*/false);
  const std::string text = decoder.push(token);
  return text + decoder.finish();
}

}  // namespace pando
