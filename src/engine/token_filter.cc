#include "engine/token_filter.h"

#include <algorithm>
#include <bit>

#include "base/errors.h"

namespace pando {

TokenFilter::TokenFilter(std::shared_ptr<const grammar::MaskTable> masks,
                         std::span<const Token> ends)
    : vocabulary_(masks->vocabulary()),
      matchers_{grammar::Matcher(masks)},
      ends_(ends),
      bits_(vocabulary_.n_mask_words()) {}

void TokenFilter::add(std::shared_ptr<const grammar::MaskTable> masks) {
  matchers_.emplace_back(std::move(masks));
}

Result<std::span<const uint64_t>> TokenFilter::allowed() {
  if (n_allowed_ > 0) return std::span<const uint64_t>(bits_);
  const Result<size_t> n = matchers_[0].mask(bits_);
  if (!n) return n.error();
  n_allowed_ = *n;
  for (size_t i = 1; i < matchers_.size(); ++i) {
    std::vector<uint64_t> others(bits_.size());
    if (const Result<size_t> more = matchers_[i].mask(others); !more) return more.error();
    n_allowed_ = 0;
    for (size_t word = 0; word < bits_.size(); ++word) {
      bits_[word] |= others[word];
      n_allowed_ += static_cast<size_t>(std::popcount(bits_[word]));
    }
  }
  if (can_end())
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
  Status refused;
  std::erase_if(matchers_, [&](grammar::Matcher& matcher) {
    const Status status = matcher.accept(token);
    if (!status) refused = status;
    return !status;
  });
  return matchers_.empty() ? refused : Status();
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
  return matchers_[0].accept(vocabulary_.spelled(head) + text);
}

}  // namespace pando
