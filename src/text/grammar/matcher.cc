#include "text/grammar/matcher.h"

#include <algorithm>

#include "base/check.h"
#include "base/errors.h"
#include "text/grammar/limits.h"

namespace pando::grammar {

namespace {

Error too_many_ways() {
  return unsupported("the grammar is too ambiguous: it can read the answer in more than {} ways",
                     kMostConfigs);
}

}  // namespace

Matcher::Matcher(std::shared_ptr<const MaskTable> masks)
    : masks_(std::move(masks)), chart_(masks_->grammar()), at_(chart_.at_start()) {}

bool Matcher::is_end_token(Token token) const {
  const auto ends = masks_->vocabulary().end_tokens();
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

Chart::Frontier Matcher::read(std::string_view bytes) {
  Chart::Frontier to = at_;
  for (const char byte : bytes) {
    to = chart_.step(to, static_cast<uint8_t>(byte));
    if (!to.is_alive() || chart_.is_overflown()) break;
  }
  return to;
}

Status Matcher::accept(Token token) {
  if (is_ended_) return invalid_argument("token {} after the end of the answer", token);
  if (is_end_token(token)) {
    if (!can_end()) return invalid_argument("the end of the answer before its text is complete");
    is_ended_ = true;
    return {};
  }
  const Vocabulary& vocabulary = masks_->vocabulary();
  if (!vocabulary.has(token) || vocabulary.bytes(token).empty())
    return invalid_argument("token {}, which stands for no text", token);
  chart_.start_work();
  const Chart::Frontier to = read(vocabulary.bytes(token));
  if (chart_.is_overflown()) {
    chart_.go_back(at_);
    return too_many_ways();
  }
  if (!to.is_alive()) {
    chart_.go_back(at_);
    return invalid_argument("token {}, which the grammar does not allow here", token);
  }
  at_ = chart_.keep_only(to);
  return {};
}

bool Matcher::accept(std::string_view bytes) {
  chart_.start_work();
  const Chart::Frontier to = read(bytes);
  const bool fits = to.is_alive() && !chart_.is_overflown();
  if (fits)
    at_ = chart_.keep_only(to);
  else
    chart_.go_back(at_);
  return fits;
}

Result<size_t> Matcher::mask(std::span<uint64_t> bits) {
  PANDO_CHECK(bits.size() == masks_->vocabulary().n_mask_words());
  std::fill(bits.begin(), bits.end(), 0);
  if (is_ended_) return size_t{0};
  chart_.start_work();
  masks_->add_tokens(chart_, at_, bits);
  if (chart_.is_overflown()) {
    chart_.go_back(at_);
    return too_many_ways();
  }
  if (can_end())
    for (const Token end : masks_->vocabulary().end_tokens())
      bits[static_cast<size_t>(end) / 64] |= uint64_t{1} << (static_cast<size_t>(end) % 64);
  size_t n = 0;
  for (size_t i = 0; i < bits.size() && n < 2; ++i)
    if (bits[i] != 0) n += (bits[i] & (bits[i] - 1)) == 0 ? 1 : 2;
  return std::min<size_t>(n, 2);
}

Result<bool> allows(const GrammarPtr& grammar, std::string_view text) {
  Chart chart(grammar);
  Chart::Frontier at = chart.at_start();
  for (const char byte : text) {
    chart.start_work();
    at = chart.keep_only(chart.step(at, static_cast<uint8_t>(byte)));
    if (chart.is_overflown()) return too_many_ways();
    if (!at.is_alive()) return false;
  }
  return at.is_end;
}

}  // namespace pando::grammar
