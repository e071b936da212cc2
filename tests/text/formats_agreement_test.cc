// One tokenizer as tokenizer.json, tokenizer.model and GGUF gives the same ids; user-defined pieces
// are found where the SentencePiece library finds them.
#include <sentencepiece_processor.h>

#include "base/gguf_writer.h"
#include "llama2_testing.h"
#include "text/normalizer.h"
#include "text/stream_decoder.h"

namespace pando::testing {
namespace {

struct TestPiece {
  std::string text;
  float score;
  int type;
};

// The wire format of protocol buffers, as far as a SentencePiece model needs it.
std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string number_field(int field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes_field(int field, const std::string& bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}

std::string spm_bytes(const std::vector<TestPiece>& pieces) {
  std::string out;
  for (const TestPiece& piece : pieces) {
    std::string score;
    GgufWriter::append(&score, piece.score);
    out += bytes_field(
        1, bytes_field(1, piece.text) + varint(2 << 3 | 5) + score + number_field(3, piece.type));
  }
  const std::string trainer = number_field(3, 2) + number_field(35, 1);  // merges, bytes
  const std::string normalizer = bytes_field(1, "identity") + number_field(4, 0);
  return out + bytes_field(2, trainer) + bytes_field(3, normalizer);
}

GgufWriter gguf_of(const std::vector<TestPiece>& pieces) {
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<int32_t> types;
  for (const TestPiece& piece : pieces) {
    texts.push_back(piece.text);
    scores.push_back(piece.score);
    types.push_back(piece.type);
  }
  GgufWriter writer;
  writer.string("tokenizer.ggml.model", "llama")
      .strings("tokenizer.ggml.tokens", texts)
      .numbers("tokenizer.ggml.scores", GgufType::kFloat32, scores)
      .numbers("tokenizer.ggml.token_type", GgufType::kInt32, types)
      .uint32("tokenizer.ggml.bos_token_id", 1)
      .uint32("tokenizer.ggml.eos_token_id", 2)
      .uint32("tokenizer.ggml.unknown_token_id", 0);
  return writer;
}

std::vector<TestPiece> pieces_with(const std::vector<TestPiece>& more) {
  std::vector<TestPiece> pieces = {{"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}};
  for (int byte = 0; byte < 256; ++byte) {
    pieces.push_back({byte_token_text(static_cast<unsigned char>(byte)), 0, 6});
  }
  pieces.insert(pieces.end(), more.begin(), more.end());
  return pieces;
}

std::unique_ptr<Tokenizer> load_file(const std::string& name, const std::string& bytes) {
  const TempDirectory directory;
  directory.write(name, bytes);
  return load_tokenizer(name.ends_with(".gguf") ? directory.path() / name : directory.path());
}

// Special tokens that are written in a text; <unk> among them.
TEST(FormatsAgreement, WrittenSpecialTokens) {
  const auto pieces = pieces_with({{kMark, -10, 1},
                                   {"a", -10, 1},
                                   {"b", -10, 1},
                                   {"<", -10, 1},
                                   {"u", -10, 1},
                                   {"ab", -1, 1},
                                   {"\u2581ab", -2, 1}});
  const auto json =
      load_json(llama_json({kMark, "a", "b", "<", "u", "ab", "\u2581ab"}, {"a b", "\u2581 ab"}));
  const auto model = load_file("tokenizer.model", spm_bytes(pieces));
  const auto gguf = load_file("model.gguf", gguf_of(pieces).bytes());
  ASSERT_TRUE(json != nullptr && model != nullptr && gguf != nullptr);
  EXPECT_EQ(encode(*json, "ab<unk>"), (std::vector<Token>{kMore + 6, 0}));
  for (const char* text : {"<unk>", "ab<unk>ab", "a <unk> b", "<unk><unk>u", "<s>ab</s>", "<unk",
                           "</s><s><unk>", "<u nk>", "\u00E9<unk>\u00E9"}) {
    const std::vector<Token> expected = encode(*json, text, true);
    EXPECT_EQ(encode(*model, text, true), expected) << text;
    EXPECT_EQ(encode(*gguf, text, true), expected) << text;
    EXPECT_EQ(decode(*model, expected, true), decode(*json, expected, true));
    EXPECT_EQ(decode(*gguf, expected, true), decode(*json, expected, true));
  }
}

// Pieces of spaces, marked as in SentencePiece's own file or plain as converters write them.
TEST(FormatsAgreement, UserDefinedPiecesOfSpaces) {
  std::string four, eight;
  for (int i = 0; i < 8; ++i) eight += kMark;
  for (int i = 0; i < 4; ++i) four += kMark;
  const auto pieces = pieces_with({{eight, 0, 4},
                                   {four, 0, 4},
                                   {"<|user|>", 0, 4},
                                   {std::string(kMark) + "<PRE>", 0, 4},
                                   {kMark, -10, 1},
                                   {"x", -10, 1},
                                   {"\u2581x", -1, 1},
                                   {"\u2581\u2581", -2, 1}});
  const std::string bytes = spm_bytes(pieces);
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.LoadFromSerializedProto(bytes).ok());
  std::vector<TestPiece> plain = pieces;
  for (TestPiece& piece : plain) {
    if (piece.type == 4) piece.text = replace_all(piece.text, kMark, " ");
  }
  const auto model = load_file("tokenizer.model", bytes);
  const auto marked_gguf = load_file("model.gguf", gguf_of(pieces).bytes());
  const auto plain_gguf = load_file("model.gguf", gguf_of(plain).bytes());
  ASSERT_TRUE(model != nullptr && marked_gguf != nullptr && plain_gguf != nullptr);
  EXPECT_EQ(encode(*marked_gguf, "        x", true), (std::vector<Token>{1, kMore, kMore + 6}));
  std::vector<int> expected;
  for (const std::string& text :
       {std::string("        x"), std::string("    x"), std::string("x    x"),
        std::string("x        x x"), std::string("   "), std::string(20, ' '),
        std::string("x <PRE>x"), std::string("\u2581\u2581\u2581\u2581x"), std::string("")}) {
    ASSERT_TRUE(library.Encode(text, &expected).ok());
    for (const auto* tokenizer : {&model, &marked_gguf, &plain_gguf}) {
      EXPECT_EQ(encode(**tokenizer, text), expected) << "'" << text << "'";
    }
  }
  ASSERT_TRUE(library.Encode("x<|user|>x", &expected).ok());
  EXPECT_EQ(encode(*model, "x<|user|>x"), expected);
}

}  // namespace
}  // namespace pando::testing
