// The texts and ids that are published beside the vocabularies of well-known models.
#include <sentencepiece_processor.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "llama2_testing.h"
#include "llama3_testing.h"
#include "text/stream_decoder.h"

namespace pando::testing {
namespace {

struct Vector {
  std::string text;
  std::vector<Token> tokens;
};

std::vector<Vector> read_vectors(const std::string& name) {
  const std::filesystem::path folder = shared_tokenizers() / "llama.cpp";
  const std::string texts = *read_text_file(folder / ("ggml-vocab-" + name + ".gguf.inp"));
  std::ifstream ids(folder / ("ggml-vocab-" + name + ".gguf.out"));
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<Vector> vectors;
  std::string line;
  for (size_t begin = 0; begin < texts.size();) {
    const size_t end = std::min(texts.find(separator, begin), texts.size());
    Vector vector{texts.substr(begin, end - begin), {}};
    begin = end + separator.size();
    std::getline(ids, line);
    std::istringstream numbers(line);
    for (Token token; numbers >> token;) vector.tokens.push_back(token);
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

void expect_vectors(const std::filesystem::path& path, const std::string& name) {
  const auto tokenizer = load_tokenizer(path);
  ASSERT_NE(tokenizer, nullptr);
  const std::vector<Vector> vectors = read_vectors(name);
  EXPECT_GE(vectors.size(), 45u);
  for (const Vector& vector : vectors) {
    EXPECT_EQ(encode(*tokenizer, vector.text), vector.tokens) << vector.text;
    EXPECT_EQ(decode(*tokenizer, vector.tokens, false), vector.text);
  }
}

TEST(PublishedVectors, Gpt2) {
  PANDO_NEED_SHARED_TOKENIZERS();
  expect_vectors(shared_tokenizers() / "gpt-2", "gpt-2");
}

TEST(PublishedVectors, Qwen2) {
  PANDO_NEED_SHARED_TOKENIZERS();
  expect_vectors(shared_tokenizers() / "qwen2.5", "qwen2");
}

TEST(PublishedVectors, Llama3Tiktoken) {
  PANDO_NEED_SHARED_TOKENIZERS();
  expect_vectors(shared_tokenizers() / "llama-3", "llama-bpe");
}

TEST(PublishedVectors, Llama3AsJson) {
  PANDO_NEED_SHARED_TOKENIZERS();
  const TempDirectory directory;
  write_llama3(shared_tokenizers() / "llama-3" / "tokenizer.model", directory);
  expect_vectors(directory.path(), "llama-bpe");
}

TEST(PublishedVectors, Llama2) {
  PANDO_NEED_SHARED_TOKENIZERS();
  expect_vectors(shared_tokenizers() / "llama-2", "llama-spm");
}

// Encodes by the same vocabulary as merges, by our own byte-pair encoding: the higher a piece's
// score, the earlier it is merged.
TEST(PublishedVectors, Llama2AsMerges) {
  PANDO_NEED_SHARED_TOKENIZERS();
  sentencepiece::SentencePieceProcessor model;
  ASSERT_TRUE(model.Load((shared_tokenizers() / "llama-2" / "tokenizer.model").string()).ok());
  std::vector<std::string> pieces;
  for (int id = kMore; id < model.GetPieceSize(); ++id) pieces.push_back(model.IdToPiece(id));
  std::vector<std::string> by_score = pieces;
  const auto score = [&](const std::string& piece) {
    return model.GetScore(model.PieceToId(piece));
  };
  std::stable_sort(by_score.begin(), by_score.end(),
                   [&](const auto& a, const auto& b) { return score(a) > score(b); });
  const TempDirectory directory;
  directory.write_json("tokenizer.json", llama_json(pieces, merges_of(by_score, plain_text)));
  expect_vectors(directory.path(), "llama-spm");
}

std::filesystem::path gguf_vocab(const std::string& name) {
  return shared_tokenizers() / "llama.cpp" / ("ggml-vocab-" + name + ".gguf");
}

TEST(PublishedVectors, Gguf) {
  PANDO_NEED_SHARED_TOKENIZERS();
  for (const char* name :
       {"gpt-2", "llama-spm", "phi-3", "deepseek-coder", "starcoder", "gemma-4", "qwen35"}) {
    SCOPED_TRACE(name);
    expect_vectors(gguf_vocab(name), name);
  }
}

// Cutting drops spaces, case and accents: the texts do not come back.
TEST(PublishedVectors, GgufWordPiece) {
  PANDO_NEED_SHARED_TOKENIZERS();
  const auto tokenizer = load_tokenizer(gguf_vocab("bert-bge"));
  ASSERT_NE(tokenizer, nullptr);
  for (const Vector& vector : read_vectors("bert-bge")) {
    EXPECT_EQ(encode(*tokenizer, vector.text), vector.tokens) << vector.text;
  }
}

}  // namespace
}  // namespace pando::testing
