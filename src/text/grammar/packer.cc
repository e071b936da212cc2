#include "text/grammar/packer.h"

#include <algorithm>

namespace pando::grammar {

namespace {

constexpr size_t kFewSteps = 3;      // so many are looked through
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
                         .is_local = calls.empty() && jumps.empty(),
                         .only_ends = ends && steps.empty() && calls.empty() && jumps.empty()});
  out.steps_.insert(out.steps_.end(), steps.begin(), steps.end());
  out.calls_.insert(out.calls_.end(), calls.begin(), calls.end());
  out.jumps_.insert(out.jumps_.end(), jumps.begin(), jumps.end());
}

// True if bytes `first` to `last`, each followed by n_more continuation bytes, lead from `from` to
// `to` through plain states.
bool GrammarPacker::leads(uint32_t from, uint8_t first, uint8_t last, int n_more,
                          uint32_t to) const {
  uint32_t known = Grammar::kNone;  // it is looked at already
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

// True if every character that is not ASCII leads from `from` to `to`.
bool GrammarPacker::leads_over_characters(uint32_t from, uint32_t to) const {
  const auto after = [&](uint8_t lead, uint8_t first, uint8_t last, int n_more) {
    const uint32_t next = grammar_->next(from, lead);
    return next != Grammar::kNone && grammar_->is_plain(next) &&
           leads(next, first, last, n_more, to);
  };
  return leads(from, 0xC2, 0xDF, 1, to) && after(0xE0, 0xA0, 0xBF, 1) &&
         leads(from, 0xE1, 0xEC, 2, to) && after(0xED, 0x80, 0x9F, 1) &&
         leads(from, 0xEE, 0xEF, 2, to) && after(0xF0, 0x90, 0xBF, 2) &&
         leads(from, 0xF1, 0xF3, 3, to) && after(0xF4, 0x80, 0x8F, 2);
}

// The state that all characters but quotes, backslashes and control characters lead to; or kNone.
uint32_t GrammarPacker::behind_any_character(uint32_t state) const {
  const uint32_t to = grammar_->next(state, 'a');
  if (to == Grammar::kNone) return Grammar::kNone;
  for (int byte = 0; byte < 0x80; ++byte)
    if (byte_kind(static_cast<uint8_t>(byte)) == kPlainAscii &&
        grammar_->next(state, static_cast<uint8_t>(byte)) != to)
      return Grammar::kNone;
  return leads_over_characters(state, to) ? to : Grammar::kNone;
}

void GrammarPacker::set_free_characters() {
  Grammar& out = *grammar_;
  const size_t n_states = out.n_states();
  std::vector<uint32_t> behind(n_states);
  for (uint32_t state = 0; state < n_states; ++state) {
    behind[state] = behind_any_character(state);
    if (behind[state] == state) out.states_[state].loops |= kNotAscii;
  }
  std::vector<bool> is_known(n_states, false);
  std::vector<uint32_t> path;
  for (uint32_t state = 0; state < n_states; ++state) {
    // A path that comes back to itself is without end.
    for (uint32_t at = state; at != Grammar::kNone && !is_known[at]; at = behind[at]) {
      is_known[at] = true;
      out.states_[at].n_free_characters = behind[at] == Grammar::kNone ? 0 : kManyCharacters;
      path.push_back(at);
    }
    for (; !path.empty(); path.pop_back()) {
      const uint32_t at = path.back();
      if (behind[at] == Grammar::kNone) continue;
      const int n = out.states_[behind[at]].n_free_characters;
      out.states_[at].n_free_characters =
          static_cast<uint8_t>(n == kManyCharacters ? n : std::min(n + 1, kManyCharacters - 1));
    }
  }
}

void GrammarPacker::set_string_states(uint32_t first, uint32_t n) {
  grammar_->first_string_state_ = first;
  grammar_->n_string_states_ = n;
}

void GrammarPacker::count(const CharLengths& lengths, std::vector<uint32_t> in_lengths) {
  Grammar& out = *grammar_;
  const auto rule = static_cast<uint32_t>(out.starts_.size() - 1);
  const auto [least, most] = lengths.bounds();
  CountedRule counted{.first_state = out.starts_[rule],
                      .n_states = static_cast<uint32_t>(in_lengths.size()),
                      .last_count = static_cast<uint32_t>(most == Lengths::kNoEnd ? least : most),
                      .lengths = lengths};
  for (const uint32_t state : in_lengths) counted.is_between.push_back(state != Grammar::kNone);
  out.counted_.push_back(std::move(counted));
  counted_.push_back({rule, std::move(in_lengths)});
}

// Appends the states of the lengths that a state can lead to. The rule's states begin at `first`.
void GrammarPacker::add_targets(const std::vector<uint32_t>& in_lengths, uint32_t first,
                                uint32_t state, std::vector<uint32_t>* targets) const {
  if (in_lengths[state] != Grammar::kNone) return targets->push_back(in_lengths[state]);
  for (const Grammar::Step& step : grammar_->steps(first + state))
    add_targets(in_lengths, first, step.target - first, targets);
}

bool GrammarPacker::finish_counted() {
  Grammar& out = *grammar_;
  uint64_t next_id = out.n_states();
  for (size_t i = 0; i < counted_.size(); ++i) {
    CountedRule& rule = out.counted_[i];
    rule.first_id = static_cast<uint32_t>(next_id);
    next_id += uint64_t{rule.n_states} * (uint64_t{rule.last_count} + 1);
    if (next_id >= Grammar::kNone) return false;
    out.starts_[counted_[i].rule] = rule.first_id;
    for (uint32_t state = 0; state < rule.n_states; ++state) {
      rule.first_target.push_back(static_cast<uint32_t>(rule.targets.size()));
      std::vector<uint32_t> targets;
      add_targets(counted_[i].in_lengths, rule.first_state, state, &targets);
      std::sort(targets.begin(), targets.end());
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
      rule.targets.insert(rule.targets.end(), targets.begin(), targets.end());
    }
    rule.first_target.push_back(static_cast<uint32_t>(rule.targets.size()));
  }
  return true;
}

size_t Grammar::n_bytes() const {
  size_t n_counted = 0;
  for (const CountedRule& rule : counted_) n_counted += rule.n_bytes();
  return n_counted + states_.size() * sizeof(State) + steps_.size() * sizeof(Step) +
         calls_.size() * sizeof(Call) + jumps_.size() * sizeof(uint32_t) +
         rows_.size() * sizeof(rows_[0]) + starts_.size() * sizeof(uint32_t);
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
  set_free_characters();
  if (!finish_counted()) return nullptr;
  return std::move(grammar_);
}

}  // namespace pando::grammar
