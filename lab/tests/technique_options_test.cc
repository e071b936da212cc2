#include "engine/technique_options.h"

#include <gtest/gtest.h>

#include "lab/tests/technique_testing.h"
#include "pando/values/sharing.h"

namespace pando {
namespace {

TEST(TechniqueOptions, ErrorsNameTheOption) {
  lab::open_techniques();
  const auto message = [](const char* sharing) { return sharing_info(sharing).error().message(); };
  EXPECT_TRUE(sharing_info("tree"));
  EXPECT_TRUE(sharing_info("radix:threshold=0.5,bucket=64,rows=100,stateless"));
  EXPECT_NE(message("bush").find("unknown sharing 'bush'"), std::string::npos);
  EXPECT_EQ(message("tree:x=1"), "sharing 'tree' has no option 'x', expected none");
  EXPECT_EQ(message("padded:bach=3"),
            "sharing 'padded' has no option 'bach', expected rows, batch");
  EXPECT_NE(message("radix:threshold=2").find("a number from 0 to 1"), std::string::npos);
  for (const char* sharing : {"radix:threshold", "radix:threshold="})
    EXPECT_EQ(message(sharing), "sharing 'radix': option 'threshold' is '', expected a value");
  EXPECT_NE(message("radix:stateless=set").find("expected no value"), std::string::npos);
  EXPECT_NE(message("radix:bucket=").find("expected a value"), std::string::npos);
  EXPECT_NE(message("radix:rows=0").find("a number from 1 to 1048576"), std::string::npos);
  EXPECT_NE(message("radix:stateless=1").find("expected no value"), std::string::npos);
  EXPECT_NE(message("radix:").find("no option ''"), std::string::npos);
  EXPECT_NE(message("radix:rows=5,rows=6").find("'6', expected the option only once"),
            std::string::npos);
  EXPECT_EQ(message("radix:bucket=100000"),
            "sharing 'radix': option 'bucket' is '100000', expected at most the rows of a step "
            "(rows=16384)");
  EXPECT_TRUE(sharing_info("radix:bucket=64,rows=64"));
  EXPECT_NE(message("radix:bucket=65,rows=64").find("(rows=64)"), std::string::npos);
  EXPECT_NE(message("radix:rows=1048577").find("is '1048577', expected"), std::string::npos);
  // Beyond what the type holds.
  EXPECT_NE(message("radix:rows=99999999999").find("a number from 1 to"), std::string::npos);
  EXPECT_NE(message("radix:threshold=1e999").find("a number from 0 to 1"), std::string::npos);
  EXPECT_NE(message("hydragen:levels=99999999999").find("ascending"), std::string::npos);
}

}  // namespace
}  // namespace pando
