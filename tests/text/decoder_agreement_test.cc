// Agreement with the Python library `tokenizers` on the decoders of tokenizer.json.
// tools/tokenizer_decoders_golden.py writes the reference.
#include "text/bpe.h"
#include "text/grammar/form_cache.h"
#include "text/stream_decoder.h"
#include "text_testing.h"

namespace pando::testing {
namespace {

Json read_decoders() {
  std::ifstream file(PANDO_SOURCE_DIR "/tests/text/data/decoders.json");
  return Json::parse(file);
}

// A tokenizer of all bytes and the pieces, in this order.
std::unique_ptr<Tokenizer> with_decoder(const Json& pieces, const Json& decoder) {
  Json vocab;
  for (int byte = 0; byte < 256; ++byte)
    vocab[byte_token_text(static_cast<unsigned char>(byte))] = byte;
  for (size_t i = 0; i < pieces.size(); ++i) vocab[pieces[i].get<std::string>()] = 256 + i;
  const Json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  const bool has_levels = decoder.dump().find("ByteLevel") != std::string::npos;
  return load_json({{"decoder", decoder},
                    {"pre_tokenizer", has_levels ? level : Json()},
                    {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}});
}

std::string streamed(StreamDecoder& decoder, std::span<const Token> tokens) {
  std::string text;
  for (const Token token : tokens) text += decoder.push(token);
  return text + decoder.finish();
}

TEST(DecoderAgreement, WholeTexts) {
  const Json golden = read_decoders();
  for (const Json& entry : golden["decoders"]) {
    SCOPED_TRACE(entry["decoder"].dump());
    const auto tokenizer = with_decoder(golden["pieces"], entry["decoder"]);
    if (tokenizer == nullptr) continue;
    for (const Json& text : entry["texts"])
      EXPECT_EQ(decode(*tokenizer, text[0].get<std::vector<Token>>(), /*skip_special=*/false),
                text[1].get<std::string>())
          << text[0];
  }
}

// The text up to any place and the text of a stream from there join to the whole text, unless later
// tokens change the text that was shown.
TEST(DecoderAgreement, StreamsThatGoOn) {
  const Json golden = read_decoders();
  int n_compared = 0;
  for (const Json& entry : golden["decoders"]) {
    const auto tokenizer = with_decoder(golden["pieces"], entry["decoder"]);
    if (tokenizer == nullptr || tokenizer->decoding() == nullptr) continue;
    for (const Json& one : entry["texts"]) {
      const auto ids = one[0].get<std::vector<Token>>();
      const std::string text = one[1];
      for (size_t n = 0; n < ids.size(); ++n) {
        const auto before = std::span(ids).first(n);
        const std::string shown = decode(*tokenizer, before, /*skip_special=*/false);
        if (!text.starts_with(shown)) continue;
        StreamDecoder decoder(*tokenizer, /*first_in_text=*/false, /*skip_special=*/false);
        decoder.follow(before);
        EXPECT_EQ(shown + streamed(decoder, std::span(ids).subspan(n)), text)
            << entry["decoder"] << one[0] << " from " << n;
        ++n_compared;
      }
    }
  }
  EXPECT_GT(n_compared, 2000);
}

const Json kReplaceBehindFuse = {
    {"type", "Sequence"},
    {"decoders",
     {{{"type", "ByteFallback"}},
      {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}},
      {{"type", "Fuse"}},
      {{"type", "Replace"}, {"pattern", {{"String", "\n "}}}, {"content", "\n"}}}}};

TEST(DecoderRun, HoldsBackWhatALaterTokenMayChange) {
  const auto tokenizer = with_decoder({"\u2581a", "\u2581b", "c"}, kReplaceBehindFuse);
  ASSERT_NE(tokenizer, nullptr);
  const Token a = 256, b = 257, c = 258;
  StreamDecoder decoder(*tokenizer, /*first_in_text=*/true);
  EXPECT_EQ(decoder.push(a), "a");
  EXPECT_EQ(decoder.push('\n'), "");
  EXPECT_EQ(decoder.push(b), "\nb");
  EXPECT_EQ(decoder.push('\n'), "");
  EXPECT_EQ(decoder.push(c), "\nc");
  EXPECT_EQ(decoder.push('\n'), "");
  EXPECT_EQ(decoder.finish(), "\n");
  EXPECT_EQ(decode_piece(*tokenizer, '\n'), "\n");
  EXPECT_EQ(decode_piece(*tokenizer, b), " b");
}

// An answer continues the text of its prompt, which was already shown.
TEST(DecoderRun, GoesOnBehindAPrompt) {
  const auto tokenizer = with_decoder({"\u2581a", "\u2581b", "c"}, kReplaceBehindFuse);
  ASSERT_NE(tokenizer, nullptr);
  const auto answer = [&](std::vector<Token> prompt, std::vector<Token> tokens) {
    StreamDecoder decoder(*tokenizer, /*first_in_text=*/false);
    decoder.follow(prompt);
    return streamed(decoder, tokens);
  };
  EXPECT_EQ(answer({256, '\n'}, {257, 258}), "bc");
  EXPECT_EQ(answer({256, '\n'}, {258, 257}), "c b");
  EXPECT_EQ(answer({256}, {257, '\n'}), " b\n");
  EXPECT_EQ(answer(std::vector<Token>(1000, '\n'), {257}), "b");
}

// Forms are enforced by the bytes of tokens, so the decoder must not change their texts.
TEST(DecoderRun, AFormThatDecodingMayChangeIsRefused) {
  const auto tokenizer = with_decoder({"\u2581a", "\u2581b", "c"}, kReplaceBehindFuse);
  ASSERT_NE(tokenizer, nullptr);
  grammar::FormCache forms(*tokenizer);
  const auto refusal = [&](TextForm::Kind kind, const std::string& text) {
    const auto masks = forms.get({.kind = kind, .text = text});
    return masks ? "" : masks.error().message();
  };
  EXPECT_EQ(refusal(TextForm::Kind::kJsonSchema, R"({"type": "string"})"), "");
  EXPECT_EQ(refusal(TextForm::Kind::kRegex, "[a-c ]+"), "");
  EXPECT_EQ(
      refusal(TextForm::Kind::kRegex, "[a-c ]+\\n[a-c]*"),
      "the tokenizer's decoder may change the text \"\\n \" in an answer, so an answer cannot "
      "have a form that may contain it");
}

}  // namespace
}  // namespace pando::testing
