// The text that `pando inspect` prints about an input.
#include "cli/inspection_text.h"

#include <gtest/gtest.h>

namespace pando::cli {
namespace {

// Returns the text for one prompt that has no room in memory.
std::string text_where(uint64_t kv_memory_needed) {
  Inspection found;
  found.lines = found.prompts = found.too_long = found.no_room = 1;
  found.room = 32;
  found.longest_path = 41;
  found.kv_memory_needed = kv_memory_needed;
  return inspection_text(found);
}

TEST(InspectionText, SaysHowMuchMemoryIsEnough) {
  EXPECT_EQ(
      text_where(3 << 20),
      "1 prompt from 1 line, 0 tokens in all; the longest prompt has 0; all answers together "
      "have at most 0 tokens\n"
      "cannot be run: 0 bad lines, 1 prompt too long (1 of them only because of --kv-memory), "
      "0 refused for other reasons\n"
      "--kv-memory has room for prompts of up to 32 tokens, answer included; 1 prompt would "
      "be refused, and the longest needs up to 41 tokens, for which a --kv-memory of 3145728 "
      "bytes (3.0 MiB) is enough. All other figures include it\n");
}

TEST(InspectionText, SaysThatNoMemoryIsEnough) {
  EXPECT_TRUE(text_where(0).ends_with(
      "cannot be run: 0 bad lines, 1 prompt too long, 0 refused for other reasons\n"
      "--kv-memory has room for prompts of up to 32 tokens, answer included; 1 prompt would be "
      "refused, and the longest needs up to 41 tokens, for which no --kv-memory is enough. All "
      "other figures include it\n"))
      << text_where(0);
}

TEST(InspectionText, SaysThatIdsAreEqual) {
  Inspection found;
  found.lines = found.prompts = 3;
  EXPECT_EQ(inspection_text(found).find("same id"), std::string::npos);
  found.equal_id = "a/y";
  found.equal_ids = 1;
  const std::string behind = " the same id as an earlier line, such as \"a/y\"\n";
  EXPECT_TRUE(inspection_text(found).ends_with("\n1 line has" + behind)) << inspection_text(found);
  found.equal_ids = 2;
  EXPECT_TRUE(inspection_text(found).ends_with("\n2 lines have" + behind));
}

}  // namespace
}  // namespace pando::cli
