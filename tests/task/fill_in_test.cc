// Prompt templates and the names in their braces.
#include "task/fill_in.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

constexpr std::string_view kNames[] = {"{context}", "{question}"};

std::string refused(std::string_view text) {
  const Status status = check_names(text, kNames);
  return status ? "" : status.error().message;
}

TEST(FillIn, ReplacesNamesAndNothingElse) {
  EXPECT_EQ(fill_in("{a}{b} {c}{", {{"{a}", "{b}"}, {"{b}", "x"}}), "{b}x {c}{");
}

TEST(CheckNames, AMisspeltNameIsRefused) {
  EXPECT_EQ(refused("{context} {question} {qestion}"),
            "the template has the field {qestion}, which is unknown (hint: '{question}'?)");
  EXPECT_EQ(refused("{Context}"),
            "the template has the field {Context}, which is unknown (hint: '{context}'?)");
  EXPECT_NE(refused("{{questions}}"), "");
}

TEST(CheckNames, OtherBracesAreText) {
  for (const char* text :
       {"{context} {question}", R"({"a": 1, "question": "{question}"})",
        "{answer} {x} {} { context }", "{{question}}", "{contex", "{contex t}", "}{"})
    EXPECT_EQ(refused(text), "") << text;
}

TEST(CheckNames, OnlySoManyOtherNamesAreCompared) {
  std::string many;
  for (int i = 0; i < 64; ++i) many += "{other}";
  EXPECT_EQ(refused(many + "{qestion}"), "");
  EXPECT_NE(refused(many.substr(7) + "{qestion}"), "");
}

}  // namespace
}  // namespace pando
