#include "text/grammar/matcher.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/errors.h"
#include "text/grammar/limits.h"

namespace pando::grammar {

namespace {

Error too_many_ways() {
  return unsupported(
      "the grammar can read the answer in more than {} ways (hint: write it less ambiguous)",
      kMostConfigs);
}

}  // namespace

Matcher::Matcher(std::shared_ptr<MaskTable> masks)
    : masks_(std::move(masks)), chart_(masks_->grammar()) {
  marks_.push_back(chart_.at_start());
}

bool Matcher::is_end_token(Token token) const {
  const auto ends = masks_->vocabulary().end_tokens();
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

Chart::Frontier Matcher::read(std::string_view bytes) {
  Chart::Frontier to = at();
  for (const char byte : bytes) {
    to = chart_.step(to, static_cast<uint8_t>(byte));
    if (!to.is_alive() || chart_.is_overflown()) break;
  }
  return to;
}

Status Matcher::accept(Token token) {
  if (is_ended_) return invalid_argument("token {} behind the end of the answer", token);
  if (is_end_token(token)) {
    if (!can_end()) return invalid_argument("the end of the answer where its text is not complete");
    is_ended_ = true;
    marks_.push_back(at());
    return {};
  }
  const Chart::Frontier before = at();
  const Vocabulary& vocabulary = masks_->vocabulary();
  if (!vocabulary.has(token) || vocabulary.bytes(token).empty())
    return invalid_argument("token {}, which stands for no text", token);
  chart_.start_work();
  const Chart::Frontier to = read(vocabulary.bytes(token));
  if (chart_.is_overflown()) {
    chart_.go_back(before);
    return too_many_ways();
  }
  if (!to.is_alive()) {
    chart_.go_back(before);
    return invalid_argument("token {}, which the grammar does not allow here", token);
  }
  marks_.push_back(chart_.moved_down(to, before.end));
  return {};
}

void Matcher::roll_back(size_t n) {
  PANDO_CHECK(n <= n_tokens());
  if (n == 0) return;
  is_ended_ = false;
  marks_.resize(marks_.size() - n);
  chart_.go_back(at());
}

bool Matcher::is_allowed(Token token) {
  if (!accept(token).ok()) return false;
  roll_back(1);
  return true;
}

Result<size_t> Matcher::mask(std::span<uint64_t> bits) {
  PANDO_CHECK(bits.size() == masks_->vocabulary().n_mask_words());
  std::fill(bits.begin(), bits.end(), 0);
  if (is_ended_) return size_t{0};
  chart_.start_work();
  masks_->add_tokens(chart_, at(), bits);
  if (chart_.is_overflown()) {
    chart_.go_back(at());
    return too_many_ways();
  }
  if (can_end())
    for (const Token end : masks_->vocabulary().end_tokens())
      bits[static_cast<size_t>(end) / 64] |= uint64_t{1} << (static_cast<size_t>(end) % 64);
  size_t n = 0;
  for (const uint64_t word : bits) n += static_cast<size_t>(std::popcount(word));
  return n;
}

std::string Matcher::forced_bytes(size_t most) {
  std::string forced;
  if (is_ended_) return forced;
  const Grammar& grammar = chart_.grammar();
  chart_.start_work();
  Chart::Frontier to = at();
  while (forced.size() < most && !to.is_end) {
    int only = -1;
    bool is_one = true;
    for (uint32_t i = to.begin; i < to.end && is_one; ++i)
      for (const Grammar::Step& step : grammar.steps(chart_.config(i).state)) {
        is_one = step.first == step.last && (only < 0 || only == step.first);
        if (!is_one) break;
        only = step.first;
      }
    if (!is_one || only < 0) break;
    to = chart_.step(to, static_cast<uint8_t>(only));
    if (chart_.is_overflown()) break;
    forced += static_cast<char>(only);
  }
  chart_.go_back(at());
  return forced;
}

Result<bool> allows(const GrammarPtr& grammar, std::string_view text) {
  Chart chart(grammar);
  Chart::Frontier at = chart.at_start();
  for (const char byte : text) {
    chart.start_work();
    at = chart.step(at, static_cast<uint8_t>(byte));
    if (chart.is_overflown()) return too_many_ways();
    if (!at.is_alive()) return false;
  }
  return at.is_end;
}

}  // namespace pando::grammar
