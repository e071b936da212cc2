#include "text/grammar/builder.h"

#include <algorithm>
#include <array>

#include "text/utf8.h"

namespace pando::grammar {

Builder::Rule Builder::add_rule() {
  const State start = state(), end = state();
  rules_.push_back({start, end});
  return static_cast<Rule>(rules_.size() - 1);
}

Builder::State Builder::state() {
  if (is_too_large()) return 0;  // finish() will refuse
  edges_.emplace_back();
  return static_cast<State>(edges_.size() - 1);
}

void Builder::empty(State from, State to) {
  if (from != to) edges_[from].push_back({.kind = Kind::kEmpty, .target = to});
}

void Builder::jump(State from, State to) {
  edges_[from].push_back({.kind = Kind::kJump, .target = to});
}

void Builder::bytes(State from, uint8_t first, uint8_t last, State to) {
  edges_[from].push_back({.kind = Kind::kBytes, .first = first, .last = last, .target = to});
}

void Builder::call(State from, Rule rule, State to) {
  edges_[from].push_back({.kind = Kind::kCall, .rule = rule, .target = to});
}

void Builder::separator(State from, char mark, State to) {
  const State behind = state();
  bytes(from, static_cast<uint8_t>(mark), static_cast<uint8_t>(mark), behind);
  empty(behind, to);
  bytes(behind, ' ', ' ', to);
}

Builder::State Builder::text(State from, std::string_view text) {
  for (const char c : text) {
    const State to = state();
    bytes(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), to);
    from = to;
  }
  return from;
}

namespace {

using Utf8Bytes = std::array<uint8_t, 4>;

int utf8_of(char32_t c, Utf8Bytes* out) {
  std::string text;
  append_utf8(c, &text);
  size_t n = 0;
  for (; n < text.size() && n < out->size(); ++n) (*out)[n] = static_cast<uint8_t>(text[n]);
  return static_cast<int>(n);
}

// Calls `sequence` for ranges of bytes, one for each byte, that together are the UTF-8 of a range
// of characters.
template <class Sequence>
void utf8_ranges(char32_t first, char32_t last, const Sequence& sequence) {
  constexpr std::array<char32_t, 3> kEnds{0x7F, 0x7FF, 0xFFFF};  // of each length but the last
  for (const char32_t end : kEnds)
    if (first <= end && last > end) {
      utf8_ranges(first, end, sequence);
      utf8_ranges(end + 1, last, sequence);
      return;
    }
  // All but the leading bytes that are equal must range over everything.
  for (int i = 1; i < 4 && last > 0x7F; ++i) {
    const char32_t low = (char32_t{1} << (6 * i)) - 1;
    if ((first & ~low) == (last & ~low)) break;
    if ((first & low) != 0) {
      utf8_ranges(first, first | low, sequence);
      utf8_ranges((first | low) + 1, last, sequence);
      return;
    }
    if ((last & low) != low) {
      utf8_ranges(first, (last & ~low) - 1, sequence);
      utf8_ranges(last & ~low, last, sequence);
      return;
    }
  }
  Utf8Bytes low{}, high{};
  const int n = utf8_of(first, &low);
  utf8_of(last, &high);
  sequence(low, high, n);
}

// Characters that a string of JSON escapes, and how.
constexpr std::array<std::pair<char, char>, 7> kShortEscapes{
    {{'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}}};

}  // namespace

void Builder::characters(State from, const CharSet& set, Encoding encoding, State to) {
  static const CharSet kEscaped({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
  const bool is_json = encoding == Encoding::kJsonString;
  // UTF-8 of several bytes shares its last ones: states from which n more continuation bytes lead
  // to `to`.
  std::array<State, 4> behind{to, 0, 0, 0};
  const auto any_continuation = [&](int n) {
    for (int i = 1; i <= n; ++i)
      if (behind[i] == 0) {
        behind[i] = state();
        bytes(behind[i], 0x80, 0xBF, behind[i - 1]);
      }
    return behind[n];
  };
  const CharSet themselves = is_json ? set.without(kEscaped).without(style_.escaped) : set;
  for (const CharRange& range : themselves.ranges())
    utf8_ranges(range.first, range.last, [&](const Utf8Bytes& low, const Utf8Bytes& high, int n) {
      State at = from;
      for (int i = 0; i < n; ++i) {
        const int rest = n - 1 - i;
        bool is_any = true;
        for (int j = i + 1; j < n; ++j) is_any = is_any && low[j] == 0x80 && high[j] == 0xBF;
        const State next = is_any ? any_continuation(rest) : state();
        bytes(at, low[i], high[i], next);
        if (is_any) break;
        at = next;
      }
    });
  if (!is_json) return;
  const CharSet escaped = set.both(kEscaped);
  if (escaped.is_empty()) return;
  const State slash = text(from, "\\");
  std::array<State, 2> digits{0, 0};  // behind "\u000" and "\u001"
  for (const CharRange& range : escaped.ranges())
    for (char32_t c = range.first; c <= range.last; ++c) {
      const auto* brief =
          std::find_if(kShortEscapes.begin(), kShortEscapes.end(),
                       [&](const auto& one) { return static_cast<char32_t>(one.first) == c; });
      if (brief != kShortEscapes.end()) {
        bytes(slash, static_cast<uint8_t>(brief->second), static_cast<uint8_t>(brief->second), to);
        continue;
      }
      State& digit = digits[c < 0x10 ? 0 : 1];
      if (digit == 0) digit = text(slash, c < 0x10 ? "u000" : "u001");
      const auto low = static_cast<uint8_t>(c & 0xF);
      if (low < 10) {
        bytes(digit, '0' + low, '0' + low, to);
      } else {
        bytes(digit, 'a' + low - 10, 'a' + low - 10, to);
        bytes(digit, 'A' + low - 10, 'A' + low - 10, to);
      }
    }
}

Builder::State Builder::repeat(State from, const Regex& regex, Encoding encoding) {
  const Regex& part = regex.parts[0];
  for (uint32_t i = 0; i < regex.least && !is_too_large(); ++i) {
    const State begin = state();
    empty(from, begin);
    from = this->regex(begin, part, encoding);
  }
  const State to = state();
  if (regex.most == Regex::kNoEnd) {
    const State loop = state();
    empty(from, loop);
    empty(this->regex(loop, part, encoding), loop);
    empty(loop, to);
    return to;
  }
  for (uint32_t i = regex.least; i < regex.most && !is_too_large(); ++i) {
    empty(from, to);
    const State begin = state();
    empty(from, begin);
    from = this->regex(begin, part, encoding);
  }
  empty(from, to);
  return to;
}

Builder::State Builder::regex(State from, const Regex& regex, Encoding encoding) {
  switch (regex.kind) {
    case Regex::Kind::kSet: {
      const State to = state();
      characters(from, regex.set, encoding, to);
      return to;
    }
    case Regex::Kind::kSequence:
      for (const Regex& part : regex.parts) from = this->regex(from, part, encoding);
      return from;
    case Regex::Kind::kOneOf: {
      const State to = state();
      for (const Regex& part : regex.parts) {
        const State begin = state();
        empty(from, begin);
        empty(this->regex(begin, part, encoding), to);
      }
      return to;
    }
    case Regex::Kind::kRepeat:
      return repeat(from, regex, encoding);
    case Regex::Kind::kTextStart:
    case Regex::Kind::kTextEnd:
      break;
  }
  return state();  // nothing leads to it: callers make automata of patterns with such ends
}

void Builder::automaton(State from, const CharDfa& dfa, Encoding encoding, State to) {
  std::vector<State> states(dfa.n_states());
  for (State& one : states) one = state();
  if (states.empty() || is_too_large()) return;
  empty(from, states[0]);
  for (size_t i = 0; i < states.size() && !is_too_large(); ++i) {
    if (dfa.accepts(i)) empty(states[i], to);
    // All classes that lead to one state at once.
    std::vector<std::pair<uint32_t, size_t>> targets;
    for (size_t c = 0; c < dfa.classes().size(); ++c)
      if (dfa.next(i, c) != CharDfa::kDead) targets.emplace_back(dfa.next(i, c), c);
    std::sort(targets.begin(), targets.end());
    for (size_t j = 0; j < targets.size();) {
      const uint32_t target = targets[j].first;
      std::vector<CharRange> ranges;
      for (; j < targets.size() && targets[j].first == target; ++j) {
        const auto& more = dfa.classes()[targets[j].second].ranges();
        ranges.insert(ranges.end(), more.begin(), more.end());
      }
      characters(states[i], CharSet(std::move(ranges)), encoding, states[target]);
    }
  }
}

void Builder::string(Rule rule, const CharDfa& dfa, std::optional<CharLengths> lengths) {
  if (lengths && !lengths->has_text()) return;
  const State inside = text(start(rule), "\""), end = state();
  bytes(end, '"', '"', this->end(rule));
  if (lengths)
    counted_.emplace(rule, Counted{static_cast<State>(edges_.size()), *std::move(lengths)});
  automaton(inside, dfa, Encoding::kJsonString, end);
}

}  // namespace pando::grammar
