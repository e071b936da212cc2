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

TEST(Errors, ThePartsOfATextAreThoseOfTheError) {
  const Error wrong =
      bad_file("{} is {}, expected {} (hint: {})", "a, expected", "(hint: 5)", 6, 7);
  EXPECT_EQ(wrong.found, "a, expected is (hint: 5)");  // an argument divides nothing
  EXPECT_EQ(wrong.expected, "6");
  EXPECT_EQ(wrong.hint, "7");
  EXPECT_EQ(wrong.message(), "a, expected is (hint: 5), expected 6 (hint: 7)");
  const Error numbered = bad_file("{1} in {{{0}}}, expected {0:03}", 5, "b");
  EXPECT_EQ(numbered.found, "b in {5}");
  EXPECT_EQ(numbered.expected, "005");
  EXPECT_EQ(bad_file("{:.2f} (hint: {}) is {:>3}", 0.5, "x", 1).message(), "0.50 (hint: x) is   1");
}

TEST(Errors, APartIsNamedInTheField) {
  const Error wrong = in_part("messages[0]", invalid_field("role", "is {}, expected a string", 5));
  EXPECT_EQ(wrong.place.field, "messages[0].role");
  EXPECT_EQ(wrong.message(), "field 'messages[0].role' is 5, expected a string");
  const Error other = in_part("q[1]", blame("text", invalid_argument("question 1 has no 'text'")));
  EXPECT_EQ(other.place.field, "q[1].text");
  EXPECT_EQ(other.message(), "question 1 has no 'text'");
}

TEST(Errors, APlaceBeginsTheMessage) {
  Error wrong = in_file("b.json", of_field("top_p", bad_file("is {}, expected 0 to 1", 5)));
  EXPECT_EQ(wrong.message(), "b.json: 'top_p' is 5, expected 0 to 1");
  EXPECT_EQ(in_file("a.zip", wrong).message(), "a.zip: b.json: 'top_p' is 5, expected 0 to 1");
  const std::string odd = "a\n\x1b[2J" + std::string(100'000, 'x');
  EXPECT_LT(invalid_field(odd, "is unknown").message().size(), 1000u);
  EXPECT_TRUE(invalid_field(odd, "is unknown").message().starts_with("field 'a\\n\\x1b[2Jxxx"));
  EXPECT_EQ(invalid_field(odd, "is unknown").place.field, odd);
  EXPECT_EQ(in_file("m.gguf", of_tensor("w", bad_file("is absent"))).message(),
            "m.gguf: tensor 'w' is absent");
}

TEST(Errors, OptionsHaveTheNamesThatTheReaderKnows) {
  const Error wrong = invalid_option("kv_memory", "is {}, expected at least 1", 0);
  EXPECT_EQ(wrong.place.option, "kv_memory");
  EXPECT_EQ(wrong.message(), "kv_memory is 0, expected at least 1");
  EXPECT_EQ(wrong.message(OptionStyle::kCommandLine), "--kv-memory is 0, expected at least 1");
}

TEST(OneOfThese, IsAListInWords) {
  const std::string_view names[] = {"a", "b", "c"};
  EXPECT_EQ(one_of_these(names), "a, b or c");
  EXPECT_EQ(one_of_these(std::span(names).first(2)), "a or b");
  EXPECT_EQ(one_of_these(std::span(names).first(1)), "a");
}

}  // namespace
}  // namespace pando
