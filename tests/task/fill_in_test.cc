// Prompt templates and the names in their braces.
#include "task/fill_in.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

constexpr std::string_view kFields[] = {"{context}", "{question}"};

std::string near(std::string_view text) { return near_fields(text, kFields, kFields); }

std::string refused(std::string_view text, std::string_view field) {
  const Status status = check_field(text, kFields, field);
  return status ? "" : status.error().message;
}

TEST(FillIn, ReplacesNamesAndNothingElse) {
  EXPECT_EQ(fill_in("{a}{b} {c}{", {{"{a}", "{b}"}, {"{b}", "x"}}), "{b}x {c}{");
  EXPECT_EQ(fill_in("{{a}} {{{a}}}", {{"{a}", "x"}}), "{x} {{x}}");
}

TEST(CheckField, AMissingFieldIsRefused) {
  EXPECT_EQ(refused("{context} {question}", "{question}"), "");
  EXPECT_EQ(refused("{{context}}", "{context}"), "") << "it is filled in";
  EXPECT_EQ(refused("{context}", "{question}"),
            "the template has no {question} in it (hint: write {question} where the question "
            "belongs)");
  EXPECT_EQ(check_field("", kFields, "{context}", ", so it is lost").error().message,
            "the template has no {context} in it, so it is lost (hint: write {context} where the "
            "context belongs)");
}

TEST(CheckField, AMisspelledFieldIsNamed) {
  EXPECT_EQ(refused("{context} {qestion}", "{question}"),
            "the template has the field {qestion}, which is unknown (hint: '{question}'?)");
  EXPECT_EQ(refused("{Context} {question}", "{context}"),
            "the template has the field {Context}, which is unknown (hint: '{context}'?)");
  EXPECT_EQ(refused("{Context} {qestion} {Context}", "{question}"),
            "the template has fields that are unknown: {Context} (hint: '{context}'?), {qestion} "
            "(hint: '{question}'?)")
      << "all of them, each once";
  EXPECT_NE(refused("{context} {contxt}", "{question}").find("has no {question}"),
            std::string::npos)
      << "it reads like another field";
  EXPECT_NE(refused("{context} {{questions}}", "{question}").find("has no {question}"),
            std::string::npos)
      << "doubled braces are text";
}

TEST(TemplateWarning, NamesWhatReadsLikeAField) {
  EXPECT_EQ(template_warning_of("{context} {question} {questions}", kFields),
            "the template has the field {questions}, which is unknown (hint: '{question}'?)");
  EXPECT_EQ(template_warning_of("{context} {question} {{questions}} {{content}}", kFields), "");
  EXPECT_EQ(template_warning_of("{context} {question} {contexts} {answer} {Question}", kFields),
            "the template has fields that are unknown: {contexts} (hint: '{context}'?), {Question} "
            "(hint: '{question}'?)");
}

TEST(NearFields, OtherBracesAreText) {
  for (const char* text : {"{context} {question}", R"({"a": 1, "question": "{question}"})",
                           "{answer} {x} {} { context }", "{{question}}", "{{questions}}",
                           "{{{qestion}}}", "{contex", "{contex t}", "}{"})
    EXPECT_EQ(near(text), "") << text;
  for (const char* text : {"{{qestion}", "{qestion}}", "{{ {qestion} }}"})
    EXPECT_NE(near(text), "") << text;
}

TEST(NearFields, OnlySoManyOtherNamesAreCompared) {
  std::string many;
  for (int i = 0; i < 64; ++i) many += "{other}";
  EXPECT_EQ(near(many + "{qestion}"), "");
  EXPECT_NE(near(many.substr(7) + "{qestion}"), "");
}

TEST(NearFields, OfManyNamesTheFirstAreTold) {
  std::string many;
  for (char c = 'a'; c < 'a' + 8; ++c) many += std::string("{question") + c + "}";
  EXPECT_TRUE(near(many).ends_with("{questionh} (hint: '{question}'?)")) << near(many);
  EXPECT_TRUE(near(many + "{questionx}").ends_with("{questionh} (hint: '{question}'?) and others"));
}

}  // namespace
}  // namespace pando
