// Stop strings found in pieces, against a search that takes one byte at a time.
#include "engine/stop_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace pando {
namespace {

using Strings = std::vector<std::string>;

struct Outcome {
  std::string text;
  bool stopped = false;
  std::string match = {};
  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << '"' << outcome.text << (outcome.stopped ? "\", stopped" : "\", not stopped");
}

// Ends where the first stop string is whole, behind n_passed bytes; the longest one that ends there
// is cut off.
Outcome naive(const std::string& text, const Strings& stops, size_t n_passed = 0) {
  for (size_t end = n_passed + 1; end <= text.size(); ++end) {
    std::string match;
    for (const std::string& stop : stops)
      if (stop.size() > match.size() && text.substr(0, end).ends_with(stop)) match = stop;
    if (!match.empty()) return {text.substr(0, end - match.size()), true, match};
  }
  return {text, false};
}

// The first n_passed pieces may not stop.
Outcome matched(const Strings& pieces, const Strings& stops, size_t n_passed = 0) {
  StopMatcher matcher(stops);
  Outcome outcome;
  for (size_t i = 0; i < pieces.size(); ++i) {
    outcome.text += matcher.push(pieces[i], /*may_stop=*/i >= n_passed);
    if (matcher.stopped()) return {outcome.text, true, matcher.match()};
  }
  outcome.text += matcher.finish();
  return outcome;
}

// Every way of cutting a text in three.
void expect_naive_in_pieces(const std::string& text, const Strings& stops) {
  const Outcome expected = naive(text, stops);
  for (size_t a = 0; a <= text.size(); ++a)
    for (size_t b = a; b <= text.size(); ++b)
      EXPECT_EQ(matched({text.substr(0, a), text.substr(a, b - a), text.substr(b)}, stops),
                expected)
          << text << " cut at " << a << " and " << b;
}

TEST(StopMatcher, WithoutStopsEverythingIsShownAtOnce) {
  const Strings stops;
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.push("abc"), "abc");
  EXPECT_EQ(matcher.push(""), "");
  EXPECT_EQ(matcher.finish(), "");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, FoundHoweverTheTextIsCut) {
  for (const char* text : {"one\n\ntwo", "\n\n", "\n", "a\n\n\n", "no stop", "\nQ\n\nQ", ""})
    expect_naive_in_pieces(text, {"\n\n"});
}

TEST(StopMatcher, SeveralAndOverlapping) {
  for (const Strings& stops :
       {Strings{"abc", "b"}, Strings{"b", "abc"}, Strings{"abcd", "bc"}, Strings{"abc", "bc", "c"},
        Strings{"aa", "aab"}, Strings{"aba", "bab"}})
    for (const char* text : {"xabcx", "ababab", "aaab", "xabx", "aabbcc", "abcdabcd"})
      expect_naive_in_pieces(text, stops);
}

TEST(StopMatcher, HoldsBackNoMoreThanMayBegin) {
  const Strings stops = {"STOP", "OPEN"};
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.push("aST"), "a");
  EXPECT_EQ(matcher.push("O"), "");
  EXPECT_EQ(matcher.push("x"), "STOx");
  EXPECT_EQ(matcher.push("STOPE"), "");
  EXPECT_TRUE(matcher.stopped());
}

TEST(StopMatcher, ReleasesWhatOnlyAShorterEndStillBegins) {
  const Strings stops = {"aab"};
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.push("aa"), "");
  EXPECT_EQ(matcher.push("a"), "a");
  EXPECT_EQ(matcher.push("c"), "aac");
  EXPECT_EQ(matcher.push("a"), "");
  EXPECT_EQ(matcher.finish(), "a");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, DropsTheStopAndWhatFollows) {
  const Strings stops = {"\n"};
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.push("answer\nmore\n"), "answer");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, WhatEndsBeforeItMayStopIsShown) {
  const Strings stops = {"\n\n", "ab"};
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.push("x\n\nab", false), "x\n\nab");
  EXPECT_EQ(matcher.push("\n", false), "");
  EXPECT_EQ(matcher.push("\nmore"), "") << "it begins before and ends behind";
  EXPECT_TRUE(matcher.stopped());
  const Strings nested = {"abcd", "bc"};
  StopMatcher other(nested);
  EXPECT_EQ(other.push("abc", false), "");
  EXPECT_EQ(other.push("x"), "abcx") << "that which ended is not found later";
  EXPECT_FALSE(other.stopped());
}

TEST(StopMatcher, CharactersOfSeveralBytesStayWhole) {
  const Strings stops = {"é!"};
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.push("caf"), "caf");
  EXPECT_EQ(matcher.push("é"), "");
  EXPECT_EQ(matcher.push("è"), "éè");
  EXPECT_EQ(matcher.push("é!"), "");
  EXPECT_TRUE(matcher.stopped());
}

TEST(StopMatcher, RandomTextsAgainstTheNaiveSearch) {
  std::mt19937 rng(5);
  const auto random_text = [&](int longest) {
    std::string text(1 + rng() % longest, ' ');
    for (char& c : text) c = static_cast<char>('a' + rng() % 3);
    return text;
  };
  for (int round = 0; round < 20000; ++round) {
    Strings stops(1 + rng() % 3), pieces(rng() % 8);
    for (std::string& stop : stops) stop = random_text(6);
    std::string text;
    for (std::string& piece : pieces) text += piece = random_text(4);
    ASSERT_EQ(matched(pieces, stops), naive(text, stops)) << text << " round " << round;
    size_t n_bytes = 0;
    for (size_t n_passed = 1; n_passed <= pieces.size(); ++n_passed) {
      n_bytes += pieces[n_passed - 1].size();
      ASSERT_EQ(matched(pieces, stops, n_passed), naive(text, stops, n_bytes))
          << text << " round " << round << ", passed " << n_bytes;
    }
  }
}

}  // namespace
}  // namespace pando
