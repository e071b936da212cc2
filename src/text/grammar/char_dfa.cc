#include "text/grammar/char_dfa.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/errors.h"
#include "text/grammar/char_nfa.h"
#include "text/grammar/limits.h"

namespace pando::grammar {

namespace {

Error too_many_states() {
  return unsupported("too complex: its automaton has more than {} states", kMostPatternStates);
}

Error too_many_classes() {
  return unsupported("too complex: its sets of characters overlap in too many ways");
}

// Cuts all characters at the ends of the sets' ranges. Characters that are in the same of the sets
// are one class; `members` are the sets of each class.
struct Classes {
  std::vector<CharSet> sets;
  std::vector<std::vector<uint32_t>> members;
};

// Nothing if they take too much work.
std::optional<Classes> classes_of(const std::vector<const CharSet*>& sets) {
  // Points where a set begins or ends.
  std::map<char32_t, std::vector<std::pair<uint32_t, bool>>> cuts;
  for (uint32_t i = 0; i < sets.size(); ++i)
    for (const CharRange& range : sets[i]->ranges()) {
      cuts[range.first].push_back({i, true});
      cuts[range.last + 1].push_back({i, false});
    }
  std::map<std::vector<uint32_t>, std::vector<CharRange>> ranges_of;
  std::vector<uint32_t> in;  // sorted
  char32_t begin = 0;
  size_t n_steps = 0;
  const auto close = [&](char32_t end) {
    n_steps += 1 + in.size();
    if (end > begin) ranges_of[in].push_back({begin, end - 1});
    begin = end;
  };
  for (const auto& [at, changes] : cuts) {
    close(at);
    if (n_steps > kMostClassWork) return std::nullopt;
    for (const auto& [set, enters] : changes) {
      const auto place = std::lower_bound(in.begin(), in.end(), set);
      if (enters)
        in.insert(place, set);
      else if (place != in.end() && *place == set)
        in.erase(place);
    }
  }
  close(kLastChar + 1);
  Classes out;
  for (auto& [of, ranges] : ranges_of) {
    CharSet set(std::move(ranges));
    if (set.is_empty()) continue;
    out.sets.push_back(std::move(set));
    out.members.push_back(of);
  }
  return out;
}

struct SetHash {
  size_t operator()(const std::vector<uint32_t>& states) const {
    uint64_t hash = states.size();
    for (const uint32_t state : states)
      hash = (hash ^ state) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    return hash;
  }
};

// The subset construction.
class Determiniser {
 public:
  explicit Determiniser(const CharNfa& nfa) : nfa_(nfa), seen_(nfa.edges.size(), 0) {}

  size_t n_steps() const { return work_; }

  Result<CharDfa> run() {
    std::vector<const CharSet*> sets;
    for (const CharSet& set : nfa_.sets) sets.push_back(&set);
    auto classes = classes_of(sets);
    const size_t n_sets = std::max<size_t>(1, sets.size());
    if (!classes || classes->sets.size() > kMostPatternCells * 16 / n_sets) {
      work_ += kMostClassWork;
      return too_many_classes();
    }
    classes_ = std::move(*classes);
    has_set_.assign(classes_.sets.size() * n_sets, false);
    for (size_t c = 0; c < classes_.sets.size(); ++c)
      for (const uint32_t set : classes_.members[c]) has_set_[c * n_sets + set] = true;
    work_ += has_set_.size() / 64;
    id_of(closure({nfa_.start}, true));
    for (size_t i = 0; i < sets_.size(); ++i) {
      for (size_t c = 0; c < classes_.sets.size(); ++c) {
        std::vector<uint32_t> targets;
        for (const uint32_t state : *sets_[i])
          for (const CharNfa::Edge& edge : nfa_.edges[state])
            if (edge.kind == CharNfa::Kind::kSet && has_set_[c * n_sets + edge.set])
              targets.push_back(edge.target);
        work_ += sets_[i]->size() + 1;
        next_.push_back(targets.empty() ? CharDfa::kDead
                                        : id_of(closure(std::move(targets), false)));
      }
      if (sets_.size() > kMostPatternStates || next_.size() > kMostPatternCells ||
          work_ > kMostSubsetWork)
        return too_many_states();
    }
    return CharDfa::of_table(std::move(classes_.sets), std::move(next_), std::move(accepts_));
  }

 private:
  // States that `states` reach without a character; sorted. Only the last state if the rest of the
  // text cannot matter any more.
  std::vector<uint32_t> closure(std::vector<uint32_t> states, bool is_start) {
    ++epoch_;
    std::vector<uint32_t> all;
    const auto add = [&](uint32_t state) {
      if (std::exchange(seen_[state], epoch_) != epoch_) all.push_back(state);
    };
    for (const uint32_t state : states) add(state);
    for (size_t i = 0; i < all.size(); ++i)
      for (const CharNfa::Edge& edge : nfa_.edges[all[i]])
        if (edge.kind == CharNfa::Kind::kEmpty ||
            (edge.kind == CharNfa::Kind::kTextStart && is_start))
          add(edge.target);
    work_ += all.size();
    is_start_ = is_start;
    if (accepts_all(nfa_.final) && seen_[nfa_.final] == epoch_) return {nfa_.final};
    std::sort(all.begin(), all.end());
    return all;
  }
  bool accepts_all(uint32_t state) const {
    const auto& edges = nfa_.edges[state];
    return edges.size() == 1 && edges[0].kind == CharNfa::Kind::kSet && edges[0].target == state &&
           nfa_.sets[edges[0].set] == CharSet::all();
  }
  // True if the text may end here, also by assertions that hold at its end.
  bool accepts(const std::vector<uint32_t>& states) {
    if (!nfa_.has_assertions) return std::binary_search(states.begin(), states.end(), nfa_.final);
    ++epoch_;
    std::vector<uint32_t> all;
    const auto add = [&](uint32_t state) {
      if (std::exchange(seen_[state], epoch_) != epoch_) all.push_back(state);
    };
    for (const uint32_t state : states) add(state);
    for (size_t i = 0; i < all.size(); ++i)
      for (const CharNfa::Edge& edge : nfa_.edges[all[i]])
        if (edge.kind == CharNfa::Kind::kEmpty || edge.kind == CharNfa::Kind::kTextEnd ||
            (edge.kind == CharNfa::Kind::kTextStart && is_start_))
          add(edge.target);
    return seen_[nfa_.final] == epoch_;
  }
  uint32_t id_of(std::vector<uint32_t> states) {
    // The start is a state of its own: only there does the text start.
    const bool is_first = sets_.empty();
    if (!is_first) {
      const auto found = ids_.find(states);
      if (found != ids_.end()) return found->second;
    }
    const auto id = static_cast<uint32_t>(sets_.size());
    accepts_.push_back(accepts(states));
    if (is_first && nfa_.has_assertions) {
      first_ = std::move(states);
      sets_.push_back(&first_);
    } else {
      sets_.push_back(&ids_.emplace(std::move(states), id).first->first);
    }
    return id;
  }

  const CharNfa& nfa_;
  Classes classes_;
  std::vector<bool> has_set_;  // [n_classes, n_sets]
  std::vector<uint32_t> seen_;
  uint32_t epoch_ = 0;
  bool is_start_ = false;
  size_t work_ = 0;
  std::vector<uint32_t> first_;
  std::unordered_map<std::vector<uint32_t>, uint32_t, SetHash> ids_;
  std::vector<const std::vector<uint32_t>*> sets_;
  std::vector<uint32_t> next_;
  std::vector<bool> accepts_;
};

}  // namespace

Result<CharDfa> CharDfa::of(const Regex& regex, bool is_search, size_t* n_steps) {
  auto nfa = char_nfa_of(regex, is_search);
  if (!nfa) {
    if (n_steps != nullptr) *n_steps += kMostPatternNodes;
    return std::move(nfa).error();
  }
  Determiniser determiniser(*nfa);
  auto dfa = determiniser.run();
  if (n_steps != nullptr) *n_steps += nfa->edges.size() + determiniser.n_steps();
  return dfa;
}

CharDfa CharDfa::of_table(std::vector<CharSet> classes, std::vector<uint32_t> next,
                          std::vector<bool> accepts) {
  CharDfa out;
  out.classes_ = std::move(classes);
  out.next_ = std::move(next);
  out.accepts_ = std::move(accepts);
  out.trim();
  return out;
}

Result<CharDfa> CharDfa::both(const CharDfa& other, size_t* n_steps) const {
  if (is_empty() || other.is_empty()) return CharDfa();
  std::vector<const CharSet*> sets;
  for (const CharSet& set : classes_) sets.push_back(&set);
  for (const CharSet& set : other.classes_) sets.push_back(&set);
  auto classes = classes_of(sets);
  if (!classes) {
    if (n_steps != nullptr) *n_steps += kMostClassWork;
    return too_many_classes();
  }
  std::vector<std::pair<uint32_t, uint32_t>> of_class;  // (class of this, class of the other)
  for (const auto& members : classes->members) {
    // Both partitions cover every character.
    of_class.emplace_back(members.front(), members.back() - static_cast<uint32_t>(classes_.size()));
  }
  std::unordered_map<uint64_t, uint32_t> ids;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  const auto id_of = [&](uint32_t a, uint32_t b) {
    const auto [at, is_new] =
        ids.try_emplace(uint64_t{a} << 32 | b, static_cast<uint32_t>(pairs.size()));
    if (is_new) pairs.emplace_back(a, b);
    return at->second;
  };
  std::vector<uint32_t> next;
  std::vector<bool> accepts;
  id_of(0, 0);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto [a, b] = pairs[i];
    accepts.push_back(accepts_[a] && other.accepts_[b]);
    for (const auto& [class_a, class_b] : of_class) {
      const uint32_t to_a = this->next(a, class_a), to_b = other.next(b, class_b);
      next.push_back(to_a == kDead || to_b == kDead ? kDead : id_of(to_a, to_b));
    }
    if (n_steps != nullptr) *n_steps += of_class.size();
    if (pairs.size() > kMostPatternStates || next.size() > kMostPatternCells)
      return too_many_states();
  }
  return of_table(std::move(classes->sets), std::move(next), std::move(accepts));
}

CharDfa CharDfa::complement() const {
  if (is_empty()) return of_table({CharSet::all()}, {0}, {true});
  std::vector<uint32_t> next = next_;
  std::vector<bool> accepts = accepts_;
  accepts.flip();
  const auto rest = static_cast<uint32_t>(accepts_.size());
  for (uint32_t& to : next)
    if (to == kDead) to = rest;
  next.insert(next.end(), classes_.size(), rest);
  accepts.push_back(true);
  return of_table(classes_, std::move(next), std::move(accepts));
}

// Partitions the states into accepting and other ones, then repeatedly refines the partition by the
// parts that their characters lead to (Moore, 1956).
CharDfa CharDfa::minimal() const {
  const size_t n_classes = classes_.size();
  std::vector<uint32_t> part(accepts_.begin(), accepts_.end());
  for (size_t n_parts = 0, n_found = 1; n_found != n_parts;) {
    n_parts = n_found;
    std::unordered_map<std::vector<uint32_t>, uint32_t, SetHash> ids;
    std::vector<uint32_t> finer;
    for (size_t i = 0; i < n_states(); ++i) {
      std::vector<uint32_t> to{part[i]};
      for (size_t c = 0; c < n_classes; ++c)
        to.push_back(next(i, c) == kDead ? kDead : part[next(i, c)]);
      finer.push_back(
          ids.try_emplace(std::move(to), static_cast<uint32_t>(ids.size())).first->second);
    }
    part = std::move(finer);
    n_found = ids.size();
  }
  const size_t n = part.empty() ? 0 : *std::ranges::max_element(part) + 1;
  std::vector<uint32_t> table(n * n_classes, kDead);
  std::vector<bool> accepts(n);
  for (size_t i = 0; i < n_states(); ++i) {
    accepts[part[i]] = accepts_[i];
    for (size_t c = 0; c < n_classes; ++c)
      if (next(i, c) != kDead) table[part[i] * n_classes + c] = part[next(i, c)];
  }
  return of_table(classes_, std::move(table), std::move(accepts));
}

bool CharDfa::matches(std::string_view text) const {
  if (is_empty()) return false;
  uint32_t state = 0;
  for (const char32_t c : characters_of(text)) {
    const auto found = std::find_if(classes_.begin(), classes_.end(),
                                    [&](const CharSet& set) { return set.contains(c); });
    if (found == classes_.end()) return false;
    state = next(state, static_cast<size_t>(found - classes_.begin()));
    if (state == kDead) return false;
  }
  return accepts_[state];
}

// Removes states that lead to no end, or that the start does not reach.
void CharDfa::trim() {
  const size_t n = accepts_.size(), n_classes = classes_.size();
  std::vector<std::vector<uint32_t>> before(n);
  std::vector<bool> is_live = accepts_;
  std::vector<uint32_t> todo;
  for (size_t i = 0; i < n; ++i) {
    if (accepts_[i]) todo.push_back(static_cast<uint32_t>(i));
    for (size_t c = 0; c < n_classes; ++c)
      if (const uint32_t to = next(i, c);
          to != kDead && (before[to].empty() || before[to].back() != i))
        before[to].push_back(static_cast<uint32_t>(i));
  }
  while (!todo.empty()) {
    const uint32_t at = todo.back();
    todo.pop_back();
    for (const uint32_t from : before[at]) {
      if (is_live[from]) continue;
      is_live[from] = true;
      todo.push_back(from);
    }
  }
  std::vector<uint32_t> number(n, kDead), order;
  if (n > 0 && is_live[0]) {
    number[0] = 0;
    order.push_back(0);
  }
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t c = 0; c < n_classes; ++c)
      if (const uint32_t to = next(order[i], c);
          to != kDead && is_live[to] && number[to] == kDead) {
        number[to] = static_cast<uint32_t>(order.size());
        order.push_back(to);
      }
  std::vector<uint32_t> new_next;
  std::vector<bool> new_accepts;
  for (const uint32_t old : order) {
    new_accepts.push_back(accepts_[old]);
    for (size_t c = 0; c < n_classes; ++c) {
      const uint32_t to = next(old, c);
      new_next.push_back(to == kDead || !is_live[to] ? kDead : number[to]);
    }
  }
  next_ = std::move(new_next);
  accepts_ = std::move(new_accepts);
}

}  // namespace pando::grammar
