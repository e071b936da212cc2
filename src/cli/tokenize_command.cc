// `pando tokenize` and `pando detokenize`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <memory>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/report.h"
#include "pando/file_input.h"

namespace pando::cli {
namespace {

struct Options {
  ModelArguments model;
  std::vector<std::string> words;  // none: standard input
  bool pieces = false;
  bool no_bos = false;
};

Result<std::string> given(const std::vector<std::string>& words) {
  if (words.empty()) return read_text("-");
  return fmt::format("{}", fmt::join(words, " "));
}

int tokenize(const Options& o) {
  const Result<std::shared_ptr<const TokenizerFiles>> tokenizer = load_tokenizer_files(o.model);
  if (!tokenizer) return report_error(tokenizer.error());
  const Result<std::string> text = given(o.words);
  if (!text) return report_error(text.error());
  const Result<std::vector<Token>> tokens = (*tokenizer)->encode(*text, !o.no_bos);
  if (!tokens) return report_error(tokens.error());
  if (!o.pieces) {
    fmt::print("{}\n", fmt::join(*tokens, " "));
    return kOk;
  }
  for (const Token token : *tokens) {
    fmt::print("{}\t{}\n", token, quoted((*tokenizer)->piece(token)));
  }
  return kOk;
}

int detokenize(const Options& o) {
  const Result<std::shared_ptr<const TokenizerFiles>> tokenizer = load_tokenizer_files(o.model);
  if (!tokenizer) return report_error(tokenizer.error());
  std::vector<std::string> words = o.words;
  for (std::string& word : words)  // each may be a list
    if (word.starts_with('[') && word.ends_with(']')) word = word.substr(1, word.size() - 2);
  const Result<std::string> found = given(words);
  if (!found) return report_error(found.error());
  const std::string& text = *found;
  const int vocab = (*tokenizer)->vocab();
  std::vector<Token> tokens;
  for (size_t at = 0; (at = text.find_first_not_of(" ,\t\r\n", at)) != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(" ,\t\r\n", at), text.size());
    Token token = -1;
    const auto [last, error] = std::from_chars(text.data() + at, text.data() + end, token);
    if (error != std::errc() || last != text.data() + end || token < 0 || token >= vocab) {
      report_error(fmt::format("token {} is '{}', expected a number from 0 to {}",
                               tokens.size() + 1, text.substr(at, std::min<size_t>(end - at, 40)),
                               vocab - 1));
      return kUsage;
    }
    tokens.push_back(token);
    at = end;
  }
  fmt::print("{}\n", (*tokenizer)->decode(tokens));
  return kOk;
}

void add_options_of_tokenizer(CLI::App& app, ModelArguments& arguments) {
  add_tokenizer_options(app, arguments);
  app.get_option("--model")->description(
      "Model with the tokenizer, as in `pando run`; only its tokenizer is read, so Pando need not "
      "know the model (default: Pando's demo model)");
  app.get_option("--tokenizer")
      ->description(
          "Directory, file (GGUF, tokenizer.json, tekken.json, tokenizer.model) or hub id of the "
          "tokenizer, instead of --model");
}

// Any number of words, each as it is. With allow_extra_args(), the parser would read a word in
// brackets as a list; without, it takes no more words than an option needs.
void take_words(CLI::Option* option) {
  constexpr int kMany = 1 << 20;
  option
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)  // fewer will do
      ->allow_extra_args(false)
      ->expected(kMany, CLI::detail::expected_max_vector_size);
}

}  // namespace

Command add_tokenize(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_options_of_tokenizer(app, options->model);
  take_words(app.add_option("text", options->words, "The text (default: standard input)"));
  app.add_flag("--pieces", options->pieces,
               "Print each token on a line with its text, special tokens included");
  app.add_flag("--no-bos", options->no_bos, "Add no beginning-of-sequence token");
  app.footer(
      "Examples:\n  pando tokenize --model MODEL \"Some text.\"\n"
      "  pando tokenize --model MODEL --pieces < text.txt\n"
      "  pando tokenize --tokenizer tokenizer.json --pieces \"Some text.\"");
  return [options] { return tokenize(*options); };
}

Command add_detokenize(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_options_of_tokenizer(app, options->model);
  take_words(app.add_option("tokens", options->words, "Token ids (default: standard input)"));
  app.footer("Example:\n  pando detokenize --model MODEL 72 101 108");
  return [options] { return detokenize(*options); };
}

}  // namespace pando::cli
