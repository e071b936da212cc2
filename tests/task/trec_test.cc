// Grades and runs of the TREC evaluations.
#include "pando/trec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace pando::testing {
namespace {

TEST(Trec, ReadsGrades) {
  std::istringstream file(
      "\xef\xbb\xbf"
      "7 0 d1 2\r\n7 0 d2 0\n\n9\tQ0\td1 -1\n");
  const Result<Qrels> qrels = read_qrels(file);
  ASSERT_TRUE(qrels.ok()) << qrels.error().message();
  EXPECT_EQ(*qrels, (Qrels{{"7", {{"d1", 2}, {"d2", 0}}}, {"9", {{"d1", -1}}}}));
}

TEST(Trec, NamesTheLineThatIsNoGrade) {
  const auto error = [](const char* text) {
    std::istringstream file(text);
    return read_qrels(file).error().message();
  };
  EXPECT_EQ(error("7 0 d1 2\n7 0 d2\n"),
            "line 2 is '7 0 d2', expected 'query iteration document grade'");
  EXPECT_EQ(error("7 0 d1 high\n"),
            "line 1 is '7 0 d1 high', expected 'query iteration document grade'");
  EXPECT_EQ(error("7 0 d1 1\n7 0 d1 2\n"),
            "line 2 grades document 'd1' of query '7' a second time");
}

TEST(Trec, WritesRuns) {
  const std::vector<RankedDocument> ranking = {{"d2", 0.75}, {"d1", 0.1}};
  EXPECT_EQ(run_lines("7", ranking, "pando"), "7 Q0 d2 1 0.75 pando\n7 Q0 d1 2 0.1 pando\n");
}

TEST(Trec, GainIsDiscountedAndNormalised) {
  const std::map<std::string, int> grades = {{"a", 3}, {"b", 2}, {"c", 0}, {"d", 1}, {"e", -1}};
  const std::vector<RankedDocument> best = {{"a"}, {"b"}, {"d"}},
                                    other = {{"x"}, {"b"}, {"e"}, {"a"}};
  EXPECT_DOUBLE_EQ(ndcg(grades, best, 10), 1);
  const double most = 3 + 2 / std::log2(3) + 1 / std::log2(4);
  EXPECT_DOUBLE_EQ(ndcg(grades, other, 10), (2 / std::log2(3) + 3 / std::log2(5)) / most);
  EXPECT_DOUBLE_EQ(ndcg(grades, other, 2), (2 / std::log2(3)) / (3 + 2 / std::log2(3)));
  EXPECT_DOUBLE_EQ(ndcg({{"a", 1}}, std::vector<RankedDocument>{{"a"}, {"a"}}, 10), 1);
  EXPECT_EQ(ndcg({{"a", 0}}, best, 10), 0);
  EXPECT_EQ(ndcg({}, best, 10), 0);
}

}  // namespace
}  // namespace pando::testing
