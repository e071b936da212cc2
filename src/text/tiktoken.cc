#include "text/tiktoken.h"

#include <algorithm>
#include <charconv>

#include "text/base64.h"
#include "text/ranked_bytes.h"
#include "text/split_pattern.h"

namespace pando {
namespace {

struct Line {
  std::string bytes;
  Token rank;
};

std::optional<Line> read_line(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == line.npos) return std::nullopt;
  auto bytes = from_base64(line.substr(0, space));
  if (!bytes || bytes->empty() || bytes->size() > kLongestMerged) return std::nullopt;
  Token rank = -1;
  const char* end = line.data() + line.size();
  const auto parsed = std::from_chars(line.data() + space + 1, end, rank);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == end;
  if (!whole || rank < 0 || rank > kMaxToken) return std::nullopt;
  return Line{std::move(*bytes), rank};
}

// Tokens as bytes, by rank.
Result<std::vector<std::string>> read_lines(std::string_view content, const std::string& file) {
  std::vector<std::string> tokens;
  for (int number = 1; !content.empty(); ++number) {
    std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(content.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    auto read = read_line(line);
    const bool in_order = read && read->rank == static_cast<Token>(tokens.size());
    if (!in_order) {
      return bad_file("'{}': line {} is '{}', expected a token in base64 and rank {}", file, number,
                      line.substr(0, 60), tokens.size());
    }
    tokens.push_back(std::move(read->bytes));
  }
  return tokens;
}

struct Known {
  std::vector<AddedToken> added;
  std::string bos;  // empty: none
  std::string eos;
};

AddedToken special_token(Token id, std::string content) {
  AddedToken token;
  token.id = id;
  token.content = std::move(content);
  token.special = true;
  return token;
}

constexpr size_t kLlama3Tokens = 128'000;
constexpr size_t kCl100kTokens = 100'256;

Known llama3() {
  constexpr Token kFirst = kLlama3Tokens;
  constexpr Token kSpecial = 256;
  Known known{{}, "<|begin_of_text|>", "<|end_of_text|>"};
  const std::pair<Token, const char*> named[] = {{0, "<|begin_of_text|>"},
                                                 {1, "<|end_of_text|>"},
                                                 {6, "<|start_header_id|>"},
                                                 {7, "<|end_header_id|>"},
                                                 {9, "<|eot_id|>"}};
  int reserved = 0;
  for (Token i = 0; i < kSpecial; ++i) {
    const auto name = std::find_if(std::begin(named), std::end(named),
                                   [&](const auto& pair) { return pair.first == i; });
    known.added.push_back(
        special_token(kFirst + i, name != std::end(named)
                                      ? std::string(name->second)
                                      : fmt::format("<|reserved_special_token_{}|>", reserved++)));
  }
  return known;
}

Known cl100k() {
  return {{special_token(100'257, "<|endoftext|>"), special_token(100'258, "<|fim_prefix|>"),
           special_token(100'259, "<|fim_middle|>"), special_token(100'260, "<|fim_suffix|>"),
           special_token(100'276, "<|endofprompt|>")},
          "",
          "<|endoftext|>"};
}

Status finish_tokens(const Known& known, const std::string& file, const TokenizerConfig& config,
                     Vocab* vocab, TokenizerParts* parts) {
  if (config.added.empty()) {
    if (Status done = add_tokens(known.added, file, vocab, &parts->added); !done.ok()) return done;
  }
  if (Status done = add_config_tokens(config, vocab, &parts->added); !done.ok()) return done;
  OwnSpecialTokens own;
  own.bos = known.bos.empty() ? std::nullopt : vocab->find(known.bos);
  own.eos = vocab->find(known.eos);
  if (own.bos) own.before = {*own.bos};
  Result<SpecialTokens> special = find_special_tokens(config, *vocab, own);
  if (!special.ok()) return special.error();
  parts->special = std::move(*special);
  return {};
}

}  // namespace

bool is_tiktoken(std::string_view content) {
  std::string_view line = content.substr(0, content.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return read_line(line).has_value();
}

Result<TokenizerParts> read_tiktoken(const std::string& content, const std::string& file,
                                     const TokenizerConfig& config) {
  const Result<std::vector<std::string>> tokens = read_lines(content, file);
  if (!tokens.ok()) return tokens.error();
  const bool is_llama3 = tokens->size() == kLlama3Tokens;
  if (!is_llama3 && tokens->size() != kCl100kTokens) {
    return unsupported(
        "'{}' is a tiktoken vocabulary of {} tokens; supported: {} (Llama 3), {} (cl100k)", file,
        tokens->size(), kLlama3Tokens, kCl100kTokens);
  }
  auto words = make_ranked_model(*tokens, 0, file);
  if (!words.ok()) return words.error();
  Vocab vocab;
  for (size_t id = 0; id < tokens->size(); ++id) {
    vocab.add(byte_level_text((*tokens)[id]), static_cast<Token>(id));
  }
  Result<SplitPattern> pattern = SplitPattern::compile(kLlama3Pattern);  // cl100k has the same
  if (!pattern.ok()) return pattern.error();
  TokenizerParts parts;
  parts.model = std::move(*words);
  parts.pre_tokenizer = PreTokenizer({pre::Split{std::move(*pattern)}});
  const Status done = finish_tokens(is_llama3 ? llama3() : cl100k(), file, config, &vocab, &parts);
  if (!done.ok()) return done.error();
  parts.token_bytes = *tokens;
  parts.token_bytes.resize(vocab.size());
  for (const AddedToken& token : parts.added) parts.token_bytes[token.id] = token.content;
  return parts;
}

}  // namespace pando
