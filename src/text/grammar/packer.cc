#include "text/grammar/packer.h"

namespace pando::grammar {

namespace {

constexpr size_t kFewSteps = 3;      // which are looked through
constexpr size_t kMostRows = 8'192;  // 1 KiB each

}  // namespace

void GrammarPacker::add_state(std::span<const Grammar::Step> steps,
                              std::span<const Grammar::Call> calls, std::span<const uint32_t> jumps,
                              bool ends) {
  Grammar& out = *grammar_;
  out.states_.push_back({.first_step = static_cast<uint32_t>(out.steps_.size()),
                         .first_call = static_cast<uint32_t>(out.calls_.size()),
                         .first_jump = static_cast<uint32_t>(out.jumps_.size()),
                         .ends = ends,
                         .has_steps = !steps.empty(),
                         .is_plain = calls.empty() && jumps.empty() && !ends,
                         .only_ends = ends && steps.empty() && calls.empty() && jumps.empty()});
  out.steps_.insert(out.steps_.end(), steps.begin(), steps.end());
  out.calls_.insert(out.calls_.end(), calls.begin(), calls.end());
  out.jumps_.insert(out.jumps_.end(), jumps.begin(), jumps.end());
}

// Whether bytes `first` to `last` and then `n_more` continuation bytes lead from `from` to `to`, by
// plain states.
bool GrammarPacker::leads(uint32_t from, uint8_t first, uint8_t last, int n_more,
                          uint32_t to) const {
  uint32_t known = Grammar::kNone;  // which is looked at already
  for (int byte = first; byte <= last; ++byte) {
    const uint32_t next = grammar_->next(from, static_cast<uint8_t>(byte));
    if (next == Grammar::kNone) return false;
    if (next == known) continue;
    if (n_more == 0 ? next != to
                    : !grammar_->is_plain(next) || !leads(next, 0x80, 0xBF, n_more - 1, to))
      return false;
    known = next;
  }
  return true;
}

// Whether every character that is not ASCII leads from the state to itself.
bool GrammarPacker::loops_over_characters(uint32_t state) const {
  const auto after = [&](uint8_t lead, uint8_t first, uint8_t last, int n_more) {
    const uint32_t next = grammar_->next(state, lead);
    return next != Grammar::kNone && grammar_->is_plain(next) &&
           leads(next, first, last, n_more, state);
  };
  return leads(state, 0xC2, 0xDF, 1, state) && after(0xE0, 0xA0, 0xBF, 1) &&
         leads(state, 0xE1, 0xEC, 2, state) && after(0xED, 0x80, 0x9F, 1) &&
         leads(state, 0xEE, 0xEF, 2, state) && after(0xF0, 0x90, 0xBF, 2) &&
         leads(state, 0xF1, 0xF3, 3, state) && after(0xF4, 0x80, 0x8F, 2);
}

void GrammarPacker::set_row(uint32_t state) {
  Grammar& out = *grammar_;
  std::array<uint32_t, 256> row;
  row.fill(Grammar::kNone);
  for (const Grammar::Step& step : out.steps(state))
    for (int byte = step.first; byte <= step.last; ++byte) row[byte] = step.target;
  uint8_t leaves = 0;
  for (int byte = 0; byte < 256; ++byte)
    if (row[byte] != state) leaves |= byte_kind(static_cast<uint8_t>(byte));
  out.states_[state].loops =
      static_cast<uint8_t>(~leaves & (kPlainAscii | kQuote | kBackslash | kControl));
  if (out.steps(state).size() > kFewSteps && out.rows_.size() < kMostRows) {
    out.states_[state].row = static_cast<uint32_t>(out.rows_.size());
    out.rows_.push_back(row);
  }
}

GrammarPtr GrammarPacker::finish() {
  Grammar& out = *grammar_;
  out.states_.push_back({.first_step = static_cast<uint32_t>(out.steps_.size()),
                         .first_call = static_cast<uint32_t>(out.calls_.size()),
                         .first_jump = static_cast<uint32_t>(out.jumps_.size())});
  for (uint32_t state = 0; state + 1 < out.states_.size(); ++state) set_row(state);
  for (uint32_t state = 0; state + 1 < out.states_.size(); ++state)
    if (out.is_plain(state) && out.loops(state) & kPlainAscii && loops_over_characters(state))
      out.states_[state].loops |= kNotAscii;
  return std::move(grammar_);
}

}  // namespace pando::grammar
