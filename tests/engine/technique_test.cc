// The published techniques in the engine: what they are refused, what they keep, what they count.
#include <gtest/gtest.h>

#include "engine/test_loop.h"

namespace pando::testing {
namespace {

LoopOptions options_for(const std::string& sharing) {
  LoopOptions options = tiny_loop_options();
  options.engine.sharing = sharing;
  return options;
}

Request embedding_request(const std::string& prompt) {
  Request request;
  request.prompt = prompt;
  request.pooling = Pooling::kLast;
  return request;
}

const char* const kPrompts[] = {"the same beginning, then this", "the same beginning, then that",
                                "something else", "the same"};

// Bytes of keys and values at most, and the embeddings of kPrompts.
std::pair<uint64_t, std::vector<std::vector<float>>> embed(const std::string& sharing) {
  TestLoop loop(options_for(sharing));
  for (RequestId id = 1; id <= std::size(kPrompts); ++id)
    EXPECT_TRUE(loop.submit(id, embedding_request(kPrompts[id - 1])));
  loop.run();
  std::vector<std::vector<float>> embeddings;
  for (const auto& [id, heard] : loop.heard)
    embeddings.push_back(heard.completions.at(0).embedding);
  return {loop.stats().kv_bytes_peak, embeddings};
}

TEST(Radix, StatelessKeepsKeysAndValuesOfOneLayer) {
  const auto [kept, expected] = embed("radix");
  const auto [stateless, found] = embed("radix:stateless");
  EXPECT_EQ(found, expected);
  EXPECT_EQ(found, embed("tree").second);
  const auto n_layers = static_cast<uint64_t>(tiny_model()->info().n_layers);
  EXPECT_GT(n_layers, 1u);
  EXPECT_EQ(stateless * n_layers, kept);
}

TEST(Radix, StatelessAnswersInOnePassOnly) {
  TestLoop loop(options_for("radix:stateless"));
  const Status status = loop.submit(1, tiny_request("abc", 2));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(status.error().message.find("max_tokens is 2, expected 0 or 1"), std::string::npos);
  loop.heard.clear();
  ASSERT_TRUE(loop.submit(2, tiny_request("abc", 1)));
  loop.run();
  EXPECT_EQ(loop.answers(2), answers_alone(tiny_request("abc", 1)));
}

TEST(Radix, CountsRowsThatItComputes) {
  TestLoop loop(options_for("radix"));
  for (RequestId id = 1; id <= 4; ++id)
    ASSERT_TRUE(loop.submit(id, tiny_request("twelve bytes", 1)));
  loop.run();
  EXPECT_EQ(loop.stats().prefill_rows, 12u);
  EXPECT_EQ(loop.stats().steps, 1u);
}

}  // namespace
}  // namespace pando::testing
