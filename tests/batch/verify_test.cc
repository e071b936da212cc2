// Answers asked again, alone and unshared.
#include <gtest/gtest.h>

#include <sstream>

#include "batch/verify_testing.h"

namespace pando::testing {
namespace {

TEST(VerifyBatch, AnswersAreTheSameAloneAndUnshared) {
  const BatchVerification verified = verify(kVerifyInput, run_shared(kVerifyInput));
  EXPECT_EQ(verified.answers, 8u);
  EXPECT_TRUE(verified.different.empty());
}

TEST(VerifyBatch, OnlyWhatIsAskedFor) {
  std::map<AnswerKey, uint64_t> hashes = run_shared(kVerifyInput);
  std::erase_if(hashes, [](const auto& entry) { return entry.first.line != 3; });
  EXPECT_EQ(verify(kVerifyInput, hashes).answers, 3u);
  EXPECT_EQ(verify("", {}).answers, 0u);
}

TEST(VerifyBatch, ADifferentHashIsNamed) {
  std::map<AnswerKey, uint64_t> hashes = run_shared(kVerifyInput);
  ++hashes.at({.line = 3, .question = 1});
  EXPECT_EQ(verify(kVerifyInput, hashes).different, (std::vector<std::string>{"m/1"}));
}

TEST(VerifyBatch, AnotherInputIsAnError) {
  const std::map<AnswerKey, uint64_t> hashes = run_shared(kVerifyInput);
  std::istringstream none("{\"prompt\": \"one line\"}\n");
  const auto verified = verify_batch(*open_alone(), none, verify_options(), hashes);
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().message(),
            "line 1 has 1 question, expected more than 1 as in the first run");
}

}  // namespace
}  // namespace pando::testing
