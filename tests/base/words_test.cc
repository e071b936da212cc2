// Words of messages: numbers with their nouns, and names of options.
#include <gtest/gtest.h>

#include <memory>

#include "base/counted.h"
#include "base/errors.h"

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

TEST(OptionNames, AreThoseOfTheReader) {
  const auto message = [] {
    return invalid_argument("{} is {} (hint: lower {})", OptionName{"kv_memory"}, 10,
                            OptionName{"threads"})
        .message();
  };
  EXPECT_EQ(message(), "kv_memory is 10 (hint: lower threads)");
  {
    const OptionStyleScope program(OptionStyle::kCommandLine);
    EXPECT_EQ(message(), "--kv-memory is 10 (hint: lower --threads)");
    {
      const OptionStyleScope server(OptionStyle::kServer);
      EXPECT_EQ(message(), "the server's --kv-memory is 10 (hint: lower the server's --threads)");
    }
    EXPECT_EQ(message(), "--kv-memory is 10 (hint: lower --threads)");
  }
  EXPECT_EQ(message(), "kv_memory is 10 (hint: lower threads)");
  // Two servers that end in the order in which they began.
  auto first = std::make_unique<OptionStyleScope>(OptionStyle::kServer);
  auto second = std::make_unique<OptionStyleScope>(OptionStyle::kServer);
  first.reset();
  EXPECT_EQ(message(), "the server's --kv-memory is 10 (hint: lower the server's --threads)");
  second.reset();
  EXPECT_EQ(message(), "kv_memory is 10 (hint: lower threads)");
}

}  // namespace
}  // namespace pando
