// UTF-8 as it grows, at every split.
#include "text/stream_decoder.h"

#include <random>

#include "text/byte_tokenizer.h"
#include "text/utf8.h"
#include "text_testing.h"

namespace pando::testing {
namespace {

class StreamDecoding : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_byte_tokenizer(directory_.path()).ok());
    tokenizer_ = load_tokenizer(directory_.path());
    ASSERT_NE(tokenizer_, nullptr);
  }
  // Token by token; checks that nothing but whole characters comes out.
  std::string stream(std::string_view bytes) {
    StreamDecoder decoder(*tokenizer_, true);
    std::string text;
    for (char byte : bytes) {
      const std::string piece = decoder.push(static_cast<unsigned char>(byte));
      EXPECT_FALSE(find_invalid_utf8(piece).has_value());
      text += piece;
    }
    return text + decoder.finish();
  }

  TempDirectory directory_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(StreamDecoding, CharactersComeWhole) {
  StreamDecoder decoder(*tokenizer_, true);
  EXPECT_EQ(decoder.push(0xF0), "");
  EXPECT_EQ(decoder.push(0x9F), "");
  EXPECT_EQ(decoder.push(0xA6), "");
  EXPECT_EQ(decoder.push(0x99), "\U0001F999");
  EXPECT_EQ(decoder.finish(), "");
}

// One U+FFFD for each maximal subpart: the examples of the Unicode Standard, section 3.9.
TEST_F(StreamDecoding, InvalidBytes) {
  EXPECT_EQ(stream("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(stream("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(stream("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB");
  EXPECT_EQ(stream("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\uFFFD\uFFFD\uFFFD\uFFFDA");
}

TEST_F(StreamDecoding, WhatIsIncompleteAtTheEnd) {
  EXPECT_EQ(stream("a\xF0\x9F\xA6"), "a\uFFFD");
  EXPECT_EQ(stream("a\xE2"), "a\uFFFD");
}

TEST_F(StreamDecoding, SpecialTokensAreSkippedOrShown) {
  const std::vector<Token> tokens = {'a', 256, 'b'};
  EXPECT_EQ(decode(*tokenizer_, tokens, true), "ab");
  EXPECT_EQ(decode(*tokenizer_, tokens, false), "a<|endoftext|>b");
  EXPECT_EQ(encode(*tokenizer_, "a<|endoftext|>b"), tokens);
}

// Random bytes: the stream is valid, and the same whatever the pieces are.
TEST_F(StreamDecoding, RandomBytes) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 30, ' ');
    for (char& byte : bytes)
      byte = static_cast<char>(random() % 2 ? random() : random() % 64 + 192);
    const std::string text = stream(bytes);
    EXPECT_FALSE(find_invalid_utf8(text).has_value());
    if (!find_invalid_utf8(bytes)) {
      EXPECT_EQ(text, bytes);
    }
  }
}

std::string random_utf8(std::mt19937& random) {
  std::string text;
  for (size_t n = random() % 40; n > 0; --n) {
    const char32_t limits[] = {0x80, 0x800, 0x10000, 0x110000};
    const char32_t point = random() % limits[random() % 4];
    if (point < 0xD800 || point > 0xDFFF) append_utf8(point, &text);
  }
  return text;
}

TEST_F(StreamDecoding, RoundTripOfRandomText) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_utf8(random);
    EXPECT_EQ(decode(*tokenizer_, encode(*tokenizer_, text), false), text);
  }
}

TEST(Utf8, InvalidOffsets) {
  EXPECT_FALSE(find_invalid_utf8("").has_value());
  EXPECT_FALSE(find_invalid_utf8("plain text, \u00E9\u4E2D\U0001F600").has_value());
  EXPECT_FALSE(find_invalid_utf8(std::string(100, '\0')).has_value());
  const std::string good = "0123456789abcdef";
  const std::string_view bad[] = {"\x80",
                                  "\xC0\xAF",
                                  "\xC1\xBF",
                                  "\xE0\x9F\xBF",
                                  "\xED\xA0\x80",
                                  "\xF0\x8F\xBF\xBF",
                                  "\xF4\x90\x80\x80",
                                  "\xF5",
                                  "\xFF",
                                  "\xE2\x82",
                                  "\xC3",
                                  "\xF0\x9F\x98"};
  for (size_t before = 0; before <= good.size(); ++before) {
    for (std::string_view bytes : bad) {
      const std::string start = good.substr(0, before) + std::string(bytes);
      EXPECT_EQ(find_invalid_utf8(start), before);
      EXPECT_EQ(find_invalid_utf8(start + good), before);
    }
  }
}

TEST(Utf8, EveryCharacterThereAndBack) {
  for (char32_t point = 0; point < 0x110000; ++point) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;
    std::string text;
    append_utf8(point, &text);
    const Utf8Step step = next_utf8(text);
    ASSERT_EQ(step.kind, Utf8Kind::kCharacter);
    ASSERT_EQ(step.point, point);
    ASSERT_EQ(step.length, static_cast<int>(text.size()));
    ASSERT_EQ(utf8_length(text[0]), step.length);
    ASSERT_EQ(last_character("a" + text), text);
  }
}

}  // namespace
}  // namespace pando::testing
