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

}  // namespace
}  // namespace pando
