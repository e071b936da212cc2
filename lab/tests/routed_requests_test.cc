#include "lab/data/routed_requests.h"

#include <gtest/gtest.h>

#include "lab/experiment.h"

namespace pando::lab {
namespace {

const std::string kConversations =
    R"({"timestamp": 1000, "input_length": 1100, "output_length": 80, "hash_ids": [0, 1, 2]}
{"timestamp": 1000, "input_length": 1024, "output_length": 3, "hash_ids": [0, 5]}
{"timestamp": 3000, "input_length": 20, "output_length": 8, "hash_ids": [7]}
)";
const std::string kLengths =
    "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n"
    "1040,80,1120,13\n4,8,12,0.5\n512,8,520,64\n";

TEST(RoutedRequests, AreThoseOfBothTraces) {
  const std::vector<RoutedRequest> requests = routed_requests(kConversations, kLengths, 3);
  ASSERT_EQ(requests.size(), 6u);
  const RoutedRequest &first = requests[0], &second = requests[1], &third = requests[5];
  EXPECT_EQ(first.n_prompt, 137u);
  EXPECT_EQ(first.n_answer, 10u);
  ASSERT_EQ(first.pieces.size(), 2u) << "units that are full";
  ASSERT_EQ(second.pieces.size(), 2u);
  EXPECT_EQ(first.pieces[0], second.pieces[0]);
  EXPECT_NE(first.pieces[1], second.pieces[1]);
  EXPECT_EQ(first.arrival, 0);
  EXPECT_EQ(second.n_answer, 1u) << "at least one";
  EXPECT_EQ(third.arrival, 1);
  EXPECT_EQ(third.pieces.size(), 0u);
  const RoutedRequest &chat = requests[2], &last = requests[4];
  EXPECT_TRUE(chat.is_short && requests[3].is_short && last.is_short && !third.is_short);
  EXPECT_EQ(chat.n_prompt, 130u);
  EXPECT_EQ(chat.n_answer, 10u);
  EXPECT_EQ(chat.pieces.size(), 2u);
  EXPECT_DOUBLE_EQ(chat.arrival, 0.5 / 3);
  ASSERT_EQ(last.pieces.size(), 1u);
  EXPECT_NE(last.pieces[0], chat.pieces[0]);
}

TEST(RoutedRequests, RefuseALineThatIsNone) {
  const auto message = [](const std::string& conversations, const std::string& lengths, size_t n) {
    try {
      routed_requests(conversations, lengths, n);
    } catch (const BenchmarkError& error) {
      return error.error.message();
    }
    return std::string();
  };
  EXPECT_EQ(message(kConversations, kLengths, 4),
            "traces/mooncake-conversation.jsonl.gz, line 4: expected a request more");
  EXPECT_EQ(message("{}\n", kLengths, 1),
            "traces/mooncake-conversation.jsonl.gz, line 1: expected timestamp, input_length, "
            "output_length and hash_ids");
  EXPECT_EQ(message("{\n", kLengths, 1),
            "traces/mooncake-conversation.jsonl.gz, line 1: expected timestamp, input_length, "
            "output_length and hash_ids");
  EXPECT_EQ(message(kConversations, "names\nx\n", 1),
            "traces/sharegpt-lengths.csv, line 2: expected num_prefill_tokens,num_decode_tokens");
}

}  // namespace
}  // namespace pando::lab
