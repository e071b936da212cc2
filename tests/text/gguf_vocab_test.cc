// Tokenizers of small GGUF files.
#include "base/gguf_writer.h"
#include "llama2_testing.h"
#include "text/stream_decoder.h"

namespace pando::testing {
namespace {

Result<std::unique_ptr<Tokenizer>> load(const GgufWriter& writer) {
  const TempDirectory directory;
  directory.write("model.gguf", writer.bytes());
  return Tokenizer::load(directory.path() / "model.gguf");
}

std::unique_ptr<Tokenizer> load_or_fail(const GgufWriter& writer) {
  auto loaded = load(writer);
  if (loaded.ok()) return std::move(*loaded);
  ADD_FAILURE() << loaded.error().message();
  return nullptr;
}

void expect_refused(const GgufWriter& writer, ErrorCode code, std::string_view part) {
  const auto loaded = load(writer);
  ASSERT_FALSE(loaded.ok()) << part;
  EXPECT_EQ(loaded.error().code, code) << loaded.error().message();
  EXPECT_NE(loaded.error().message().find(part), std::string::npos) << loaded.error().message();
}

struct FileVocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<float> scores;

  void add(const std::string& text, int32_t type, float score = 0) {
    tokens.push_back(text);
    types.push_back(type);
    scores.push_back(score);
  }
  GgufWriter writer(const std::string& model) const {
    GgufWriter writer;
    writer.string("tokenizer.ggml.model", model)
        .strings("tokenizer.ggml.tokens", tokens)
        .numbers("tokenizer.ggml.token_type", GgufType::kInt32, types);
    return writer;
  }
};

// Bytes 0 to 255, "ab" 256, "Ġa" 257, <|im_end|> 258, <more> 259.
FileVocabulary byte_level_vocabulary() {
  FileVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.add(byte_level_character(static_cast<unsigned char>(byte)), 1);
  }
  vocabulary.add("ab", 1);
  vocabulary.add("\u0120a", 1);
  vocabulary.add("<|im_end|>", 3);
  vocabulary.add("<more>", 4);
  return vocabulary;
}

TEST(GgufVocab, ByteLevel) {
  GgufWriter writer = byte_level_vocabulary().writer("gpt2");
  writer.strings("tokenizer.ggml.merges", {"a b", "\u0120 a"})
      .string("tokenizer.ggml.pre", "qwen2")
      .uint32("tokenizer.ggml.eos_token_id", 7);
  const auto tokenizer = load_or_fail(writer);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(encode(*tokenizer, "ab ac12<|im_end|><more>", true),
            (std::vector<Token>{256, 257, 'c', '1', '2', 258, 259}));
  EXPECT_EQ(tokenizer->token_bytes(257, true), " a");
  EXPECT_EQ(tokenizer->token_bytes(258, true), "");
  EXPECT_EQ(tokenizer->token_bytes(258, false), "<|im_end|>");
  EXPECT_EQ(tokenizer->token_bytes(259, true), "<more>");
  const auto ends = tokenizer->end_tokens();
  EXPECT_EQ(std::vector<Token>(ends.begin(), ends.end()), (std::vector<Token>{7, 258}));
  EXPECT_EQ(tokenizer->bos(), 11);  // none is named
  EXPECT_TRUE(tokenizer->warnings().empty());
}

std::vector<std::string> warnings_of(const GgufWriter& writer) {
  const auto tokenizer = load_or_fail(writer);
  if (tokenizer == nullptr) return {};
  return {tokenizer->warnings().begin(), tokenizer->warnings().end()};
}

// As in llama.cpp: words of "default", with a warning.
TEST(GgufVocab, MissingWordsAreThoseOfDefaultWithAWarning) {
  GgufWriter writer = byte_level_vocabulary().writer("gpt2");
  writer.strings("tokenizer.ggml.merges", {"a b", "\u0120 a"})
      .uint32("tokenizer.ggml.eos_token_id", 258);
  const auto warnings = warnings_of(writer);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("'tokenizer.ggml.pre' is missing"), std::string::npos) << warnings[0];
  GgufWriter said = writer;
  said.string("tokenizer.ggml.pre", "default");
  EXPECT_TRUE(warnings_of(said).empty());
  for (const char* text : {"ab ab, 12345 a.b", "$a $$ab"}) {
    EXPECT_EQ(encode(*load_or_fail(writer), text), encode(*load_or_fail(said), text));
  }
}

// Defaults of llama.cpp for files without special tokens.
TEST(GgufVocab, MissingSpecialTokens) {
  GgufWriter merged = byte_level_vocabulary().writer("gpt2");
  merged.strings("tokenizer.ggml.merges", {}).string("tokenizer.ggml.pre", "gpt-2");
  const auto tokenizer = load_or_fail(merged);
  EXPECT_EQ(tokenizer->bos(), 11);
  EXPECT_EQ(tokenizer->end_tokens()[0], 11);
  EXPECT_EQ(encode(*tokenizer, "b", true), (std::vector<Token>{'b'}));
  ASSERT_EQ(warnings_of(merged).size(), 1u);
  EXPECT_NE(warnings_of(merged)[0].find("eos_token_id' is missing; using token 11"),
            std::string::npos);
  GgufWriter none = merged;  // says that there is none
  none.uint32("tokenizer.ggml.eos_token_id", 0xFFFFFFFFu);
  EXPECT_EQ(load_or_fail(none)->end_tokens()[0], 258);
  EXPECT_TRUE(warnings_of(none).empty());
  GgufWriter glm = byte_level_vocabulary().writer("gpt2");
  glm.strings("tokenizer.ggml.merges", {}).string("tokenizer.ggml.pre", "glm4");
  EXPECT_FALSE(load_or_fail(glm)->bos().has_value());
  glm.boolean("tokenizer.ggml.add_bos_token", true);
  expect_refused(glm, ErrorCode::kBadFile, "bos_token_id' is missing, expected an id");
}

TEST(GgufVocab, BeginToken) {
  const auto tokens = [](std::string_view pre, std::optional<bool> add) {
    GgufWriter writer = byte_level_vocabulary().writer("gpt2");
    writer.strings("tokenizer.ggml.merges", {}).string("tokenizer.ggml.pre", pre);
    writer.uint32("tokenizer.ggml.bos_token_id", 258);
    if (add) writer.boolean("tokenizer.ggml.add_bos_token", *add);
    return encode(*load_or_fail(writer), "b", true);
  };
  EXPECT_EQ(tokens("gpt-2", std::nullopt), (std::vector<Token>{'b'}));
  EXPECT_EQ(tokens("gpt-2", true), (std::vector<Token>{258, 'b'}));
  EXPECT_EQ(tokens("llama-bpe", std::nullopt), (std::vector<Token>{258, 'b'}));
  EXPECT_EQ(tokens("llama-bpe", false), (std::vector<Token>{'b'}));
}

FileVocabulary scored_vocabulary() {
  FileVocabulary vocabulary;
  vocabulary.add("<unk>", 2);
  vocabulary.add("<s>", 3);
  vocabulary.add("</s>", 3);
  for (int byte = 0; byte < 256; ++byte) vocabulary.add(fmt::format("<0x{:02X}>", byte), 6);
  vocabulary.add("\u2581", 1, -5);  // 259
  vocabulary.add("a", 1, -6);
  vocabulary.add("aa", 1, -2);  // 261
  vocabulary.add("\u2581a", 1, -1);
  vocabulary.add("[PAD1]", 5);
  vocabulary.add("<user>", 4);
  return vocabulary;
}

TEST(GgufVocab, Scores) {
  const FileVocabulary vocabulary = scored_vocabulary();
  GgufWriter writer = vocabulary.writer("llama");
  writer.numbers("tokenizer.ggml.scores", GgufType::kFloat32, vocabulary.scores)
      .uint32("tokenizer.ggml.bos_token_id", 1)
      .uint32("tokenizer.ggml.eos_token_id", 2);
  const auto tokenizer = load_or_fail(writer);
  ASSERT_NE(tokenizer, nullptr);
  // "_a" before "aa"; the leftmost of equal pairs.
  EXPECT_EQ(encode(*tokenizer, "aaaa", true), (std::vector<Token>{1, 262, 261, 260}));
  EXPECT_EQ(encode(*tokenizer, "\u00E9"), (std::vector<Token>{259, 3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(encode(*tokenizer, "a<user>a</s>"), (std::vector<Token>{262, 264, 262, 2}));
  EXPECT_EQ(encode(*tokenizer, ""), (std::vector<Token>{}));
  EXPECT_TRUE(tokenizer->strips_leading_space());
  EXPECT_EQ(decode(*tokenizer, encode(*tokenizer, "a \u00E9 <user>", true), true),
            "a \u00E9 <user>");
  EXPECT_EQ(tokenizer->token_bytes(0, true), "");

  writer.boolean("tokenizer.ggml.add_space_prefix", false);
  EXPECT_EQ(encode(*load_or_fail(writer), "aa"), (std::vector<Token>{261}));
}

// Begin, end and unknown token, scores and types.
TEST(GgufVocab, MissingKeysOfScoredPieces) {
  FileVocabulary vocabulary = scored_vocabulary();
  vocabulary.types[2] = 1;  // by its text it is a control token all the same
  GgufWriter writer = vocabulary.writer("llama");
  const auto tokenizer = load_or_fail(writer);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->end_tokens()[0], 2);
  EXPECT_EQ(warnings_of(writer).size(), 2u);
  // Without scores all are equal, so the leftmost pair is merged first.
  EXPECT_EQ(encode(*tokenizer, "aaaa", true), (std::vector<Token>{1, 262, 261, 260}));
  EXPECT_EQ(encode(*tokenizer, "a<unk></s>"), (std::vector<Token>{262, 0, 2}));
  GgufWriter untyped;
  untyped.string("tokenizer.ggml.model", "llama")
      .strings("tokenizer.ggml.tokens", {"<0xC3>", "<0xA9>", "\u2581", "x"});
  EXPECT_EQ(encode(*load_or_fail(untyped), "x\u00E9"), (std::vector<Token>{2, 3, 0, 1}));
}

TEST(GgufVocab, EndToken) {
  GgufWriter writer = byte_level_vocabulary().writer("gpt2");
  writer.strings("tokenizer.ggml.merges", {})
      .string("tokenizer.ggml.pre", "qwen2")
      .boolean("tokenizer.ggml.add_eos_token", true);
  EXPECT_EQ(encode(*load_or_fail(writer), "b", true), (std::vector<Token>{'b', 11}));  // names none
  writer.uint32("tokenizer.ggml.eos_token_id", 258);
  EXPECT_EQ(encode(*load_or_fail(writer), "b", true), (std::vector<Token>{'b', 258}));
  EXPECT_EQ(encode(*load_or_fail(writer), "b", false), (std::vector<Token>{'b'}));
}

// Phi-3's tokens take the spaces after them.
TEST(GgufVocab, Phi3ChatAsItsTokenizerJson) {
  const std::vector<std::string> more = {"\u2581", "h", "i", "o", "hi", "\u2581hi"};
  const std::vector<std::string> tags = {"<|user|>", "<|end|>", "<|assistant|>", "<|system|>"};
  Json document = llama_json(more, Json::array({{"h", "i"}, {"\u2581", "hi"}}));
  document["added_tokens"][2]["rstrip"] = true;  // </s>
  FileVocabulary vocabulary;
  for (const char* text : {"<unk>", "<s>", "</s>"}) vocabulary.add(text, 3);
  vocabulary.types[0] = 2;
  for (int byte = 0; byte < 256; ++byte) vocabulary.add(fmt::format("<0x{:02X}>", byte), 6);
  for (size_t i = 0; i < more.size(); ++i) {
    vocabulary.add(more[i], 1, i == 4 ? -1 : i == 5 ? -2 : -10);
  }
  for (const std::string& tag : tags) {
    Json token = added_token(static_cast<int>(vocabulary.tokens.size()), tag);
    token["rstrip"] = true;
    document["added_tokens"].push_back(token);
    vocabulary.add(tag, 3);
  }
  const TempDirectory directory;
  directory.write_json("tokenizer.json", document);
  const auto published = load_tokenizer(directory.path());
  ASSERT_NE(published, nullptr);

  const auto gguf = [&](std::string_view architecture, std::string_view name) {
    GgufWriter writer = vocabulary.writer("llama");
    writer.numbers("tokenizer.ggml.scores", GgufType::kFloat32, vocabulary.scores)
        .uint32("tokenizer.ggml.bos_token_id", 1)
        .string("general.architecture", architecture)
        .string("general.name", name);
    return load_or_fail(writer);
  };
  // As the chat template of Phi-3 mini writes a conversation.
  const std::string prompt =
      "<|user|>\nhi hi<|end|>\n<|assistant|>\no<|end|>\n<|user|>\ni<|end|>\n<|assistant|>\n";
  const Token user = kMore + 6;
  for (const std::string& text : {prompt, std::string("<|user|>\n hi<s>\nhi</s>\no")}) {
    const std::vector<Token> expected = encode(*published, text, true);
    for (const char* name : {"Phi 3 Mini", "Phi3", "my-PHI-3-mini"}) {
      const bool by_name = name != std::string_view("Phi 3 Mini");
      const auto tokenizer = gguf(by_name ? "llama" : "phi3", name);
      ASSERT_NE(tokenizer, nullptr);
      EXPECT_EQ(encode(*tokenizer, text, true), expected) << name << ": " << text;
    }
    EXPECT_NE(encode(*gguf("llama", "other"), text, true), expected);
  }
  EXPECT_EQ(encode(*gguf("phi3", ""), "<|user|>\nhi"), (std::vector<Token>{user, kMore + 5}));
}

TEST(GgufVocab, WordPiece) {
  FileVocabulary vocabulary;
  vocabulary.add("[UNK]", 3);
  vocabulary.add("\u2581play", 1);
  vocabulary.add("ing", 1);
  vocabulary.add("\u2581,", 1);
  vocabulary.add("\u2581e", 1);
  GgufWriter writer = vocabulary.writer("bert");
  writer.uint32("tokenizer.ggml.unknown_token_id", 0);
  const auto tokenizer = load_or_fail(writer);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(encode(*tokenizer, "Playing,  \u00C9 play,plays"),
            (std::vector<Token>{1, 2, 3, 4, 1, 3, 0}));
  EXPECT_EQ(encode(*tokenizer, std::string(101, 'e')), (std::vector<Token>{0}));
  expect_refused(vocabulary.writer("bert"), ErrorCode::kBadFile, "unknown_token_id' is missing");
}

TEST(GgufVocab, WhatIsNotOfferedIsNamed) {
  const FileVocabulary vocabulary = byte_level_vocabulary();
  expect_refused(vocabulary.writer("rwkv"), ErrorCode::kUnsupported, "'rwkv'; supported: gpt2");
  GgufWriter writer = vocabulary.writer("gpt2");
  expect_refused(writer.string("tokenizer.ggml.pre", "unheard-of"), ErrorCode::kUnsupported,
                 "'unheard-of'; supported: a.x-4.0 afmoe");
  expect_refused(GgufWriter(), ErrorCode::kNotFound, "'tokenizer.ggml.model' is missing");
}

TEST(GgufVocab, EmptyTokensStandForNothing) {
  FileVocabulary merged = byte_level_vocabulary();
  FileVocabulary scored = scored_vocabulary();
  for (int i = 0; i < 2; ++i) {
    merged.add("", 1);
    scored.add("", 1, -3);
  }
  GgufWriter writer = merged.writer("gpt2");
  writer.strings("tokenizer.ggml.merges", {"a b"}).string("tokenizer.ggml.pre", "gpt-2");
  EXPECT_EQ(encode(*load_or_fail(writer), "ab"), (std::vector<Token>{256}));
  EXPECT_EQ(load_or_fail(writer)->vocab_size(), 262);
  GgufWriter other = scored.writer("llama");
  other.numbers("tokenizer.ggml.scores", GgufType::kFloat32, scored.scores);
  EXPECT_EQ(encode(*load_or_fail(other), "aa"), (std::vector<Token>{262, 260}));
}

TEST(GgufVocab, BadFiles) {
  FileVocabulary vocabulary = byte_level_vocabulary();
  expect_refused(vocabulary.writer("gpt2"), ErrorCode::kBadFile, "merges' is missing");
  GgufWriter merges = vocabulary.writer("gpt2");
  expect_refused(merges.strings("tokenizer.ggml.merges", {"a b", "a"}), ErrorCode::kBadFile,
                 "merge 1 is 'a'");
  GgufWriter lacking = vocabulary.writer("gpt2");
  expect_refused(lacking.strings("tokenizer.ggml.merges", {"b a"}), ErrorCode::kBadFile,
                 "'ba' is not one");
  GgufWriter eos = vocabulary.writer("gpt2");
  eos.strings("tokenizer.ggml.merges", {});
  expect_refused(eos.uint32("tokenizer.ggml.eos_token_id", 260), ErrorCode::kBadFile,
                 "is 260, expected an id below 260");
  vocabulary.types.pop_back();
  expect_refused(vocabulary.writer("gpt2"), ErrorCode::kBadFile, "one per token");
  vocabulary.add("", 7);
  vocabulary.types.push_back(1);
  expect_refused(vocabulary.writer("gpt2"), ErrorCode::kBadFile, "has type 7");
  vocabulary = byte_level_vocabulary();
  vocabulary.add("a", 1);
  expect_refused(vocabulary.writer("gpt2"), ErrorCode::kBadFile, "expected each token once");
  vocabulary = byte_level_vocabulary();
  vocabulary.add("\xFF", 1);
  expect_refused(vocabulary.writer("gpt2"), ErrorCode::kBadFile, "token 260 is not UTF-8");
  FileVocabulary scored = scored_vocabulary();
  scored.add("xa", 1, -3);
  GgufWriter open = scored.writer("llama");
  open.numbers("tokenizer.ggml.scores", GgufType::kFloat32, scored.scores);
  expect_refused(open, ErrorCode::kUnsupported, "its character 'x' to be a piece");
}

// Every part of every piece is a piece: the merges would be their number to the power 1.5.
TEST(GgufVocab, ClosedVocabulary) {
  const auto pieces = [](int n) {
    FileVocabulary vocabulary;
    vocabulary.add("<unk>", 2);
    for (int i = 0; i <= n; ++i) {
      for (int j = i == 0 ? 1 : 0; j <= n; ++j) {
        vocabulary.add(std::string(i, 'a') + std::string(j, 'b'), 1, -static_cast<float>(i + j));
      }
    }
    GgufWriter writer = vocabulary.writer("llama");
    writer.numbers("tokenizer.ggml.scores", GgufType::kFloat32, vocabulary.scores);
    return writer;
  };
  EXPECT_NE(load_or_fail(pieces(12)), nullptr);
  expect_refused(pieces(100), ErrorCode::kUnsupported, "can be built in more than 228736 ways");
  FileVocabulary vocabulary = scored_vocabulary();
  vocabulary.add(std::string(257, 'a'), 1, -9);
  GgufWriter writer = vocabulary.writer("llama");
  writer.numbers("tokenizer.ggml.scores", GgufType::kFloat32, vocabulary.scores);
  expect_refused(writer, ErrorCode::kUnsupported, "has 257 bytes, expected at most 256");
}

}  // namespace
}  // namespace pando::testing
