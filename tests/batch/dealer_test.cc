// Lines go to replicas by their work, and stay with what they share.
#include "batch/dealer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/errors.h"

namespace pando::testing {
namespace {

using Records = std::vector<std::shared_ptr<OpenRecord>>;

// The work of a line with so many tokens of its own, behind pieces.
Records add(Dealer& dealer, double own, std::vector<Piece> pieces = {}, size_t n = 1) {
  Records records;
  for (size_t i = 0; i < n; ++i) records.push_back(std::make_shared<OpenRecord>());
  dealer.add(records, {std::move(pieces), own});
  return records;
}

// All of a round.
Records deal(Dealer& dealer) {
  Records dealt;
  dealer.begin_round();
  while (dealer.is_dealing()) std::ranges::move(dealer.deal(), std::back_inserter(dealt));
  return dealt;
}

// Hashes of a beginning of n pieces.
std::vector<Piece> beginning(uint64_t of, size_t n) {
  std::vector<Piece> pieces(n);
  std::iota(pieces.begin(), pieces.end(), of * 1000);
  return pieces;
}

TEST(Dealer, TheLargestGoFirstEachToTheLeastLoaded) {
  Dealer dealer(2, /*in_order=*/false);
  std::vector<Records> lines;
  for (const double own : {1., 2., 3., 4., 10.}) lines.push_back(add(dealer, own));
  EXPECT_EQ(dealer.n_gathered(), 5u);
  const Records dealt = deal(dealer);
  EXPECT_EQ(dealer.n_gathered(), 0u);
  EXPECT_EQ(dealt.front(), lines[4].front());
  for (size_t i = 0; i < 4; ++i) EXPECT_NE(lines[i].front()->replica, lines[4].front()->replica);
  EXPECT_EQ(dealer.load(0), 10);
  EXPECT_EQ(dealer.load(1), 10);
}

TEST(Dealer, OrderIsThatOfTheInputWhereItIsWanted) {
  Dealer dealer(2, /*in_order=*/true);
  Records lines;
  for (const double own : {1., 2., 10., 3.}) lines.push_back(add(dealer, own).front());
  EXPECT_EQ(deal(dealer), lines);
}

TEST(Dealer, WhatIsOverIsNoLoad) {
  Dealer dealer(2, false);
  const Records line = add(dealer, 8, beginning(1, 1), 2);
  deal(dealer);
  EXPECT_EQ(dealer.load(0), 8 + kPieceTokens);
  for (const auto& record : line) dealer.end(*record);
  EXPECT_EQ(dealer.load(0), 0);
}

TEST(Dealer, QuestionsOfALineStayTogether) {
  Dealer dealer(4, false);
  const Records line = add(dealer, 1e6, {}, 100);
  deal(dealer);
  for (const auto& record : line) EXPECT_EQ(record->replica, 0u);
}

// Rows of a table that name the same document.
TEST(Dealer, LinesAboutOneDocumentStayTogether) {
  Dealer dealer(3, false);
  std::vector<Records> documents(6);
  for (size_t i = 0; i < documents.size(); ++i)
    for (int row = 0; row < 10; ++row)
      documents[i].push_back(add(dealer, 20, beginning(i, 8)).front());
  deal(dealer);
  std::multiset<size_t> replicas;
  for (const Records& document : documents) {
    replicas.insert(document.front()->replica);
    for (const auto& record : document) EXPECT_EQ(record->replica, document.front()->replica);
  }
  EXPECT_EQ(replicas, (std::multiset<size_t>{0, 0, 1, 1, 2, 2}));
}

// The next round has the rest of the document.
TEST(Dealer, ADocumentIsFoundAgain) {
  Dealer dealer(2, false);
  const auto first = add(dealer, 20, beginning(1, 8)).front();
  deal(dealer);
  const auto other = add(dealer, 500, beginning(2, 1)).front();
  const auto again = add(dealer, 20, beginning(1, 8)).front();
  deal(dealer);
  EXPECT_EQ(again->replica, first->replica);
  EXPECT_NE(other->replica, first->replica);
  EXPECT_EQ(again->work, 20);  // without what was computed
}

// A beginning that all lines have, as of examples before each prompt, is computed by every replica.
TEST(Dealer, ABeginningOfAllLinesDoesNotKeepThemTogether) {
  Dealer dealer(2, false);
  for (int line = 0; line < 1000; ++line) add(dealer, 60, beginning(1, 16));
  deal(dealer);
  EXPECT_LT(std::abs(dealer.load(0) - dealer.load(1)), 0.2 * dealer.load(0));
}

TEST(Dealer, WhatIsTakenBackIsNotDealt) {
  Dealer dealer(2, false);
  add(dealer, 1);
  add(dealer, 2, {}, 3);
  EXPECT_EQ(dealer.take_back().size(), 4u);
  EXPECT_EQ(dealer.n_gathered(), 0u);
  dealer.begin_round();
  EXPECT_FALSE(dealer.is_dealing());
}

LineWork work_of(const std::string& line) {
  const BatchOptions options;
  const Result<EmbedOptions> embed = options.embed;
  const auto parsed = ask::read_answer_line(nlohmann::json::parse(line),
                                            {.number = 1, .options = options, .embed = embed});
  EXPECT_TRUE(parsed.ok());
  return LineWork::of(**parsed, /*answer_tokens=*/10);
}

TEST(LineWork, IsThatOfContextQuestionsAndAnswers) {
  const std::string line =
      R"({"context": ")" + std::string(600, 'c') + R"(", "questions": ["1234", {"text": "5678"}])";
  const LineWork work = work_of(line + "}"), shorter = work_of(line + R"(, "max_tokens": 3})");
  EXPECT_EQ(work.pieces.size(), 2u);
  EXPECT_EQ(work.own, (600 - 512 + 8) / 4 + 2 * 10);
  EXPECT_EQ(work.all(), work.own + 128);
  EXPECT_EQ(shorter.pieces, work.pieces);
  EXPECT_EQ(shorter.own, (600 - 512 + 8) / 4 + 2 * 3);
}

TEST(LineWork, PromptsThatBeginAlikeHavePiecesInCommon) {
  const std::string same(300, 's');
  const auto prompt = [&](const std::string& rest) {
    return work_of(R"({"prompt": ")" + same + rest + R"(", "n": 2})");
  };
  const LineWork a = prompt(std::string(300, 'a')), b = prompt(std::string(300, 'b'));
  ASSERT_EQ(a.pieces.size(), 2u);
  EXPECT_EQ(a.pieces[0], b.pieces[0]);
  EXPECT_NE(a.pieces[1], b.pieces[1]);
  EXPECT_EQ(a.own, (600 - 512) / 4 + 2 * 10);
}

}  // namespace
}  // namespace pando::testing
