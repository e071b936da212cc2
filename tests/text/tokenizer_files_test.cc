// Files of tokenizers: the search, special tokens, and refusals.
#include <sys/stat.h>

#include "text/bpe.h"
#include "text/byte_tokenizer.h"
#include "text/stream_decoder.h"
#include "text_testing.h"

namespace pando::testing {
namespace {

Error load_error(const TempDirectory& directory) {
  const auto loaded = Tokenizer::load(directory.path());
  EXPECT_FALSE(loaded.ok());
  return loaded.ok() ? Error{} : loaded.error();
}

// Loading fails with `code` and a message that has every one of `parts`.
void expect_refused(const TempDirectory& directory, ErrorCode code,
                    const std::vector<std::string>& parts) {
  const Error error = load_error(directory);
  EXPECT_EQ(error.code, code) << error.message();
  for (const std::string& part : parts) {
    EXPECT_NE(error.message().find(part), std::string::npos) << part << " in: " << error.message();
  }
}

void expect_json_refused(const Json& document, ErrorCode code,
                         const std::vector<std::string>& parts) {
  const TempDirectory directory;
  directory.write_json("tokenizer.json", document);
  expect_refused(directory, code, parts);
}

TEST(TokenizerFiles, NoneThere) {
  const TempDirectory directory;
  expect_refused(directory, ErrorCode::kNotFound, {"tokenizer.json", "tokenizer.model"});
  EXPECT_EQ(Tokenizer::load(std::filesystem::path("/no/such/directory")).error().code,
            ErrorCode::kNotFound);
}

TEST(TokenizerFiles, NotJson) {
  for (const std::string content : {"", "{", "[1,]", "\xFF\xFE", "nonsense"}) {
    const TempDirectory directory;
    directory.write("tokenizer.json", content);
    expect_refused(directory, ErrorCode::kBadFile, {"tokenizer.json"});
  }
  for (const Json& document : {Json(1), Json::array(), Json("text"), Json(nullptr)}) {
    expect_json_refused(document, ErrorCode::kBadFile, {"tokenizer.json", "expected an object"});
  }
}

TEST(TokenizerFiles, ADirectoryInPlaceOfAFile) {
  for (const char* name : {"tokenizer.json", "vocab.json", "tokenizer.model"}) {
    const TempDirectory directory;
    std::filesystem::create_directory(directory.path() / name);
    expect_refused(directory, ErrorCode::kBadFile, {name, "is a directory"});
  }
}

// Each file that is read as text, and the message for one that cannot be read.
TEST(TokenizerFiles, WhatIsNoFileIsNotWaitedFor) {
  const std::pair<const char*, const char*> targets[] = {
      {"itself", "is a broken link to"},
      {"nowhere", "is a broken link to 'nowhere'"},
      {"/dev/zero", "not a regular file"},
      {"pipe", "not a regular file"}};
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "generation_config.json",
                           "config.json", "vocab.json", "merges.txt", "tokenizer.model"}) {
    for (const auto& [target, message] : targets) {
      const TempDirectory directory;
      directory.write_json("vocab.json", byte_vocab());
      directory.write("merges.txt", "");
      ASSERT_EQ(mkfifo((directory.path() / "pipe").c_str(), 0600), 0);
      if (name == std::string("tokenizer.model")) {
        std::filesystem::remove(directory.path() / "vocab.json");
      }
      std::filesystem::remove(directory.path() / name);
      const bool circle = target == std::string("itself");
      std::filesystem::create_symlink(circle ? name : target, directory.path() / name);
      const Error error = load_error(directory);
      EXPECT_NE(error.code, ErrorCode::kNotFound) << name;  // that would be no tokenizer at all
      for (const char* part : {name, message}) {
        EXPECT_NE(error.message().find(part), std::string::npos)
            << part << " in: " << error.message();
      }
    }
  }
}

TEST(TokenizerFiles, MissingAndWrongFields) {
  const Json good = byte_level_json({"ab"}, {"a b"});
  Json bad = good;
  bad.erase("model");
  expect_json_refused(bad, ErrorCode::kBadFile, {"'model' is missing"});
  bad = good, bad["model"].erase("vocab");
  expect_json_refused(bad, ErrorCode::kBadFile, {"'model.vocab' is missing"});
  bad = good, bad["model"].erase("merges");
  expect_json_refused(bad, ErrorCode::kBadFile, {"'model.merges' is missing"});
  bad = good, bad["model"]["vocab"] = Json::object();
  expect_json_refused(bad, ErrorCode::kBadFile, {"at least one token"});
  bad = good, bad["model"]["ignore_merges"] = "yes";
  expect_json_refused(bad, ErrorCode::kBadFile, {"model.ignore_merges", "\"yes\"", "true"});
  bad = good, bad["added_tokens"] = Json::array({{{"id", 300}}});
  expect_json_refused(bad, ErrorCode::kBadFile, {"added_tokens[0].content", "missing"});
}

TEST(TokenizerFiles, BadIds) {
  const Json good = byte_level_json({"ab"}, {"a b"});
  for (const Json& id : {Json(-1), Json(1 << 24), Json(1.5), Json("7"), Json(1ull << 63)}) {
    Json bad = good;
    bad["model"]["vocab"]["ab"] = id;
    expect_json_refused(bad, ErrorCode::kBadFile, {"model.vocab.ab", "an id from 0"});
  }
  Json bad = good;
  bad["model"]["vocab"]["ab"] = 7;
  expect_json_refused(bad, ErrorCode::kBadFile, {"an unused id", "7"});
  bad = good, bad["model"]["vocab"].erase("a");
  expect_json_refused(bad, ErrorCode::kBadFile, {"merges[0]", "'a' is not one"});
  bad = good, bad["added_tokens"] = Json::array({added_token(3, "<x>")});
  expect_json_refused(bad, ErrorCode::kBadFile, {"'<x>'", "id 3"});
  bad = good, bad["added_tokens"] = Json::array({added_token(9, "ab")});
  expect_json_refused(bad, ErrorCode::kBadFile, {"'ab'", "expected 256"});
}

TEST(TokenizerFiles, IdsFarAboveTheNumberOfTokens) {
  Json bad = byte_level_json({"ab"}, {"a b"});
  bad["model"]["vocab"]["ab"] = 4 * 257 + 65'536;
  expect_json_refused(bad, ErrorCode::kBadFile,
                      {"model.vocab.ab", "is 66564", "an id from 0 to 66563"});
  bad = byte_level_json({}, Json::array());
  bad["added_tokens"] = Json::array({added_token(16'000'000, "<x>")});
  expect_json_refused(bad, ErrorCode::kBadFile, {"'<x>' has id 16000000", "0 to 66563"});
  bad["added_tokens"] = Json::array({added_token(66'563, "<x>")});
  const TempDirectory directory;
  directory.write_json("tokenizer.json", bad);
  EXPECT_EQ(load_tokenizer(directory.path())->vocab_size(), 66'564);
}

Json times(size_t n, const Json& step) { return Json(std::vector<Json>(n, step)); }

TEST(TokenizerFiles, ManySteps) {
  const Json good = byte_level_json({}, Json::array());
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  const Json mark = {{"type", "Metaspace"}, {"replacement", "_"}, {"split", false}};
  const Json nothing = {{"type", "ByteLevel"}};
  const struct {
    const char* field;
    const char* list;
    const Json& step;
  } cases[] = {{"normalizer", "normalizers", replace},
               {"pre_tokenizer", "pretokenizers", mark},
               {"decoder", "decoders", replace},
               {"post_processor", "processors", nothing}};
  for (const auto& [field, list, step] : cases) {
    Json bad = good;
    const Json inner = {{"type", "Sequence"}, {list, times(64, step)}};
    bad[field] = {{"type", "Sequence"}, {list, Json::array({inner, step})}};
    expect_json_refused(bad, ErrorCode::kUnsupported,
                        {std::string("'") + field + "' has 65 steps", "at most 64"});
  }
  Json bad = good;
  bad["pre_tokenizer"] = mark;
  bad["decoder"] = {{"type", "Sequence"}, {"decoders", times(40, replace)}};
  bad["model"]["unk_token"] = "a";
  expect_json_refused(bad, ErrorCode::kUnsupported,
                      {"'decoder' may make more than 4096 bytes out of one"});
  bad["decoder"] = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}};
  bad["decoder"]["content"] = std::string(273, 'b');
  expect_json_refused(bad, ErrorCode::kUnsupported, {"'decoder' makes more than 272 bytes"});
  bad["pre_tokenizer"]["replacement"] = "__";
  expect_json_refused(bad, ErrorCode::kBadFile, {"replacement", "one character"});
}

TEST(TokenizerFiles, BadMerges) {
  for (const Json& merge : {Json("ab"), Json("a b c"), Json(" ab"), Json(7), Json::array({"a"}),
                            Json::array({"a", 1}), Json("a c"), Json("b a")}) {
    expect_json_refused(byte_level_json({"ab"}, Json::array({merge})), ErrorCode::kBadFile,
                        {"model.merges[0]"});
  }
  const TempDirectory directory;
  directory.write_json("vocab.json", byte_vocab({"ab"}));
  expect_refused(directory, ErrorCode::kNotFound, {"merges.txt"});
  directory.write("merges.txt", "#version: 0.2\na b\nab\n");
  expect_refused(directory, ErrorCode::kBadFile, {"merges.txt", "line 3"});
  directory.write("merges.txt", "a b\nx y\n");
  expect_refused(directory, ErrorCode::kBadFile, {"line 2", "'xy' is not one"});
}

TEST(TokenizerFiles, BytesWithoutATokenAreDropped) {
  Json document = byte_level_json({"<unk>"}, Json::array());
  document["model"]["vocab"].erase("a");
  document["model"]["vocab"].erase("b");
  EXPECT_EQ(encode(*load_json(document), "xabcb"), (std::vector<Token>{'x', 'c'}));
  EXPECT_EQ(encode(*load_json(document), "ab"), (std::vector<Token>{}));
  document["model"]["unk_token"] = "";  // none
  EXPECT_EQ(encode(*load_json(document), "xabcb"), (std::vector<Token>{'x', 'c'}));
  document["model"]["unk_token"] = "<unk>";
  EXPECT_EQ(encode(*load_json(document), "xabcb"), (std::vector<Token>{'x', 256, 256, 'c', 256}));
  document["model"]["fuse_unk"] = true;
  EXPECT_EQ(encode(*load_json(document), "xabcb"), (std::vector<Token>{'x', 256, 'c', 256}));
}

TEST(TokenizerFiles, WhatIsNotOfferedIsNamed) {
  const Json good = byte_level_json({}, Json::array());
  Json other = good;
  other["model"]["type"] = "WordLevel";
  expect_json_refused(other, ErrorCode::kUnsupported,
                      {"model.type", "WordLevel", "BPE, Unigram, WordPiece"});
  other = good, other["normalizer"] = {{"type", "ByteLevel"}};
  expect_json_refused(other, ErrorCode::kUnsupported, {"normalizer", "ByteLevel", "NFC"});
  other = good, other["pre_tokenizer"] = {{"type", "UnicodeScripts"}};
  expect_json_refused(other, ErrorCode::kUnsupported, {"pre_tokenizer", "UnicodeScripts"});
  other = good, other["decoder"] = {{"type", "Reverse"}};
  expect_json_refused(other, ErrorCode::kUnsupported, {"decoder", "Reverse", "WordPiece"});
  other = good, other["post_processor"] = {{"type", "PairProcessing"}};
  expect_json_refused(other, ErrorCode::kUnsupported, {"post_processor", "PairProcessing"});
  other = good, other["model"]["end_of_word_suffix"] = "</w>";
  expect_json_refused(other, ErrorCode::kUnsupported, {"end_of_word_suffix", "</w>"});
  other = good, other["model"]["dropout"] = 0.1;
  expect_json_refused(other, ErrorCode::kUnsupported, {"model.dropout", "0.1"});
  other = good;
  other["pre_tokenizer"] = {{"type", "Split"},
                            {"pattern", {{"Regex", "a["}}},
                            {"behavior", "Isolated"},
                            {"invert", false}};
  expect_json_refused(other, ErrorCode::kUnsupported,
                      {"pre_tokenizer.pattern.Regex", "'a[' does not compile: premature end"});
  const TempDirectory directory;
  directory.write_json("vocab.json", byte_vocab());
  directory.write("merges.txt", "");
  directory.write_json("tokenizer_config.json", Json{{"tokenizer_class", "T5Tokenizer"}});
  expect_refused(directory, ErrorCode::kUnsupported, {"tokenizer_class", "T5Tokenizer"});
}

// ByteLevel and Fuse join the tokens to one text. An expression after them is refused, because any
// later token may change its matches.
TEST(TokenizerFiles, DecodersThatJoinTheTokens) {
  const Json levels = {{"type", "ByteLevel"}}, fuse = {{"type", "Fuse"}};
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "b"}};
  const Json matches = {{"type", "Replace"}, {"pattern", {{"Regex", "a+"}}}, {"content", "b"}};
  const Json bytes = {{"type", "ByteFallback"}};
  const Json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  Json document = byte_level_json({}, Json::array());
  document["decoder"] = {{"type", "Sequence"}, {"decoders", Json::array({levels, strip})}};
  EXPECT_EQ(decode(*load_json(document), std::vector<Token>{' ', ' ', 'a', ' '}, true), " a ");
  const struct {
    Json first, second;
    std::vector<std::string> parts;
  } cases[] = {{levels, matches, {"decoders[1].pattern", "a pattern that is a text"}},
               {fuse, matches, {"decoders[1].pattern", "a pattern that is a text"}},
               {bytes, matches, {"decoders[1].pattern", "a pattern that is a text"}},
               {fuse, levels, {"ByteLevel as the first step"}},
               {replace, levels, {"ByteLevel as the first step"}},
               {bytes, levels, {"ByteLevel as the first step"}},
               {levels, levels, {"ByteLevel as the first step"}}};
  for (const auto& [first, second, parts] : cases) {
    document["decoder"] = {{"type", "Sequence"}, {"decoders", Json::array({first, second})}};
    expect_json_refused(document, ErrorCode::kUnsupported, parts);
  }
}

TEST(TokenizerFiles, BadModelFiles) {
  const TempDirectory directory;
  directory.write("tokenizer.model", "");
  expect_refused(directory, ErrorCode::kBadFile, {"tokenizer.model", "empty"});
  directory.write("tokenizer.model", "not a model");
  expect_refused(directory, ErrorCode::kBadFile, {"tokenizer.model", "SentencePiece"});
  directory.write("tokenizer.model", "IQ== 0\nIg== 1\n");
  expect_refused(directory, ErrorCode::kUnsupported, {"tiktoken", "supported: 128000"});
}

TEST(TokenizerFiles, EndTokens) {
  const TempDirectory directory;
  Json document = byte_level_json({}, Json::array());
  document["added_tokens"] = Json::array({added_token(256, "<end>"), added_token(258, "<turn>")});
  directory.write_json("tokenizer.json", document);
  EXPECT_TRUE(load_tokenizer(directory.path())->end_tokens().empty());
  EXPECT_EQ(load_tokenizer(directory.path())->vocab_size(), 259);

  directory.write_json("tokenizer_config.json", Json{{"eos_token", {{"content", "<end>"}}}});
  directory.write_json("config.json", Json{{"eos_token_id", 256}});
  directory.write_json("generation_config.json", Json{{"eos_token_id", {258, 256, 7}}});
  const auto tokenizer = load_tokenizer(directory.path());
  const auto ends = tokenizer->end_tokens();
  EXPECT_EQ(std::vector<Token>(ends.begin(), ends.end()), (std::vector<Token>{258, 256, 7}));

  directory.write_json("generation_config.json", Json{{"eos_token_id", {258, "x"}}});
  expect_refused(directory, ErrorCode::kBadFile, {"generation_config.json", "eos_token_id[1]"});
  directory.write_json("generation_config.json", Json::object());
  directory.write_json("tokenizer_config.json", Json{{"eos_token", "<other>"}});
  expect_refused(directory, ErrorCode::kBadFile, {"eos_token", "<other>"});
}

TEST(TokenizerFiles, BeginToken) {
  const TempDirectory directory;
  Json document = byte_level_json({}, Json::array());
  document["added_tokens"] = Json::array({added_token(256, "<s>")});
  directory.write_json("tokenizer.json", document);
  directory.write_json("tokenizer_config.json", Json{{"bos_token", "<s>"}});
  auto tokenizer = load_tokenizer(directory.path());
  EXPECT_EQ(tokenizer->bos(), 256);
  EXPECT_EQ(encode(*tokenizer, "a", true), (std::vector<Token>{'a'}));  // not asked for

  const TempDirectory other;
  other.write_json("vocab.json", byte_vocab({"<s>"}));
  other.write("merges.txt", "");
  other.write_json("tokenizer_config.json", Json{{"bos_token", "<s>"}, {"add_bos_token", true}});
  tokenizer = load_tokenizer(other.path());
  EXPECT_EQ(encode(*tokenizer, "a", true), (std::vector<Token>{256, 'a'}));
  EXPECT_EQ(encode(*tokenizer, "a", false), (std::vector<Token>{'a'}));
  other.write_json("tokenizer_config.json", Json{{"add_bos_token", true}});
  expect_refused(other, ErrorCode::kBadFile, {"bos_token"});
}

// As in transformers 5, for every tokenizer_class.
TEST(TokenizerFiles, APostProcessorDecidesOverAddBosToken) {
  const TempDirectory directory;
  Json document = byte_level_json({}, Json::array());
  document["added_tokens"] = Json::array({added_token(256, "<s>")});
  const Json begin = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json with_begin = {{"type", "TemplateProcessing"}, {"single", Json::array({begin, text})}};
  for (const Json& processor : {with_begin, Json{{"type", "ByteLevel"}}, Json()}) {
    document["post_processor"] = processor;
    directory.write_json("tokenizer.json", document);
    for (const char* name : {"PreTrainedTokenizerFast", "LlamaTokenizer", "GPT2Tokenizer"}) {
      for (const Json& add : {Json(true), Json(false), Json()}) {
        directory.write_json(
            "tokenizer_config.json",
            Json{{"bos_token", "<s>"}, {"add_bos_token", add}, {"tokenizer_class", name}});
        const std::vector<Token> tokens = encode(*load_tokenizer(directory.path()), "a", true);
        EXPECT_EQ(tokens.size(), processor == with_begin ? 2u : 1u) << processor << add;
      }
    }
  }
}

TEST(TokenizerFiles, BeginTokenThatIsWrittenIsNotPutTwice) {
  Json document = byte_level_json({}, Json::array());
  document["added_tokens"] = Json::array({added_token(256, "<s>")});
  document["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", Json::array({{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
                              {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}})}};
  const auto tokenizer = load_json(document);
  EXPECT_EQ(encode(*tokenizer, "<s>a", true), (std::vector<Token>{256, 'a'}));
  EXPECT_EQ(encode(*tokenizer, "<s>", true), (std::vector<Token>{256}));
  EXPECT_EQ(encode(*tokenizer, "<s><s>a", true), (std::vector<Token>{256, 256, 'a'}));
  EXPECT_EQ(encode(*tokenizer, "a<s>", true), (std::vector<Token>{256, 'a', 256}));
  EXPECT_EQ(encode(*tokenizer, "<s>a", false), (std::vector<Token>{256, 'a'}));
  EXPECT_EQ(encode(*tokenizer, "", true), (std::vector<Token>{256}));
}

TEST(TokenizerFiles, EndTokenAfterAText) {
  const TempDirectory directory;
  directory.write_json("vocab.json", byte_vocab({"<|endoftext|>"}));
  directory.write("merges.txt", "");
  directory.write_json("tokenizer_config.json", Json{{"add_eos_token", true}});
  const auto tokenizer = load_tokenizer(directory.path());
  EXPECT_EQ(encode(*tokenizer, "a", true), (std::vector<Token>{'a', 256}));
  EXPECT_EQ(encode(*tokenizer, "a", false), (std::vector<Token>{'a'}));
  directory.write_json("vocab.json", byte_vocab());
  expect_refused(directory, ErrorCode::kBadFile, {"add_eos_token", "eos_token"});

  // A tokenizer.json says itself which tokens go around a text.
  const TempDirectory other;
  other.write_json("tokenizer.json", byte_level_json({"<s>"}, Json::array()));
  other.write_json("tokenizer_config.json", Json{{"add_eos_token", true}, {"eos_token", "<s>"}});
  EXPECT_EQ(encode(*load_tokenizer(other.path()), "a", true), (std::vector<Token>{'a'}));
}

TEST(TokenizerFiles, ManyAddedTokens) {
  const TempDirectory directory;
  Json document = byte_level_json({}, Json::array());
  constexpr int kMany = 30'000;
  for (int i = 0; i < kMany; ++i) {
    document["added_tokens"].push_back(added_token(256 + i, fmt::format("<{}>", i)));
  }
  document["added_tokens"].push_back(added_token(256, "<0>"));  // again: as if there once
  directory.write_json("tokenizer.json", document);
  const auto tokenizer = load_tokenizer(directory.path());
  EXPECT_EQ(tokenizer->vocab_size(), 256 + kMany);
  EXPECT_EQ(encode(*tokenizer, "<0><29999>"), (std::vector<Token>{256, 256 + kMany - 1}));
}

TEST(TokenizerFiles, AddedTokensOfTheConfiguration) {
  const TempDirectory directory;
  directory.write_json("vocab.json", byte_vocab({"<|endoftext|>"}));
  directory.write("merges.txt", "");
  const Json turn = {{"content", "<turn>"}, {"special", true}};
  directory.write_json("tokenizer_config.json", Json{{"tokenizer_class", "Qwen2Tokenizer"},
                                                     {"added_tokens_decoder", {{"300", turn}}}});
  const auto tokenizer = load_tokenizer(directory.path());
  EXPECT_EQ(encode(*tokenizer, "<turn><|endoftext|>"), (std::vector<Token>{300, 256}));
  EXPECT_EQ(tokenizer->token_bytes(300, true), "");
  EXPECT_EQ(tokenizer->token_bytes(280, false), "");  // a hole
  directory.write_json("tokenizer_config.json", Json{{"added_tokens_decoder", {{"x1", turn}}}});
  expect_refused(directory, ErrorCode::kBadFile, {"added_tokens_decoder.x1"});
}

// As in transformers 5.
TEST(TokenizerFiles, FlagsOfTheConfigurationCount) {
  const TempDirectory directory;
  Json document = byte_level_json({}, Json::array());
  document["added_tokens"] = Json::array(
      {added_token(256, "<a>", false), added_token(257, "<b>"), added_token(258, "<c>", false)});
  directory.write_json("tokenizer.json", document);
  const Json of_a = {{"content", "<a>"}, {"special", true}, {"rstrip", true}};
  const Json of_b = {{"content", "<b>"}, {"special", false}, {"lstrip", true}};
  directory.write_json("tokenizer_config.json",
                       Json{{"added_tokens_decoder", {{"256", of_a}, {"257", of_b}}}});
  const auto tokenizer = load_tokenizer(directory.path());
  EXPECT_EQ(encode(*tokenizer, "<a> x <b> <c>"), (std::vector<Token>{256, 'x', 257, ' ', 258}));
  EXPECT_EQ(tokenizer->token_bytes(256, true), "");
  EXPECT_EQ(tokenizer->token_bytes(257, true), "");
  EXPECT_EQ(tokenizer->token_bytes(258, true), "<c>");
}

TEST(TokenizerFiles, SpecialTokensThatTheConfigurationNames) {
  const TempDirectory directory;
  directory.write_json("tokenizer.json",
                       byte_level_json({"<a>", "<b>", "<c>", "<d>", "<m>"}, Json::array()));
  const auto found = [&](const Json& config) {
    directory.write_json("tokenizer_config.json", config);
    const auto tokenizer = load_tokenizer(directory.path());
    std::string special;
    for (Token id = 256; id < tokenizer->vocab_size(); ++id)
      if (tokenizer->token_bytes(id, true).empty()) special += tokenizer->token_bytes(id, false);
    return special;
  };
  const Json list = Json::array({"<a>", {{"content", "<b>"}}, "<not there>"});
  EXPECT_EQ(found({{"additional_special_tokens", list}}), "<a><b>");
  EXPECT_EQ(found({{"extra_special_tokens", list}}), "<a><b>");
  EXPECT_EQ(found({{"extra_special_tokens", {{"call_token", "<c>"}}}, {"mask_token", "<m>"}}),
            "<c><m>");
  EXPECT_EQ(found({{"sep_token", "<d>"}, {"cls_token", nullptr}}), "<d>");
  EXPECT_EQ(found({{"image_token", "<d>"}, {"add_bos_token", false}}), "<d>");
  // As the transformers library 5.24 finds them.
  const Json d = {{"__type", "AddedToken"}, {"content", "<d>"}};
  EXPECT_EQ(found({{"image_token", d}}), "<d>");
  EXPECT_EQ(found({{"image_token", {{"content", "<d>"}}}, {"call_token", 5}}), "");
  EXPECT_EQ(found({{"model_specific_special_tokens", {{"call_token", "<c>"}, {"image_token", d}}}}),
            "<c><d>");
  EXPECT_EQ(found({{"extra_special_tokens", Json::array({"<d>"})},
                   {"model_specific_special_tokens", {{"call_token", "<c>"}}}}),
            "<c><d>");
  EXPECT_EQ(found({{"extra_special_tokens", Json::array({"<d>"})},
                   {"additional_special_tokens", Json::array({"<c>"})}}),
            "<d>");
  EXPECT_EQ(found({{"extra_special_tokens", {{"image_token", "<d>"}}},
                   {"additional_special_tokens", Json::array({"<c>"})}}),
            "<c><d>");
  for (const Json& empty : {Json::array(), Json::object()})
    EXPECT_EQ(found({{"extra_special_tokens", empty},
                     {"additional_special_tokens", {{"call_token", "<c>"}}}}),
              "<c>");
  directory.write_json("tokenizer_config.json", Json{{"extra_special_tokens", 5}});
  expect_refused(directory, ErrorCode::kBadFile, {"extra_special_tokens"});
  directory.write_json("tokenizer_config.json",
                       Json{{"model_specific_special_tokens", Json::array({"<c>"})}});
  expect_refused(directory, ErrorCode::kBadFile, {"model_specific_special_tokens"});
}

TEST(TokenizerFiles, ByteTokenizer) {
  const TempDirectory directory;
  ASSERT_TRUE(write_byte_tokenizer(directory.path()).ok());
  const auto tokenizer = load_tokenizer(directory.path());
  EXPECT_EQ(tokenizer->vocab_size(), kByteTokenizerVocab);
  ASSERT_EQ(tokenizer->end_tokens().size(), 1u);
  EXPECT_EQ(tokenizer->end_tokens()[0], 256);
  EXPECT_FALSE(tokenizer->bos().has_value());
  EXPECT_EQ(encode(*tokenizer, "a\u00E9", true), (std::vector<Token>{'a', 0xC3, 0xA9}));
  EXPECT_FALSE(write_byte_tokenizer(directory.path() / "none").ok());
}

}  // namespace
}  // namespace pando::testing
