#include "text/tekken.h"

#include <algorithm>
#include <array>

#include "text/base64.h"
#include "text/gguf_word_patterns.h"
#include "text/ranked_bytes.h"

namespace pando {
namespace {

constexpr size_t kByteTokens = 256;       // the first tokens, one for each byte
constexpr int64_t kMostSpecial = 65'536;  // published files have 1,000

// The special tokens of files that list none.
constexpr std::array<std::string_view, 20> kUnlisted = {"<unk>",
                                                        "<s>",
                                                        "</s>",
                                                        "[INST]",
                                                        "[/INST]",
                                                        "[AVAILABLE_TOOLS]",
                                                        "[/AVAILABLE_TOOLS]",
                                                        "[TOOL_RESULTS]",
                                                        "[/TOOL_RESULTS]",
                                                        "[TOOL_CALLS]",
                                                        "[IMG]",
                                                        "<pad>",
                                                        "[IMG_BREAK]",
                                                        "[IMG_END]",
                                                        "[PREFIX]",
                                                        "[MIDDLE]",
                                                        "[SUFFIX]",
                                                        "[SYSTEM_PROMPT]",
                                                        "[/SYSTEM_PROMPT]",
                                                        "[TOOL_CONTENT]"};
constexpr std::array<std::string_view, 4> kVersionsThatMayListNone = {"v1", "v2", "v3", "v7"};

struct Sizes {
  size_t n_special = 0;  // ids from 0
  size_t n_regular = 0;  // the ids after them
};

Result<Sizes> read_sizes(const JsonPlace& config) {
  const auto read = [&](std::string_view field, int64_t least, int64_t most) -> Result<int64_t> {
    const JsonPlace place = config.at(field);
    const Result<int64_t> n = place.integer();
    if (!n.ok()) return n.error();
    if (*n < least || *n > most) {
      return place.wrong(fmt::format("a number from {} to {}", least, most));
    }
    return *n;
  };
  const Result<int64_t> n_special = read("default_num_special_tokens", 1, kMostSpecial);
  if (!n_special.ok()) return n_special.error();
  const Result<int64_t> n =
      read("default_vocab_size", *n_special + static_cast<int64_t>(kByteTokens), kMaxToken);
  if (!n.ok()) return n.error();
  return Sizes{static_cast<size_t>(*n_special), static_cast<size_t>(*n - *n_special)};
}

// The first `n` tokens as bytes, by rank. The file may have more, which the model has not.
Result<std::vector<std::string>> read_regular(const JsonPlace& place, size_t n) {
  if (Status array = place.expect_array(); !array.ok()) return array.error();
  if (place.json().size() < n) {
    return place.wrong(
        fmt::format("at least {} tokens (default_vocab_size minus default_num_special_tokens)", n));
  }
  std::vector<std::string> tokens;
  for (size_t i = 0; i < n; ++i) {
    const JsonPlace token = place.at(i);
    const JsonPlace rank = token.at("rank");
    const Result<int64_t> number = rank.integer();
    if (!number.ok()) return number.error();
    if (*number != static_cast<int64_t>(i)) return rank.wrong(fmt::format("{}", i));
    const JsonPlace written = token.at("token_bytes");
    const Result<std::string> text = written.text();
    if (!text.ok()) return text.error();
    auto bytes = from_base64(*text);
    if (!bytes || bytes->empty() || bytes->size() > kLongestMerged) {
      return written.wrong(fmt::format("1 to {} bytes in base64", kLongestMerged));
    }
    if (i < kByteTokens && *bytes != std::string(1, static_cast<char>(i))) {
      return written.wrong(fmt::format("the byte {} in base64", i));
    }
    tokens.push_back(std::move(*bytes));
  }
  return tokens;
}

AddedToken special_token_of(size_t id, std::string text) {
  AddedToken token;
  token.id = static_cast<Token>(id);
  token.content = std::move(text);
  token.special = true;
  return token;
}

// The listed ones, by id. A file without a list has those of its time.
Result<std::vector<AddedToken>> read_listed(const JsonPlace& root, size_t n) {
  const JsonPlace list = root.at("special_tokens");
  std::vector<AddedToken> tokens;
  if (list.absent()) {
    const Result<std::string> version = root.at("config").at("version").text();
    if (!version.ok()) return version.error();
    if (std::find(kVersionsThatMayListNone.begin(), kVersionsThatMayListNone.end(), *version) ==
        kVersionsThatMayListNone.end()) {
      return list.wrong(fmt::format("an array, because 'config.version' is '{}'", *version));
    }
    for (size_t id = 0; id < std::min(n, kUnlisted.size()); ++id) {
      tokens.push_back(special_token_of(id, std::string(kUnlisted[id])));
    }
    return tokens;
  }
  if (Status array = list.expect_array(); !array.ok()) return array.error();
  for (size_t i = 0; i < list.json().size(); ++i) {
    const JsonPlace rank = list.at(i).at("rank");
    const Result<Token> id = read_token_id(rank);
    if (!id.ok()) return id.error();
    if (static_cast<size_t>(*id) >= n) {
      return rank.wrong(fmt::format("an id below {} (default_num_special_tokens)", n));
    }
    const JsonPlace written = list.at(i).at("token_str");
    Result<std::string> text = written.text();
    if (!text.ok()) return text.error();
    if (text->empty()) return written.wrong("at least one character");
    tokens.push_back(special_token_of(static_cast<size_t>(*id), std::move(*text)));
  }
  return tokens;
}

// All `n` special tokens; unlisted ones are <SPECIAL_20> and so on.
Result<std::vector<AddedToken>> read_special(const JsonPlace& root, size_t n) {
  Result<std::vector<AddedToken>> tokens = read_listed(root, n);
  if (!tokens.ok()) return tokens;
  std::vector<bool> listed(n);
  for (const AddedToken& token : *tokens) listed[token.id] = true;
  for (size_t id = 0; id < n; ++id) {
    if (!listed[id]) tokens->push_back(special_token_of(id, fmt::format("<SPECIAL_{}>", id)));
  }
  return tokens;
}

Result<PreTokenizer> read_words(const JsonPlace& place) {
  const Result<std::string> text = place.text();
  if (!text.ok()) return text.error();
  // PCRE2 gives the same words for the published expression, in less time.
  Result<SplitPattern> pattern = *text == gguf_patterns::kTekken
                                     ? SplitPattern::compile(*text)
                                     : SplitPattern::compile_of_file(*text);
  if (!pattern.ok()) {
    return unsupported("'{}': field '{}': {}", place.file(), place.name(),
                       pattern.error().message());
  }
  return PreTokenizer({pre::Split{std::move(*pattern)}});
}

}  // namespace

bool is_tekken(const JsonPlace& root) {
  const JsonPlace vocab = root.at("vocab");
  const JsonPlace config = root.at("config");
  return !vocab.absent() && vocab.json().is_array() && !config.absent() &&
         config.json().is_object();
}

Result<TokenizerParts> read_tekken(const JsonPlace& root, const TokenizerConfig& config) {
  const Result<Sizes> sizes = read_sizes(root.at("config"));
  if (!sizes.ok()) return sizes.error();
  const auto special = read_special(root, sizes->n_special);
  if (!special.ok()) return special.error();
  const auto regular = read_regular(root.at("vocab"), sizes->n_regular);
  if (!regular.ok()) return regular.error();
  Result<PreTokenizer> words = read_words(root.at("config").at("pattern"));
  if (!words.ok()) return words.error();
  const auto first = static_cast<Token>(sizes->n_special);
  auto model = make_ranked_model(*regular, first, root.file());
  if (!model.ok()) return model.error();

  TokenizerParts parts;
  parts.model = std::move(*model);
  parts.pre_tokenizer = std::move(*words);
  Vocab vocab;
  if (Status done = add_tokens(*special, root.file(), &vocab, &parts.added); !done.ok()) {
    return done.error();
  }
  // A text that is a special token too means the special one.
  for (size_t rank = 0; rank < regular->size(); ++rank) {
    vocab.add(byte_level_text((*regular)[rank]), first + static_cast<Token>(rank));
  }
  if (Status done = add_config_tokens(config, &vocab, &parts.added); !done.ok()) {
    return done.error();
  }
  OwnSpecialTokens own;
  own.bos = vocab.find("<s>");
  own.eos = vocab.find("</s>");
  if (own.bos) own.before = {*own.bos};
  Result<SpecialTokens> around = find_special_tokens(config, vocab, own);
  if (!around.ok()) return around.error();
  parts.special = std::move(*around);
  parts.token_bytes.resize(std::max<size_t>(vocab.size(), sizes->n_special + sizes->n_regular));
  std::copy(regular->begin(), regular->end(), parts.token_bytes.begin() + first);
  for (const AddedToken& token : parts.added) parts.token_bytes[token.id] = token.content;
  return parts;
}

}  // namespace pando
