// Text to tokens and back, on small vocabularies: the first byte of the input chooses one.
#include "fuzz/fuzz.h"
#include "text/byte_level.h"
#include "text/json_file.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

using namespace pando;

namespace {

Json byte_level(const Json& normalizer, const Json& pre_tokenizer) {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocab[byte_level_character(static_cast<unsigned char>(byte))] = byte;
  const char* merged[] = {"ab", "abc", "\u0120a", "\u0120ab", "\u0120\u0120", "\u00c3\u00a9"};
  for (int i = 0; i < 6; ++i) vocab[merged[i]] = 256 + i;
  const Json merges = {"a b", "ab c", "\u0120 a", "\u0120a b", "\u0120 \u0120", "\u00c3 \u00a9"};
  return {{"normalizer", normalizer},
          {"pre_tokenizer", pre_tokenizer},
          {"decoder", {{"type", "ByteLevel"}}},
          {"added_tokens",
           {{{"id", 262}, {"content", "<s>"}, {"special", true}},
            {{"id", 263}, {"content", "<s>a"}, {"special", false}}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
}

// As Llama 2 has it: marks for spaces, bytes for characters without a token.
Json byte_fallback() {
  Json vocab = {{"<unk>", 0}};
  for (int byte = 0; byte < 256; ++byte) vocab[fmt::format("<0x{:02X}>", byte)] = 1 + byte;
  const char* pieces[] = {"a", "b", "\u2581", "ab", "\u2581a", "\u2581ab", "\u2581\u2581"};
  for (int i = 0; i < 7; ++i) vocab[pieces[i]] = 257 + i;
  const Json merges = {"a b", "\u2581 a", "\u2581 ab", "\u2581a b", "\u2581 \u2581"};
  const Json mark = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  const Json unmark = {{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}};
  return {{"normalizer",
           {{"type", "Sequence"},
            {"normalizers", {{{"type", "Prepend"}, {"prepend", "\u2581"}}, mark}}}},
          {"pre_tokenizer", nullptr},
          {"decoder",
           {{"type", "Sequence"},
            {"decoders",
             {unmark,
              {{"type", "ByteFallback"}},
              {{"type", "Fuse"}},
              {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
          {"added_tokens", {{{"id", 264}, {"content", "<s>"}, {"special", true}}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"vocab", vocab},
            {"merges", merges}}}};
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0);
    }
    for (size_t i = 0; i < 4; ++i) {
      text += at + i > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * i) & 63];
    }
  }
  return text;
}

// A unigram model whose character map makes "A" an "a".
Json unigram() {
  std::vector<std::pair<std::string, double>> vocab = {{"<unk>", 0}};
  for (int byte = 0; byte < 256; ++byte) vocab.emplace_back(fmt::format("<0x{:02X}>", byte), -9);
  const char* pieces[] = {"a", "b", "\u2581", "ab", "\u2581a", "\u2581ab", "\u2581\u2581", "aba"};
  for (const char* piece : pieces) vocab.emplace_back(piece, -0.1 * (vocab.size() % 4));
  std::vector<uint32_t> words(257);  // the trie's size, then its units
  words[0] = 1024;
  words[1] = 1 << 10;
  words[1 + 0x40] = 2 << 10 | 1 << 8 | 'A';
  words[1 + 0x42] = 0x80000000;
  std::string map(reinterpret_cast<const char*>(words.data()), 1028);
  map += std::string("a\0", 2);
  const Json metaspace = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"split", false}};
  return {
      {"normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", base64(map)}}},
      {"pre_tokenizer", metaspace},
      {"decoder", {{"type", "Sequence"}, {"decoders", {{{"type", "ByteFallback"}}, metaspace}}}},
      {"added_tokens", {{{"id", 265}, {"content", "<s>"}, {"special", true}}}},
      {"model", {{"type", "Unigram"}, {"unk_id", 0}, {"byte_fallback", true}, {"vocab", vocab}}}};
}

std::unique_ptr<Tokenizer> load(const Json& document) {
  fuzz::folder().write("tokenizer.json", document.dump());
  auto tokenizer = Tokenizer::load(fuzz::folder().path());
  if (!tokenizer) fuzz::demand(false, tokenizer.error().message().c_str());
  return std::move(*tokenizer);
}

struct Case {
  std::unique_ptr<Tokenizer> tokenizer;
  bool exact;  // the text comes back as it was
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    const Json words = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
    std::vector<Case> made;
    made.push_back({load(byte_level(nullptr, words)), true});
    made.push_back({load(byte_level({{"type", "NFC"}}, words)), false});
    made.push_back({load(byte_fallback()), false});  // a mark in the text comes back as a space
    made.push_back({load(unigram()), false});
    return made;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto& [tokenizer, exact] = cases()[data[0] % cases().size()];
  const std::string_view text = fuzz::text_of(data + 1, size - 1);

  // Any bytes as tokens: whole characters come out, one by one and together the same.
  StreamDecoder decoder(*tokenizer, true, false);
  std::vector<Token> any;
  std::string streamed;
  for (size_t i = 1; i < size; ++i) {
    any.push_back(data[i] + (i % 8 == 0 ? 16 : 0));
    const std::string piece = decoder.push(any.back());
    fuzz::demand(!find_invalid_utf8(piece), "part of a character");
    streamed += piece;
  }
  fuzz::demand(streamed + decoder.finish() == decode(*tokenizer, any, false), "another text");

  const auto tokens = tokenizer->encode(text, false);
  fuzz::demand(tokens.ok() == !find_invalid_utf8(text), "UTF-8 refused, or other bytes taken");
  if (!tokens) return 0;
  const std::string back = decode(*tokenizer, *tokens, false);
  if (exact) fuzz::demand(back == text, "another text");
  fuzz::demand(!find_invalid_utf8(back), "a text that is not UTF-8");
  return 0;
}
