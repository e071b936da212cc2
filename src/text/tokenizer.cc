#include "text/tokenizer.h"

#include "base/errors.h"
#include "text/json_file.h"
#include "text/spm.h"
#include "text/tokenizer_json.h"
#include "text/vocab_merges.h"

namespace pando {
namespace {

Result<std::unique_ptr<Tokenizer>> make_bpe(Result<BpeParts> parts) {
  if (!parts.ok()) return parts.error();
  return std::unique_ptr<Tokenizer>(std::make_unique<BpeTokenizer>(std::move(*parts)));
}

// Lines of base64 and a rank, the form of the tiktoken library.
bool is_tiktoken(std::string_view content) {
  const std::string_view line = content.substr(0, content.find('\n'));
  const size_t space = line.find(' ');
  if (space == line.npos || space == 0 || space + 1 == line.size()) return false;
  const auto base64 = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '/' || c == '=';
  };
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || c == '\r'; };
  return std::all_of(line.begin(), line.begin() + space, base64) &&
         std::all_of(line.begin() + space + 1, line.end(), digit);
}

Result<std::unique_ptr<Tokenizer>> load_model_file(const std::filesystem::path& path,
                                                   const TokenizerConfig& config) {
  const Result<std::string> content = read_text_file(path);
  if (!content.ok()) return content.error();
  if (content->empty())
    return bad_file("'{}' is empty, expected a SentencePiece model", path.string());
  if (is_tiktoken(*content)) {
    return unsupported(
        "'{}' is a tiktoken vocabulary (base64 and rank), expected a SentencePiece model; put the "
        "tokenizer.json of the same model beside it",
        path.string());
  }
  return SpmTokenizer::load(*content, path.string(), config);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::load(const std::filesystem::path& directory) {
  std::error_code failure;
  if (!std::filesystem::is_directory(directory, failure)) {
    return not_found("'{}' is not a directory, expected the directory of a model",
                     directory.string());
  }
  const Result<TokenizerConfig> config = read_tokenizer_config(directory);
  if (!config.ok()) return config.error();
  const std::filesystem::path json = directory / "tokenizer.json";
  if (is_there(json)) return make_bpe(read_tokenizer_json(json, *config));
  if (const auto files = find_vocab_merges(directory)) {
    return make_bpe(read_vocab_merges(*files, *config));
  }
  const std::filesystem::path model = directory / "tokenizer.model";
  if (is_there(model)) return load_model_file(model, *config);
  return not_found(
      "'{}' holds no tokenizer, expected tokenizer.json, vocab.json with merges.txt, or "
      "tokenizer.model",
      directory.string());
}

}  // namespace pando
