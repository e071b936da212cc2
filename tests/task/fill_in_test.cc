// Prompt templates and the names in their braces.
#include "task/fill_in.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

TEST(FillIn, ReplacesNamesAndNothingElse) {
  EXPECT_EQ(fill_in("{a}{b} {c}{", {{"{a}", "{b}"}, {"{b}", "x"}}), "{b}x {c}{");
  EXPECT_EQ(fill_in("{{a}} {{{a}}}", {{"{a}", "x"}}), "{x} {{x}}");
}

TEST(CheckField, AMissingFieldIsRefused) {
  EXPECT_TRUE(check_field("{context} {question}", "{question}").ok());
  EXPECT_TRUE(check_field("{{context}}", "{context}").ok()) << "it is filled in";
  EXPECT_EQ(check_field("{context} {qestion}", "{question}").error().message(),
            "the template has no {question} in it");
  EXPECT_EQ(check_field("", "{context}", ", so it is lost").error().message(),
            "the template has no {context} in it, so it is lost");
}

}  // namespace
}  // namespace pando
