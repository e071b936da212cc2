// Words of messages: numbers with their nouns, and names of options.
#include <gtest/gtest.h>

#include "base/counted.h"
#include "base/option_names.h"

namespace pando {
namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(0, "answers"), "0 answers");
  EXPECT_EQ(counted(1, "answers"), "1 answer");
  EXPECT_EQ(counted(2, "answers"), "2 answers");
  EXPECT_EQ(counted(1, "bad lines"), "1 bad line");
  EXPECT_EQ(counted(1, "queries"), "1 query");
  EXPECT_EQ(counted(1, "processes"), "1 process");
}

TEST(OptionNames, AreThoseOfTheCommandLine) {
  EXPECT_EQ(with_dashes("kv_memory is 10 bytes"), "--kv-memory is 10 bytes");
  EXPECT_EQ(with_dashes("room (hint: raise kv_memory, or lower max_tokens)"),
            "room (hint: raise --kv-memory, or lower max_tokens)");
  EXPECT_EQ(with_dashes("the model's kv_memory"), "the model's --kv-memory");
  EXPECT_EQ(with_dashes("raise kv_memory", "the server's "), "raise the server's --kv-memory");
  EXPECT_EQ(with_dashes("threads is 2000, expected fewer"), "--threads is 2000, expected fewer");
  EXPECT_EQ(with_dashes("a smaller kv_memory or step_rows, or a shorter context"),
            "a smaller --kv-memory or --step-rows, or a shorter context");
  // Names of others.
  for (const char* same : {"unknown field 'kv_memory'", "--kv-memory is 3", "pando_kv_memory_bytes",
                           "the context is cut", "", "cannot read input '/data/step_rows.jsonl'",
                           "/data/kv_memory: is empty", "a field 'my kv_memory', expected another"})
    EXPECT_EQ(with_dashes(same), same);
}

}  // namespace
}  // namespace pando
