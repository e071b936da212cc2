// Untrusted SentencePiece models: everything that the library would trust is checked before.
#include "text/spm_model.h"

#include <sentencepiece_trainer.h>

#include <cmath>
#include <cstring>
#include <random>

#include "text/spm.h"
#include "text_testing.h"

namespace pando::testing {
namespace {

// A model made by the library, with its largest character map, which is 200 KB.
const std::string& trained_model() {
  static const std::string bytes = [] {
    const TempDirectory directory;
    std::string text;
    for (int i = 0; i < 200; ++i) text += fmt::format("a text of {} words\n", i);
    directory.write("text.txt", text);
    const std::string prefix = (directory.path() / "m").string();
    EXPECT_TRUE(sentencepiece::SentencePieceTrainer::Train(
                    fmt::format("--input={} --model_prefix={} --vocab_size=60 --model_type=bpe "
                                "--normalization_rule_name=nmt_nfkc_cf --hard_vocab_limit=false "
                                "--minloglevel=2",
                                (directory.path() / "text.txt").string(), prefix))
                    .ok());
    return *read_text_file(std::filesystem::path(prefix + ".model"));
  }();
  return bytes;
}

std::string refused(const std::string& bytes) {
  const auto loaded = SpmTokenizer::load(bytes, "t.model", {});
  EXPECT_FALSE(loaded.ok());
  if (loaded.ok()) return {};
  EXPECT_EQ(loaded.error().code, ErrorCode::kBadFile);
  return loaded.error().message();
}

TEST(SpmModel, CharacterMapsOfTheLibraryAreTaken) {
  const Result<SpmModel> model = read_spm_model(trained_model(), "t.model");
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_GT(model->character_map.size(), 100'000u);
  auto tokenizer = SpmTokenizer::load(trained_model(), "t.model", {});
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message();
  EXPECT_EQ(encode(**tokenizer, "A \uFF34ext"), encode(**tokenizer, "a text"));
}

TEST(SpmModel, CharacterMapsThatLeadOutsideThemselves) {
  const std::string& good = trained_model();
  const Result<SpmModel> model = read_spm_model(good, "t.model");
  ASSERT_TRUE(model.ok());
  const size_t at = static_cast<size_t>(model->character_map.data() - good.data());
  const auto with = [&](size_t offset, uint32_t value) {
    std::string bytes = good;
    std::memcpy(&bytes[at + offset], &value, sizeof value);
    return bytes;
  };
  const uint32_t size = static_cast<uint32_t>(model->character_map.size());
  for (const uint32_t trie_bytes : {0u, 1u, 4u, size - 1, size - 4, size - 5, size, 0xFFFFFFFFu})
    EXPECT_EQ(
        refused(with(0, trie_bytes)),
        "'t.model': the normalizer's character map points outside itself or holds text that is "
        "not UTF-8")
        << trie_bytes;
  EXPECT_EQ(refused(with(4, 0xFFFFFE00u)),  // the first unit
            "'t.model': the normalizer's character map points outside itself or holds text that is "
            "not UTF-8");
  std::mt19937 random(1);
  int n_refused = 0;
  for (int round = 0; round < 200; ++round) {
    const auto loaded =
        SpmTokenizer::load(with(4 + 4 * (random() % (size / 8)), random()), "t.model", {});
    n_refused += !loaded.ok();
    if (loaded.ok()) (void)(*loaded)->encode("A \uFF34ext, e\u0301 \u3392 \U0001F999", true);
  }
  EXPECT_GT(n_refused, 20);
}

TEST(SpmModel, ScoresAndTextsOfPieces) {
  const std::string& good = trained_model();
  const Piece& piece = read_spm_model(good, "t.model")->pieces.back();
  const size_t at = static_cast<size_t>(piece.text.data() - good.data());
  std::string bad = good;
  bad[at] = '\xff';
  EXPECT_NE(refused(bad).find("is not UTF-8"), std::string::npos);
  bad = good;
  const float score = NAN;  // behind the text and its field's key
  std::memcpy(&bad[at + piece.text.size() + 1], &score, sizeof score);
  EXPECT_NE(refused(bad).find("has score nan, expected a number"), std::string::npos);
  for (size_t length = 0; length < 2000; length += 7)
    (void)SpmTokenizer::load(good.substr(0, length), "t.model", {});
}

}  // namespace
}  // namespace pando::testing
