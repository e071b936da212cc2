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

// As Llama 2 has it: marks for spaces, bytes for what is no token.
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

std::unique_ptr<Tokenizer> load(const Json& document) {
  fuzz::folder().write("tokenizer.json", document.dump());
  auto tokenizer = Tokenizer::load(fuzz::folder().path());
  if (!tokenizer) fuzz::demand(false, tokenizer.error().message.c_str());
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
