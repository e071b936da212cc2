#include "text/grammar/packer.h"

namespace pando::grammar {

namespace {

constexpr size_t kFewSteps = 3;      // which are looked through
constexpr size_t kMostRows = 8'192;  // 1 KiB each

}  // namespace

void GrammarPacker::add_state(std::span<const Grammar::Step> steps,
                              std::span<const Grammar::Call> calls,
                              std::span<const uint32_t> jumps, bool ends) {
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

void GrammarPacker::set_row(uint32_t state) {
  Grammar& out = *grammar_;
  std::array<uint32_t, 256> row;
  row.fill(Grammar::kNone);
  for (const Grammar::Step& step : out.steps(state))
    for (int byte = step.first; byte <= step.last; ++byte) row[byte] = step.target;
  uint8_t leaves = 0;
  for (int byte = 0; byte < 256; ++byte)
    if (row[byte] != state) leaves |= byte_kind(static_cast<uint8_t>(byte));
  out.states_[state].loops = static_cast<uint8_t>(~leaves & 0x1F);
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
  return std::move(grammar_);
}

}  // namespace pando::grammar
