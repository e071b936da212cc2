#include "text/stream_decoder.h"

#include <algorithm>

#include "text/utf8.h"

namespace pando {

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool first_in_text, bool skip_special)
    : tokenizer_(&tokenizer),
      strip_space_(first_in_text && tokenizer.strips_leading_space()),
      skip_special_(skip_special) {
  if (const Decoding* decoding = tokenizer.decoding()) run_.emplace(decoding->steps, first_in_text);
}

std::string StreamDecoder::decoded(Token token) {
  const std::string bytes = tokenizer_->token_bytes(token, skip_special_);
  if (run_) {
    const std::vector<std::string>& pieces = tokenizer_->decoding()->pieces;
    if (token < 0 || static_cast<size_t>(token) >= pieces.size() || pieces[token].empty())
      return {};
    const bool is_skipped = skip_special_ && bytes.empty() &&
                            !tokenizer_->token_bytes(token, /*skip_special=*/false).empty();
    return is_skipped ? std::string() : run_->push(pieces[token]);
  }
  pending_ += bytes;
  if (strip_space_ && !pending_.empty()) {
    if (pending_.front() == ' ') pending_.erase(0, 1);
    strip_space_ = false;
  }
  std::string text;
  take_characters(&pending_, &text);
  return text;
}

std::string StreamDecoder::push(Token token) { return without_shown(decoded(token)); }

std::string StreamDecoder::finish(bool ends) {
  if (run_) return without_shown(run_->finish(ends));
  const bool incomplete = !pending_.empty();
  pending_.clear();
  return std::string(incomplete ? kReplacementCharacter : "");
}

void StreamDecoder::follow(std::span<const Token> before) {
  if (!run_) return;
  const std::span<const Token> last = before.last(std::min(before.size(), kMostBefore));
  const bool first_in_text = last.size() == before.size();
  run_.emplace(tokenizer_->decoding()->steps, first_in_text);
  StreamDecoder all(*tokenizer_, first_in_text, skip_special_);
  size_t n_certain = 0;
  for (const Token token : last) {
    n_certain += decoded(token).size();
    shown_ += all.decoded(token);
  }
  shown_ += all.finish();
  shown_.erase(0, n_certain);
}

std::string StreamDecoder::without_shown(std::string text) {
  if (shown_.empty() || text.empty()) return text;
  const size_t n = std::min(text.size(), shown_.size());
  const auto [end, end_of_shown] =
      std::mismatch(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(n), shown_.begin());
  auto same = static_cast<size_t>(end - text.begin());
  while (same > 0 && same < text.size() && !begins_character(text[same])) --same;
  text.erase(0, same);
  shown_ = text.empty() ? shown_.substr(same) : std::string();
  return text;
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
  return text + decoder.finish(/*ends=*/false);
}

}  // namespace pando
