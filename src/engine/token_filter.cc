#include "engine/token_filter.h"

#include <algorithm>
#include <bit>

#include "base/errors.h"

namespace pando {

TokenFilter::TokenFilter(std::shared_ptr<const grammar::MaskTable> masks,
                         std::span<const Token> ends)
    : vocabulary_(masks->vocabulary()),
      matcher_(masks),
      ends_(ends),
      bits_(vocabulary_.n_mask_words()) {}

Result<std::span<const uint64_t>> TokenFilter::allowed() {
  if (n_allowed_ > 0) return std::span<const uint64_t>(bits_);
  const Result<size_t> n = matcher_.mask(bits_);
  if (!n) return n.error();
  n_allowed_ = *n;
  if (matcher_.can_end())
    for (const Token end : ends_) {
      const auto at = static_cast<size_t>(end);
      if (end < 0 || at / 64 >= bits_.size()) continue;
      n_allowed_ += (bits_[at / 64] >> at % 64 & 1) == 0;
      bits_[at / 64] |= uint64_t{1} << at % 64;
    }
  if (n_allowed_ == 0)
    return unsupported("no token of the model's vocabulary can continue the answer in its form");
  return std::span<const uint64_t>(bits_);
}

Result<std::optional<Token>> TokenFilter::only() {
  if (const auto bits = allowed(); !bits) return bits.error();
  if (n_allowed_ != 1) return std::optional<Token>();
  const auto word = std::ranges::find_if(bits_, [](uint64_t bits) { return bits != 0; });
  const auto token = static_cast<Token>((word - bits_.begin()) * 64 + std::countr_zero(*word));
  const bool is_end = std::ranges::find(ends_, token) != ends_.end();
  return is_end ? std::optional<Token>() : std::optional(token);
}

Status TokenFilter::accept(Token token) {
  n_allowed_ = 0;
  return matcher_.accept(token);
}

bool TokenFilter::begin(std::string_view head, std::span<const Token> answer, size_t n_bytes) {
  // Special tokens have a byte more here.
  const auto is_special = [](std::string_view bytes) {
    return bytes.starts_with(grammar::Vocabulary::kSpecial);
  };
  std::string text;
  for (size_t n = 0; n < n_bytes; answer = answer.first(answer.size() - 1)) {
    if (answer.empty() || !vocabulary_.has(answer.back())) return false;
    const std::string& bytes = vocabulary_.bytes(answer.back());
    n += bytes.size() - (is_special(bytes) ? 1 : 0);
    const size_t n_before = n - std::min(n, n_bytes);
    text.insert(0, n_before == 0 ? bytes : bytes.substr(n_before + (is_special(bytes) ? 1 : 0)));
  }
  return matcher_.accept(vocabulary_.spelled(head) + text);
}

}  // namespace pando
