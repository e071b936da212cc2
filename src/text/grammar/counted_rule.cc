// States of a Grammar that count characters.
#include "text/grammar/counted_rule.h"

#include <algorithm>

#include "text/grammar/grammar.h"

namespace pando::grammar {

Grammar::Place Grammar::place_of(uint32_t id) const {
  const auto behind = std::upper_bound(
      counted_.begin(), counted_.end(), id,
      [](uint32_t value, const CountedRule& rule) { return value < rule.first_id; });
  const CountedRule& rule = *std::prev(behind);
  const uint32_t at = id - rule.first_id;
  return {&rule, rule.first_state + at % rule.n_states, at / rule.n_states};
}

uint32_t Grammar::next_counted(uint32_t id, uint8_t byte) const {
  const auto [rule, from, count] = place_of(id);
  const uint32_t to = next_uncounted(from, byte);
  if (to == kNone) return kNone;
  uint32_t n_read = count;
  if (states_[to].ends) {
    if (n_read < rule->lengths.bounds().least) return kNone;
  } else {
    n_read += rule->is_between[from - rule->first_state];
    if (!rule->allows(to - rule->first_state, n_read)) return kNone;
  }
  return rule->first_id + std::min(n_read, rule->last_count) * rule->n_states +
         (to - rule->first_state);
}

bool Grammar::counts_no_more(uint32_t id) const {
  const Place place = place_of(id);
  return place.rule->lengths.bounds().most == Lengths::kNoEnd &&
         place.count == place.rule->last_count;
}

uint8_t Grammar::n_free_counted(uint32_t id) const {
  const auto [rule, state, count] = place_of(id);
  // Any character leads back to it.
  if (states_[state].n_free_characters != kManyCharacters) return 0;
  const CharLengths& lengths = rule->lengths;
  if (lengths.bounds().most == Lengths::kNoEnd) return kManyCharacters;
  const uint32_t in_lengths = rule->targets[rule->first_target[state - rule->first_state]];
  const size_t n_left = lengths.bounds().most - count - lengths.shortest(in_lengths);
  return static_cast<uint8_t>(std::min<size_t>(n_left, kManyCharacters - 1));
}

uint32_t Grammar::alike(uint32_t state, size_t n_bytes) const {
  if (state < n_states()) return state;
  const Place place = place_of(state);
  const CharLengths& lengths = place.rule->lengths;
  const auto [least, most] = lengths.bounds();
  // After such a text, any end is within the bounds.
  const bool is_far = most != Lengths::kNoEnd && place.count >= least &&
                      place.count + n_bytes + lengths.longest_rest() <= most;
  if (!is_far) return state;
  return state - (place.count - static_cast<uint32_t>(least)) * place.rule->n_states;
}

}  // namespace pando::grammar
