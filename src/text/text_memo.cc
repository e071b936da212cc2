#include "text/text_memo.h"

#include <algorithm>
#include <cstring>

#include "text/safe_cuts.h"

namespace pando {
namespace {

// A text is remembered if more than this share of it is new.
constexpr size_t kNewShare = 8;

size_t n_bytes_of(const TextMemo::Text& text) {
  return text.bytes.size() + text.tokens.size() * sizeof(Token) +
         text.cuts.size() * sizeof(TextMemo::Cut);
}

size_t common_beginning(std::string_view a, std::string_view b) {
  constexpr size_t kStep = 256;
  const size_t n = std::min(a.size(), b.size());
  size_t at = 0;
  while (at + kStep <= n && std::memcmp(a.data() + at, b.data() + at, kStep) == 0) at += kStep;
  while (at < n && a[at] == b[at]) ++at;
  return at;
}

}  // namespace

TextMemo::Beginning TextMemo::find(std::string_view text) {
  std::vector<std::shared_ptr<const Text>> texts;
  {
    const std::lock_guard lock(mutex_);
    texts = texts_;
  }
  Beginning longest;
  for (auto& other : texts) {
    const size_t common = common_beginning(text, other->bytes);
    const auto cut = std::partition_point(
        other->cuts.begin(), other->cuts.end(),
        [&](const Cut& cut) { return cut.at + SafeCuts::kLookAhead <= common; });
    if (cut == other->cuts.begin() || (cut - 1)->at <= longest.end().at) continue;
    longest.n_cuts = static_cast<size_t>(cut - other->cuts.begin());
    longest.of = std::move(other);
  }
  if (longest.of == nullptr) return longest;
  const std::lock_guard lock(mutex_);
  const auto used = std::find(texts_.begin(), texts_.end(), longest.of);
  if (used != texts_.end()) std::rotate(texts_.begin(), used, used + 1);
  return longest;
}

void TextMemo::add(std::string_view text, const Beginning& beginning, std::span<const Cut> cuts,
                   std::span<const Token> tokens) {
  const bool continues = beginning.of != nullptr && beginning.n_cuts == beginning.of->cuts.size();
  const bool is_new = text.size() - beginning.end().at > text.size() / kNewShare;
  if (cuts.empty() || (!continues && !is_new)) return;
  Text added{.bytes = std::string(text), .cuts = {}, .tokens = {}};
  if (beginning.of != nullptr) {
    const auto& earlier = beginning.of->cuts;
    added.cuts.assign(earlier.begin(), earlier.begin() + static_cast<ptrdiff_t>(beginning.n_cuts));
  }
  added.cuts.insert(added.cuts.end(), cuts.begin(), cuts.end());
  const std::span<const Token> kept = tokens.first(cuts.back().n_tokens);
  added.tokens.assign(kept.begin(), kept.end());
  if (n_bytes_of(added) > limits_.most_bytes) return;

  auto shared = std::make_shared<const Text>(std::move(added));
  const std::lock_guard lock(mutex_);
  const auto replaced =
      continues ? std::find(texts_.begin(), texts_.end(), beginning.of) : texts_.end();
  if (replaced != texts_.end()) {
    n_bytes_ -= n_bytes_of(**replaced);
    texts_.erase(replaced);
  }
  n_bytes_ += n_bytes_of(*shared);
  texts_.insert(texts_.begin(), std::move(shared));
  while (n_bytes_ > limits_.most_bytes || texts_.size() > limits_.most_texts) {
    n_bytes_ -= n_bytes_of(*texts_.back());
    texts_.pop_back();
  }
}

}  // namespace pando
