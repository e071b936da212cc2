#include "base/errors.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

TEST(Errors, MessagesAreOneLineOfUtf8) {
  EXPECT_EQ(one_line("'caf\u00e9' is \u20ac 5, \U0001F999"), "'caf\u00e9' is \u20ac 5, \U0001F999");
  EXPECT_EQ(one_line("a\nb\r\x1b[31m\x7f"), "a\\nb\\x0d\\x1b[31m\\x7f");
  EXPECT_EQ(one_line(std::string_view("\0", 1)), "\\x00");
  for (const char* bad : {"\x80", "\xc0", "\xc1", "\xc3", "\xf5", "\xff", "\xe2", "\xf0"})
    EXPECT_EQ(one_line(fmt::format("a{}b", bad)), "a\uFFFDb");
  EXPECT_EQ(one_line("\xc2\x9b"), "\uFFFD\uFFFD");  // controls a terminal
  EXPECT_EQ(one_line("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(one_line("\xe2\x82"), "\uFFFD\uFFFD");
  EXPECT_EQ(bad_file("{}", "a\tb").message(), "a\\x09b");
}

TEST(Errors, LongTextsLoseTheirMiddle) {
  const std::string cut = one_line("begin " + std::string(100'000, 'x') + " end");
  EXPECT_LT(cut.size(), 1000u);
  EXPECT_TRUE(cut.starts_with("begin xxx") && cut.ends_with("x end"));
  EXPECT_NE(cut.find("x...x"), cut.npos);
  std::string euros;
  for (int i = 0; i < 1000; ++i) euros += "\u20ac";
  for (int i = 0; i < 3; ++i) {
    euros += 'x';
    EXPECT_EQ(one_line(euros).find("\uFFFD"), std::string::npos);
  }
  EXPECT_EQ(one_line(std::string(800, 'x')), std::string(800, 'x'));
  EXPECT_LT(one_line(std::string(100'000, '\x80')).size(), 3000u);  // no character begins
}

TEST(Errors, APartIsNamedInTheFieldAndTheMessage) {
  const Error wrong = in_part("messages[0]", invalid_field("role", "is {}, expected a string", 5));
  EXPECT_EQ(wrong.field, "messages[0].role");
  EXPECT_EQ(wrong.message(), "field 'messages[0].role' is 5, expected a string");
  EXPECT_EQ(in_part("q[1]", invalid_argument("unknown field 'x'")).message(),
            "unknown field 'q[1].x'");
  EXPECT_EQ(in_part("q[1]", invalid_argument("unknown or unsupported field 'x'")).message(),
            "unknown or unsupported field 'q[1].x'");
  const Error other = in_part("q[1]", blame("text", invalid_argument("question 1 has no 'text'")));
  EXPECT_EQ(other.field, "q[1].text");
  EXPECT_EQ(other.message(), "question 1 has no 'text'");
}

TEST(OneOfThese, IsAListInWords) {
  const std::string_view names[] = {"a", "b", "c"};
  EXPECT_EQ(one_of_these(names), "a, b or c");
  EXPECT_EQ(one_of_these(std::span(names).first(2)), "a or b");
  EXPECT_EQ(one_of_these(std::span(names).first(1)), "a");
}

}  // namespace
}  // namespace pando
