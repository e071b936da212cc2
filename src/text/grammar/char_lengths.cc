#include "text/grammar/char_lengths.h"

#include <algorithm>

#include "base/errors.h"
#include "text/grammar/limits.h"

namespace pando::grammar {

namespace {

// For each state, the fewest characters to an end. Each state leads to one.
std::vector<uint32_t> shortest_rests(const CharDfa& dfa) {
  const auto n = static_cast<uint32_t>(dfa.n_states());
  std::vector<std::vector<uint32_t>> before(n);
  std::vector<uint32_t> rests(n, UINT32_MAX), todo;
  for (uint32_t i = 0; i < n; ++i) {
    for (size_t c = 0; c < dfa.classes().size(); ++c)
      if (const uint32_t to = dfa.next(i, c); to != CharDfa::kDead) before[to].push_back(i);
    if (!dfa.accepts(i)) continue;
    rests[i] = 0;
    todo.push_back(i);
  }
  for (size_t i = 0; i < todo.size(); ++i)
    for (const uint32_t from : before[todo[i]])
      if (rests[from] == UINT32_MAX) {
        rests[from] = rests[todo[i]] + 1;
        todo.push_back(from);
      }
  return rests;
}

}  // namespace

std::optional<CountedSet> counted_set_of(const Regex& pattern) {
  using Kind = Regex::Kind;
  const std::vector<Regex>& parts = pattern.parts;
  if (pattern.kind != Kind::kSequence || parts.size() != 3 || parts[0].kind != Kind::kTextStart ||
      parts[2].kind != Kind::kTextEnd)
    return std::nullopt;
  const Regex& middle = parts[1];
  if (middle.kind != Kind::kRepeat || middle.parts[0].kind != Kind::kSet) return std::nullopt;
  return CountedSet{middle.parts[0].set,
                    {middle.least, middle.most == Regex::kNoEnd ? Lengths::kNoEnd : middle.most}};
}

Result<CharLengths> CharLengths::of(const CharDfa& dfa, Lengths bounds, size_t* n_steps) {
  CharLengths out;
  out.bounds_ = bounds;
  const size_t n = out.n_states_ = dfa.n_states();
  out.shortest_ = shortest_rests(dfa);
  if (n > 0) out.longest_rest_ = std::ranges::max(out.shortest_);
  const size_t n_edges = n * dfa.classes().size();
  if (n_steps != nullptr) *n_steps += n_edges;
  if (n == 0 || bounds.least > bounds.most) return out;  // it has no text
  for (uint32_t row = 1; row <= bounds.least; ++row) {
    const uint32_t* last = out.shortest_.data() + (row - 1) * n;
    std::vector<uint32_t> next(n, kNever);
    bool is_settled = true;
    for (size_t i = 0; i < n; ++i) {
      uint32_t least = kNever;
      for (size_t c = 0; c < dfa.classes().size(); ++c)
        if (const uint32_t to = dfa.next(i, c); to != CharDfa::kDead)
          least = std::min(least, last[to]);
      if (least != kNever) next[i] = least + 1;
      is_settled = is_settled && (last[i] == kNever || (last[i] == row - 1 && least != kNever));
    }
    if (is_settled) break;
    out.shortest_.insert(out.shortest_.end(), next.begin(), next.end());
    ++out.n_rows_;
    if (n_steps != nullptr) *n_steps += n_edges;
    if (out.shortest_.size() > kMostPatternCells) return unsupported("too complex");
  }
  return out;
}

bool CharLengths::allows(uint32_t state, size_t n_read) const {
  if (n_read > bounds_.most) return false;
  const size_t missing = bounds_.least - std::min(n_read, bounds_.least);
  const uint32_t rest = shortest_[std::min(missing, n_rows_ - 1) * n_states_ + state];
  return rest != kNever && std::max<size_t>(rest, missing) <= bounds_.most - n_read;
}

}  // namespace pando::grammar
