#include "text/normalizer.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <random>

#include "text/utf8.h"

namespace pando {
namespace {

std::string nfc(std::string_view text) { return to_unicode_form(text, UnicodeForm::kNfc); }

std::string library_nfc(const std::string& text) {
  utf8proc_uint8_t* out = nullptr;
  const auto n = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                              static_cast<utf8proc_ssize_t>(text.size()), &out,
                              static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  std::string result(reinterpret_cast<char*>(out), static_cast<size_t>(n));
  std::free(out);
  return result;
}

TEST(Nfc, Examples) {
  EXPECT_EQ(nfc(""), "");
  EXPECT_EQ(nfc("plain"), "plain");
  EXPECT_EQ(nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(nfc("\u00E9"), "\u00E9");
  EXPECT_EQ(nfc("\u1100\u1161\u11A8"), "\uAC01");
  EXPECT_EQ(nfc("\uC330\u11A7\u11A8"), "\uC330\u11A7\u11A8");  // the library loses U+11A7
  EXPECT_EQ(nfc("\u212B"), "\u00C5");                          // angstrom sign
  EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");            // marks by class
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093C");                    // excluded from composition
  EXPECT_EQ(nfc("\uFB01"), "\uFB01");                          // compatibility forms stay
}

TEST(Nfc, AgreesWithTheLibrary) {
  std::mt19937 random(11);
  const auto draw = [&] {
    switch (random() % 5) {
      case 0:
        return static_cast<char32_t>(random() % 0x110000);
      case 1:
        return static_cast<char32_t>(0x300 + random() % 0x70);
      case 2:
        return static_cast<char32_t>(0x1100 + random() % 0x100);
      case 3:
        return static_cast<char32_t>('a' + random() % 26);
      default:
        return static_cast<char32_t>(random() % 0x3100);
    }
  };
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (size_t n = random() % 16; n > 0; --n) {
      const char32_t point = draw();
      const bool same = point != 0x11A7 && (point < 0xD800 || point > 0xDFFF);
      if (same) append_utf8(point, &text);
    }
    EXPECT_EQ(nfc(text), library_nfc(text));
  }
}

TEST(Nfc, ManyMarksAreNotQuadratic) {
  std::string text = "a";
  for (int i = 0; i < 500'000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0323";
  EXPECT_EQ(nfc(text).size(), 2u + 1'000'000 - 1);  // one below goes into the letter
}

TEST(Normalizer, GrowthHasALimit) {
  const std::vector<NormalStep> doubling(40, normal::Replace{"a", "aa"});
  const auto grown = Normalizer(doubling).apply("a");
  ASSERT_FALSE(grown.ok());
  EXPECT_EQ(grown.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(grown.error().message().find("more than 272 bytes"), std::string::npos);
  EXPECT_TRUE(Normalizer(doubling).apply("b").ok());
  const auto any = *SplitPattern::compile(".");
  const std::vector<NormalStep> matches(40, normal::ReplaceMatches{any, "ab"});
  EXPECT_FALSE(Normalizer(matches).apply("a").ok());
  EXPECT_FALSE(Normalizer({normal::Prepend{std::string(300, 'x')}}).apply("a").ok());
  std::string ligatures;  // the longest form there is
  for (int i = 0; i < 1000; ++i) ligatures += "\uFDFA";
  EXPECT_EQ(Normalizer({UnicodeForm::kNfkd}).apply(ligatures)->size(), 33'000u);
}

TEST(Normalizer, StepsInOrder) {
  const Normalizer steps({normal::Prepend{"_"}, normal::Replace{" ", "_"}, UnicodeForm::kNfc});
  EXPECT_EQ(*steps.apply("a e\u0301"), "_a_\u00E9");
  EXPECT_EQ(*steps.apply(""), "");
  EXPECT_EQ(replace_all("aaa", "aa", "b"), "ba");
}

// U+0378 and the last two are unassigned, U+E000 is for private use, U+200B a format character.
TEST(BertNormalizer, KeepsUnassignedCharacters) {
  const Normalizer clean({normal::Bert{}});
  const auto text = clean.apply("a\u0378\uE000b\u200B\uFFFE\U0010FFFF");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "a\u0378b\uFFFE\U0010FFFF");
}

}  // namespace
}  // namespace pando
