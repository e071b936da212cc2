#include "text/tokenizer.h"

#include "base/errors.h"
#include "text/gguf_vocab.h"
#include "text/json_file.h"
#include "text/spm.h"
#include "text/tekken.h"
#include "text/tiktoken.h"
#include "text/tokenizer_json.h"
#include "text/vocab_merges.h"
#include "text/wordpiece_json.h"

namespace pando {
namespace {

Result<std::unique_ptr<Tokenizer>> load_model_file(const ModelPath& path,
                                                   const TokenizerConfig& config) {
  const Result<std::string> content = read_text_file(path);
  if (!content.ok()) return content.error();
  if (content->empty()) {
    return bad_file("'{}' is empty, expected a SentencePiece model or a tiktoken vocabulary",
                    path.string());
  }
  if (is_tiktoken(*content)) {
    return WordTokenizer::make(read_tiktoken(*content, path.string(), config));
  }
  return SpmTokenizer::load(*content, path.string(), config);
}

// The content says which of the two forms a file has.
Result<std::unique_ptr<Tokenizer>> load_json_file(const ModelPath& path, TokenizerConfig& config) {
  const Result<Json> document = read_json_file(path);
  if (!document.ok()) return document.error();
  const JsonPlace root(*document, path.string());
  const JsonPlace direction = root.at("truncation").at("direction");
  if (!direction.absent() && !config.limit.at_end) config.limit.at_end = direction.json() != "Left";
  return WordTokenizer::make(is_tekken(root) ? read_tekken(root, config)
                                             : read_tokenizer_json(root, config));
}

Result<std::unique_ptr<Tokenizer>> load_directory(const ModelPath& directory,
                                                  TokenizerConfig& config) {
  const ModelPath json = directory / "tokenizer.json";
  if (is_there(json.path())) return load_json_file(json, config);
  if (const auto files = find_vocab_merges(directory)) {
    return WordTokenizer::make(read_vocab_merges(*files, config));
  }
  const ModelPath tekken = directory / "tekken.json";
  if (is_there(tekken.path())) return load_json_file(tekken, config);
  const ModelPath model = directory / "tokenizer.model";
  if (is_there(model.path())) return load_model_file(model, config);
  if (is_there((directory / "vocab.txt").path()))
    return WordTokenizer::make(read_vocab_txt(directory, config));
  return not_found(
      "'{}' holds no tokenizer, expected tokenizer.json, vocab.json with merges.txt, tekken.json, "
      "tokenizer.model, or vocab.txt",
      directory.string());
}

// `path`: a directory, or a tokenizer's file, beside which tokenizer_config.json may lie.
Result<std::unique_ptr<Tokenizer>> load_files(const ModelPath& path, TokenizerConfig& config) {
  std::error_code failure;
  if (std::filesystem::is_directory(path.path(), failure)) return load_directory(path, config);
  return path.path().extension() == ".json" ? load_json_file(path, config)
                                            : load_model_file(path, config);
}

}  // namespace

bool is_tokenizer_file(const std::filesystem::path& path) {
  std::error_code failure;
  const std::filesystem::path extension = path.extension();
  const bool named = extension == ".json" || extension == ".model" || extension == ".tiktoken";
  return named && !std::filesystem::is_directory(path, failure);
}

const TextTemplates& Tokenizer::templates() const {
  static const TextTemplates texts_alone = templates_around({}, {});
  return texts_alone;
}

std::vector<TokenSpan> Tokenizer::spans_of(std::string_view text,
                                           std::span<const Token> tokens) const {
  std::vector<TokenPiece> pieces;
  for (const Token token : tokens) pieces.push_back({token_bytes(token, /*skip_special=*/false)});
  return find_token_spans(text, pieces,
                          {.normalise = [](std::string_view one) { return std::string(one); }});
}

Result<TypedTokens> Tokenizer::encode_typed(std::string_view text,
                                            std::optional<std::string_view> second,
                                            const PairLimit& limit) const {
  std::vector<std::vector<Token>> texts;
  for (const std::optional<std::string_view>& part : {std::optional(text), second}) {
    if (!part) continue;
    Result<std::vector<Token>> tokens = encode(*part, /*add_bos=*/false);
    if (!tokens.ok()) return tokens.error();
    texts.push_back(std::move(*tokens));
  }
  return join_texts(templates(), std::move(texts), limit);
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::load(const ModelPath& path) {
  std::error_code failure;
  const bool is_directory = std::filesystem::is_directory(path.path(), failure);
  if (!is_there(path.path())) {
    return not_found("'{}' does not exist, expected the directory of a model or a GGUF file",
                     path.string());
  }
  if (is_directory || is_tokenizer_file(path.path())) {
    Result<TokenizerConfig> config =
        read_tokenizer_config(is_directory ? path : path.at(path.path().parent_path()));
    if (!config.ok()) return config.error();
    Result<std::unique_ptr<Tokenizer>> tokenizer = load_files(path, *config);
    if (!tokenizer.ok()) return tokenizer;
    (*tokenizer)->limit_ = config->limit;
    (*tokenizer)->gives_types_ = config->gives_types.value_or(true);
    return tokenizer;
  }
  const auto gguf = path.gguf();
  if (!gguf.ok()) return gguf.error();
  return WordTokenizer::make(read_gguf_vocab(**gguf));
}

}  // namespace pando
