#include "text/grammar/char_nfa.h"

#include <map>

#include "base/errors.h"
#include "text/grammar/limits.h"

namespace pando::grammar {

namespace {

class NfaMaker {
 public:
  CharNfa nfa;
  bool is_too_large = false;

  uint32_t state() {
    nfa.edges.emplace_back();
    is_too_large = nfa.edges.size() > kMostPatternNodes;
    return static_cast<uint32_t>(nfa.edges.size() - 1);
  }
  void edge(uint32_t from, CharNfa::Kind kind, uint32_t to, uint32_t set = 0) {
    nfa.edges[from].push_back({kind, to, set});
  }
  uint32_t set_index(const CharSet& set) {
    const auto [at, is_new] = index_of_.try_emplace(set, static_cast<uint32_t>(nfa.sets.size()));
    if (is_new) nfa.sets.push_back(set);
    return at->second;
  }

  // Adds `regex` behind `from`; the state behind it.
  uint32_t add(const Regex& regex, uint32_t from) {
    if (is_too_large) return from;
    switch (regex.kind) {
      case Regex::Kind::kSet: {
        const uint32_t to = state();
        if (!regex.set.is_empty()) edge(from, CharNfa::Kind::kSet, to, set_index(regex.set));
        return to;
      }
      case Regex::Kind::kSequence:
        for (const Regex& part : regex.parts) from = add(part, from);
        return from;
      case Regex::Kind::kOneOf: {
        const uint32_t to = state();
        for (const Regex& part : regex.parts) {
          const uint32_t begin = state();
          edge(from, CharNfa::Kind::kEmpty, begin);
          edge(add(part, begin), CharNfa::Kind::kEmpty, to);
          if (is_too_large) break;
        }
        return to;
      }
      case Regex::Kind::kRepeat:
        return add_repeat(regex, from);
      case Regex::Kind::kTextStart:
      case Regex::Kind::kTextEnd: {
        nfa.has_assertions = true;
        const uint32_t to = state();
        edge(from,
             regex.kind == Regex::Kind::kTextStart ? CharNfa::Kind::kTextStart
                                                   : CharNfa::Kind::kTextEnd,
             to);
        return to;
      }
    }
    return from;
  }

 private:
  uint32_t add_repeat(const Regex& regex, uint32_t from) {
    const Regex& part = regex.parts[0];
    for (uint32_t i = 0; i < regex.least && !is_too_large; ++i) from = step(part, from);
    if (regex.most == Regex::kNoEnd) {
      const uint32_t loop = state();
      edge(from, CharNfa::Kind::kEmpty, loop);
      edge(add(part, loop), CharNfa::Kind::kEmpty, loop);
      const uint32_t to = state();
      edge(loop, CharNfa::Kind::kEmpty, to);
      return to;
    }
    const uint32_t to = state();
    for (uint32_t i = regex.least; i < regex.most && !is_too_large; ++i) {
      edge(from, CharNfa::Kind::kEmpty, to);
      from = step(part, from);
    }
    edge(from, CharNfa::Kind::kEmpty, to);
    return to;
  }
  // A repetition of an empty part adds no states, and must not run for ever.
  uint32_t step(const Regex& part, uint32_t from) {
    const uint32_t begin = state();
    edge(from, CharNfa::Kind::kEmpty, begin);
    return add(part, begin);
  }

  std::map<CharSet, uint32_t> index_of_;
};

}  // namespace

Result<CharNfa> char_nfa_of(const Regex& regex, bool is_search) {
  NfaMaker maker;
  maker.nfa.start = maker.state();
  uint32_t at = maker.nfa.start;
  const Regex anything = repeat(of_set(CharSet::all()), 0);
  if (is_search) at = maker.add(anything, at);
  at = maker.add(regex, at);
  if (is_search) {
    // A last state in which the rest of the text stays.
    const uint32_t rest = maker.state();
    maker.edge(at, CharNfa::Kind::kEmpty, rest);
    maker.edge(rest, CharNfa::Kind::kSet, rest, maker.set_index(CharSet::all()));
    at = rest;
  }
  maker.nfa.final = at;
  if (maker.is_too_large)
    return unsupported("too large: it has more than {} parts, each repetition counted",
                       kMostPatternNodes);
  return std::move(maker.nfa);
}

}  // namespace pando::grammar
