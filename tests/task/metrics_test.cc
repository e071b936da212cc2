// Scores worked out by hand after the rules of SQuAD's evaluation script.
#include "task/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "pando/scores.h"

namespace pando {
namespace {

using References = std::vector<std::string>;

TEST(Metrics, Normalisation) {
  EXPECT_EQ(normalize_answer("The  Norman's\tConquest!"), "normans conquest");
  EXPECT_EQ(normalize_answer("a cat, an owl and the dog"), "cat owl and dog");
  EXPECT_EQ(normalize_answer("(the)"), "");
  EXPECT_EQ(normalize_answer("then another area"), "then another area");
  EXPECT_EQ(normalize_answer("U.S.A. -- 3,000"), "usa 3000");
  EXPECT_EQ(normalize_answer(" \n "), "");
  EXPECT_EQ(normalize_answer("the-end"), "theend");  // punctuation goes before articles
  EXPECT_EQ(normalize_answer("größe"), "größe");
}

TEST(Metrics, ExactMatch) {
  EXPECT_EQ(exact_match("The Denver Broncos.", References{"denver broncos"}), 1);
  EXPECT_EQ(exact_match("Denver", References{"denver broncos"}), 0);
  EXPECT_EQ(exact_match("denver", References{"broncos", "Denver", "x"}), 1);
  EXPECT_EQ(exact_match("", References{"denver"}), 0);
}

TEST(Metrics, NoReferencesMeanThatTheAnswerShouldBeEmpty) {
  EXPECT_EQ(exact_match("", References{}), 1);
  EXPECT_EQ(token_f1("", References{}), 1);
  EXPECT_EQ(exact_match(" the ", References{}), 1);
  EXPECT_EQ(token_f1("...", References{}), 1);
  EXPECT_EQ(exact_match("something", References{}), 0);
  EXPECT_EQ(token_f1("something", References{}), 0);
  EXPECT_EQ(token_f1("something", References{""}), 0);
  EXPECT_EQ(token_f1("", References{"something"}), 0);
}

TEST(Metrics, LettersAreNoArticles) {
  for (const char* answer : {"", "The", "A B", "the A", "B A", "..."})
    for (const char* letter : {"A", "B"}) {
      EXPECT_EQ(accuracy(answer, References{letter}), 0) << answer << " for " << letter;
      EXPECT_EQ(exact_match(answer, References{letter}), 0) << answer << " for " << letter;
      const bool has_it = std::strchr(answer, letter[0]) != nullptr;
      EXPECT_DOUBLE_EQ(token_f1(answer, References{letter}), has_it ? 2 / 3.0 : 0) << answer;
    }
  for (const char* answer : {"A", " A\n", "a", "(A)", "A."})
    EXPECT_EQ(exact_match(answer, References{"A"}), 1) << answer;
  EXPECT_EQ(exact_match("A", References{"B"}), 0);
  EXPECT_EQ(exact_match("a cat", References{"cat"}), 1) << "a word of more letters: SQuAD's rules";
  EXPECT_EQ(exact_match("", References{"B", "A"}), 0) << "the best of several";
  EXPECT_EQ(exact_match("a", References{"B", "A"}), 1);
}

TEST(Metrics, AccuracyComparesTheChoiceItself) {
  EXPECT_EQ(accuracy(" A\t", References{"A"}), 1);
  EXPECT_EQ(accuracy("A", References{"B", "A "}), 1);
  EXPECT_EQ(accuracy("a", References{"A"}), 0);
  EXPECT_EQ(accuracy("A.", References{"A"}), 0);
  EXPECT_EQ(accuracy("the cat", References{"cat"}), 0);
  EXPECT_EQ(accuracy("", References{""}), 1);
  EXPECT_EQ(accuracy("A", References{}), 0);
}

TEST(Metrics, ReferencesThatSquadWouldLeaveNothingOf) {
  EXPECT_EQ(exact_match("The", References{"the"}), 1);
  EXPECT_EQ(exact_match("an", References{"the"}), 0);
  EXPECT_EQ(exact_match("", References{"The."}), 0);
  EXPECT_EQ(exact_match("the a", References{"A the"}), 0);
  EXPECT_EQ(exact_match("+", References{"+"}), 1);
  EXPECT_EQ(exact_match("-", References{"+"}), 0);
  EXPECT_EQ(exact_match("", References{"..."}), 0);
  EXPECT_DOUBLE_EQ(token_f1("", References{"?"}), 0);
  EXPECT_DOUBLE_EQ(token_f1("< the", References{"<"}), 2 / 3.0);
  EXPECT_DOUBLE_EQ(token_f1("the", References{"a the"}), 2 / 3.0);
  EXPECT_DOUBLE_EQ(rouge_l("", References{"?"}), 0);
  EXPECT_DOUBLE_EQ(rouge_l("?", References{"?"}), 1);
  EXPECT_DOUBLE_EQ(rouge_l("...", References{""}), 1);
  EXPECT_EQ(exact_match("", References{"", "A"}), 1) << "an empty one asks for nothing";
  EXPECT_EQ(exact_match("the", References{""}), 1) << "an article is nothing, by SQuAD's rules";
}

TEST(Metrics, ScoresOfChoicesAndOfOtherAnswers) {
  ScoreTable scores;
  scores.add(metrics_of("A", References{"A"}), /*is_choice=*/true, "x");
  scores.add(metrics_of(" B", References{"A"}), /*is_choice=*/true, "y");
  scores.add(metrics_of("C", References{"C "}), /*is_choice=*/true, "y");
  scores.add(metrics_of("", References{"A"}), /*is_choice=*/false);
  EXPECT_EQ(scores.all().n, 4u);
  EXPECT_EQ(scores.all().n_choices, 3u);
  EXPECT_DOUBLE_EQ(scores.all().choice_accuracy, 2 / 3.0);
  EXPECT_DOUBLE_EQ(scores.all().exact_match, 0.5);
  EXPECT_DOUBLE_EQ(scores.groups().at("y").choice_accuracy, 0.5);
  // For a share p of n answers: sqrt(p (1 - p) / (n - 1)).
  EXPECT_DOUBLE_EQ(scores.all().standard_error.choice_accuracy, std::sqrt(2 / 9.0 / 2));
  EXPECT_DOUBLE_EQ(scores.all().standard_error.exact_match, std::sqrt(0.25 / 3));
  EXPECT_EQ(scores.groups().at("x").standard_error.choice_accuracy, 0);
}

TEST(Metrics, TheStandardErrorOfShares) {
  ScoreTable scores;
  for (const double f1 : {0.2, 0.4, 0.9}) scores.add({.token_f1 = f1}, false);
  EXPECT_DOUBLE_EQ(scores.all().token_f1, 0.5);
  EXPECT_NEAR(scores.all().standard_error.token_f1, std::sqrt((0.09 + 0.01 + 0.16) / 2 / 3), 1e-12);
}

TEST(Metrics, ScoresAsJsonAndBack) {
  ScoreTable scores;
  scores.add({.exact_match = 1, .token_f1 = 0.1, .choice_accuracy_norm = 1}, true, "a\xff");
  scores.add({.rouge_l = 1 / 3.0}, false, "b");
  const Result<ScoreTable> back = ScoreTable::from_json(scores.to_json());
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_EQ(back->all().rouge_l, scores.all().rouge_l);
  EXPECT_EQ(back->all().standard_error.token_f1, scores.all().standard_error.token_f1);
  EXPECT_EQ(back->all().choice_accuracy_norm, 1);
  EXPECT_EQ(back->groups().at("b").rouge_l, 1 / 3.0);
  EXPECT_EQ(ScoreTable::from_json("{}").error().code, ErrorCode::kBadFile);
}

TEST(Metrics, TokenF1) {
  EXPECT_DOUBLE_EQ(token_f1("in the 10th century", References{"10th century"}), 0.8);  // 2/3 and 1
  EXPECT_DOUBLE_EQ(token_f1("x y", References{"y z"}), 0.5);
  EXPECT_DOUBLE_EQ(token_f1("x", References{"y"}), 0);
  EXPECT_DOUBLE_EQ(token_f1("the X, Y!", References{"y x"}), 1);  // order does not count
}

TEST(Metrics, TokenF1CountsRepeatedWords) {
  EXPECT_DOUBLE_EQ(token_f1("x x x", References{"x"}), 0.5);            // 1/3 and 1
  EXPECT_DOUBLE_EQ(token_f1("x x", References{"x x y"}), 2 * 2 / 5.0);  // 1 and 2/3
  EXPECT_DOUBLE_EQ(token_f1("x y x", References{"x x z"}), 2 * 2 / 6.0);
}

TEST(Metrics, TheBestReferenceCounts) {
  EXPECT_DOUBLE_EQ(token_f1("x y", References{"z", "x y z w", "y"}), 2 * 2 / 6.0);
  EXPECT_DOUBLE_EQ(token_f1("x y", References{"x y", "z"}), 1);
}

TEST(Metrics, TheLastNumberOfAText) {
  const std::pair<const char*, double> texts[] = {{"42", 42},
                                                  {"about $1,234.50.", 1234.5},
                                                  {"5 of 7", 7},
                                                  {"-3", -3},
                                                  {"minus: -.5", -0.5},
                                                  {"-$20", -20},
                                                  {"\u22125", -5},
                                                  {"10-12", 12},
                                                  {"x-3", 3},
                                                  {"1,2,3", 3},
                                                  {"1,000,000 people", 1000000},
                                                  {"12,3456", 3456},
                                                  {"3.0.", 3},
                                                  {"v1.2.3", 0.3},
                                                  {"1e5", 100000},
                                                  {"about 2.5E-3 m", 0.0025},
                                                  {"1,000e+2.", 100000},
                                                  {"3e", 3},
                                                  {"4e-", 4},
                                                  {"7 e5", 5},
                                                  {"5, no: 1e999", HUGE_VAL},
                                                  {"5, no: 1e-999", 0},
                                                  {"#### 18", 18}};
  for (const auto& [text, value] : texts) EXPECT_EQ(last_number(text), value) << text;
  EXPECT_EQ(last_number("none - at all."), std::nullopt);
  EXPECT_EQ(last_number(""), std::nullopt);
  EXPECT_EQ(last_number(std::string(400, '9')), std::nullopt) << "beyond a double";
}

TEST(Metrics, NumbersMatchByTheirValues) {
  EXPECT_EQ(number_match("It is 42.00", References{"#### 42"}), 1);
  EXPECT_EQ(number_match("41", References{"#### 42"}), 0);
  EXPECT_EQ(number_match("none", References{"42"}), 0);
  EXPECT_EQ(number_match("7", References{"none", "7"}), 1);
  EXPECT_EQ(number_match("7", References{"none"}), std::nullopt);
  EXPECT_EQ(number_match("7", References{}), std::nullopt);
}

}  // namespace
}  // namespace pando
