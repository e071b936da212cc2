// Finds the name that was probably meant.
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace pando {
namespace {

std::string meant(std::string_view name, const std::vector<std::string_view>& known) {
  return nearest_hint(name, known);
}

TEST(NearestHint, NamesWithAFewOtherCharacters) {
  EXPECT_EQ(meant("promt", {"id", "prompt", "text"}), " (hint: 'prompt'?)");
  EXPECT_EQ(meant("max_tokns", {"max_tokens", "min_tokens"}), " (hint: 'max_tokens'?)");
  EXPECT_EQ(meant("idd", {"id", "n"}), " (hint: 'id'?)");
  EXPECT_EQ(meant("rnu", {"run", "embed"}), " (hint: 'run'?)");
  EXPECT_EQ(meant("same", {"same", "sane"}), " (hint: 'same'?)");
}

TEST(NearestHint, BeginningsAndFirstWords) {
  EXPECT_EQ(meant("--kv-mem", {"--kv-memory", "--context"}), " (hint: '--kv-memory'?)");
  EXPECT_EQ(meant("--api-kye", {"--api-key-file", "--host"}), " (hint: '--api-key-file'?)");
  EXPECT_EQ(meant("stop_token", {"stop", "stop_token_ids"}), " (hint: 'stop_token_ids'?)");
}

TEST(NearestHint, NoneWhereHalfOfANameWouldDiffer) {
  EXPECT_EQ(meant("kind", {"id", "n", "prompt"}), "");
  EXPECT_EQ(meant("end", {"id", "n"}), "");
  EXPECT_EQ(meant("text", {"tpot_slo_ms", "n"}), "") << "two of four";
  EXPECT_EQ(meant("te", {"template"}), "") << "too short for a beginning";
  EXPECT_EQ(meant("", {"id"}), "");
  EXPECT_EQ(meant(std::string(65, 'a'), {std::string_view("aaaa")}), "");
}

TEST(NearestNames, TheNearestComesFirst) {
  const std::vector<std::string_view> known = {"tiny-llama", "qwen3-8b", "qwen3-0.6b",
                                               "qwen2.5-7b"};
  EXPECT_EQ(nearest_names("qwen3-6b", known),
            (std::vector<std::string_view>{"qwen3-8b", "qwen3-0.6b"}));
  EXPECT_EQ(nearest_names("qwen3-0.6", known).front(), "qwen3-0.6b");
  EXPECT_EQ(nearest_names("qwen", known),
            (std::vector<std::string_view>{"qwen3-8b", "qwen3-0.6b", "qwen2.5-7b"}));
  EXPECT_TRUE(nearest_names("gpt", known).empty());
  EXPECT_TRUE(nearest_names("", known).empty());
}

}  // namespace
}  // namespace pando
