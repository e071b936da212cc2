// Scores worked out by hand after the rules of SQuAD's evaluation script.
#include "task/metrics.h"

#include <gtest/gtest.h>

#include <vector>

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
  EXPECT_EQ(exact_match("the", References{"a"}), 1);  // both are empty
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

}  // namespace
}  // namespace pando
