// Character maps, and the normalizers of tokenizer.json around them. Expected texts come from the
// library `tokenizers`.
#include "text/character_map.h"

#include <cstring>

#include "text/base64.h"
#include "text/characters.h"
#include "text/normalizer.h"
#include "text/utf8.h"
#include "text_testing.h"

namespace pando::testing {
namespace {

// The character map of the tokenizer "map" in data/unigram.jsonl.
const std::string& made_map() {
  static const std::string map = [] {
    std::ifstream file(PANDO_SOURCE_DIR "/tests/text/data/unigram.jsonl");
    for (std::string line; std::getline(file, line);) {
      const Json made = Json::parse(line);
      if (made["name"] != "map") continue;
      const Json& step = made["tokenizer"]["normalizer"]["normalizers"][0];
      return from_base64(step["precompiled_charsmap"].get<std::string>()).value();
    }
    throw std::runtime_error("no tokenizer 'map'");
  }();
  return map;
}

std::string mapped(std::string_view text) {
  return CharacterMap(made_map()).apply(text, SIZE_MAX).value();
}

TEST(CharacterMap, Characters) {
  EXPECT_EQ(mapped(""), "");
  EXPECT_EQ(mapped("plain text"), "plain text");
  EXPECT_EQ(mapped("Quiz"), "quiz");
  EXPECT_EQ(mapped("\u2460\uFF21\uFB03"), "1Affi");
  EXPECT_EQ(mapped("a\x07"
                   "b\uFEFF"),
            "ab");
  EXPECT_EQ(mapped("\u3300"), "\u30A2\u30D1\u30FC\u30C8");
  EXPECT_EQ(mapped("\u65E5\U0001F999"), "\u65E5\U0001F999");
  EXPECT_EQ(mapped(std::string("Q\0Q", 3)), std::string("q\0q", 3));
}

// A cluster of up to five bytes is replaced by the replacement of the shortest text of the map that
// it begins with.
TEST(CharacterMap, Clusters) {
  EXPECT_EQ(mapped("a\r\nb"), "a b");
  EXPECT_EQ(mapped("\n\r"), "  ");
  EXPECT_EQ(mapped("\u2460\u0301x"), "1x");                    // 5 bytes: the accent goes
  EXPECT_EQ(mapped("\u2460\u0301\u0302x"), "1\u0301\u0302x");  // 7 bytes
  EXPECT_EQ(mapped("e\u0301"), "\u00E9");
  EXPECT_EQ(mapped("e\u0301\u0301"), "\u00E9");
  EXPECT_EQ(mapped("e\u0301\u0301\u0301"), "e\u0301\u0301\u0301");
  EXPECT_EQ(mapped("\uFF76\uFF9E"), "\u30AB\u3099");
}

TEST(CharacterMap, ClusterLengths) {
  EXPECT_EQ(cluster_length("ab"), 1u);
  EXPECT_EQ(cluster_length("\r\n\n"), 2u);
  EXPECT_EQ(cluster_length("\n\r"), 1u);
  EXPECT_EQ(cluster_length("e\u0301\u0302x"), 5u);
  EXPECT_EQ(cluster_length("\u1100\u1161\u11A8\u1100"), 9u);        // a syllable
  EXPECT_EQ(cluster_length("\U0001F1E9\U0001F1EA\U0001F1EB"), 8u);  // a flag
  EXPECT_EQ(cluster_length("\U0001F468\u200D\U0001F469 x"), 11u);
  EXPECT_EQ(cluster_length("\u0301\u0301a"), 4u);
}

TEST(CharacterMap, OutputIsLimited) {
  const CharacterMap map(made_map());
  EXPECT_EQ(map.apply("\u3300", 12), "\u30A2\u30D1\u30FC\u30C8");
  EXPECT_EQ(map.apply("\u3300", 11), std::nullopt);
}

TEST(CharacterMap, OnesThatLeadOutsideThemselves) {
  const std::string& good = made_map();
  ASSERT_TRUE(is_character_map(good));
  EXPECT_FALSE(is_character_map(""));
  for (const size_t size : {1u, 4u, 8u, 1028u})
    EXPECT_FALSE(is_character_map(good.substr(0, size)));
  EXPECT_FALSE(is_character_map(good.substr(0, good.size() - 1)));  // the last text has no end
  std::string bad = good;
  bad[bad.size() - 2] = '\xff';
  EXPECT_FALSE(is_character_map(bad));  // not UTF-8
  size_t n_sound = 0;
  for (size_t at = 0; at < good.size(); at += 31) {
    for (const unsigned char flip : {0x01, 0x04, 0x80, 0xFF}) {
      bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      if (!is_character_map(bad)) continue;
      ++n_sound;
      const auto text = CharacterMap(bad).apply("Q e\u0301\u2460\u0301 \uFF76\uFF9E\u3300", 4096);
      EXPECT_FALSE(find_invalid_utf8(text.value())) << at;
    }
  }
  EXPECT_GT(n_sound, 20u);
}

Json mapping_json(const Json& normalizer) {
  Json document = byte_level_json({}, Json::array());
  document["normalizer"] = normalizer;
  return document;
}

TEST(CharacterMap, AsANormalizer) {
  const TempDirectory directory;
  for (const Json& map : {Json(), Json(""), Json("AAAA"), Json("!"), Json(1)}) {
    directory.write_json("tokenizer.json",
                         mapping_json({{"type", "Precompiled"}, {"precompiled_charsmap", map}}));
    const auto loaded = Tokenizer::load(directory.path());
    ASSERT_FALSE(loaded.ok()) << map;
    EXPECT_EQ(loaded.error().code, ErrorCode::kBadFile);
    EXPECT_NE(loaded.error().message().find("'normalizer.precompiled_charsmap'"), std::string::npos)
        << loaded.error().message();
  }
}

TEST(Nmt, ControlCharactersAndSpaces) {
  const Normalizer nmt({normal::Nmt{}});
  EXPECT_EQ(nmt.apply("a\tb\nc\rd\x0c"
                      "e")
                .value(),
            "a b c d e");
  EXPECT_EQ(nmt.apply("a\x01\x0b\x1f\x7f\u008F\u009F"
                      "b")
                .value(),
            "ab");
  EXPECT_EQ(nmt.apply("\u200B\u200F\u2028\u2581\uFEFF\uFFFD\u1680").value(), "       ");
  EXPECT_EQ(nmt.apply("\u0080\u0090\u00A0\u2010\u3000").value(), "\u0080\u0090\u00A0\u2010\u3000");
  const auto loaded = load_json(mapping_json({{"type", "Nmt"}}));
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(encode(*loaded, "\n\x01"), (std::vector<Token>{' '}));
}

}  // namespace
}  // namespace pando::testing
