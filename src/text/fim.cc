#include "text/fim.h"

#include <algorithm>
#include <optional>

#include "base/errors.h"

namespace pando {
namespace {

// Each row is in the vocabularies of the models that its comment names.
constexpr FimTokens kForms[] = {
    // Qwen2.5-Coder, CodeGemma, Granite 4
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    // StarCoder, StarCoder2, Granite Code
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    // SantaCoder
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    // DeepSeek Coder
    {"<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581end\uff5c>"},
    // Code Llama
    {"\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>"},
    // GLM-4
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},
    // Seed-Coder
    {"<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", true},
    // Codestral
    {"[PREFIX]", "[SUFFIX]", "", true},
};
constexpr std::string_view kFiles[] = {"<|file_sep|>", "<|file_separator|>", "<file_sep>"};
// A model may write these where a file ends.
constexpr std::string_view kEndNames[] = {
    "<|fim_pad|>",   "<fim_pad>",   "<|file_sep|>", "<|file_separator|>", "<file_sep>",
    "<|repo_name|>", "<repo_name>", "<reponame>",   "<|endoftext|>",      "\u2581<EOT>"};

// The token whose text this is. Vocabularies of SentencePiece write a space as U+2581.
std::optional<Token> token_of(const Tokenizer& tokenizer, std::string_view text) {
  constexpr std::string_view kSpace = "\u2581";
  const Result<std::vector<Token>> tokens = tokenizer.encode(text, /*add_bos=*/false);
  if (!tokens || tokens->size() != 1) return std::nullopt;
  const std::string bytes = tokenizer.token_bytes(tokens->front(), /*skip_special=*/false);
  const bool is_spaced = text.starts_with(kSpace) && bytes.starts_with(' ') &&
                         std::string_view(bytes).substr(1) == text.substr(kSpace.size());
  if (bytes != text && !is_spaced) return std::nullopt;
  return tokens->front();
}

}  // namespace

Result<FimForm> fim_form_of(const Tokenizer& tokenizer) {
  const auto has = [&](std::string_view text) {
    return text.empty() || token_of(tokenizer, text).has_value();
  };
  const auto form = std::ranges::find_if(
      kForms, [&](const FimTokens& f) { return has(f.before) && has(f.behind) && has(f.middle); });
  if (form == std::end(kForms))
    return unsupported("the vocabulary has no tokens for fill-in-the-middle");
  FimForm found{.tokens = *form};
  if (const auto file = std::ranges::find_if(kFiles, has); file != std::end(kFiles))
    found.file = *file;
  for (const std::string_view text : kEndNames)
    if (const std::optional<Token> end = token_of(tokenizer, text)) found.ends.push_back(*end);
  return found;
}

std::string fim_prompt(const FimForm& form, std::string_view before, std::string_view behind) {
  const FimTokens& tokens = form.tokens;
  std::string prompt;
  const auto add = [&](std::string_view token, std::string_view text) {
    prompt.append(token).append(text);
  };
  if (tokens.behind_first) add(tokens.behind, behind);
  add(tokens.before, before);
  if (!tokens.behind_first) add(tokens.behind, behind);
  return prompt.append(tokens.middle);
}

std::string fim_file(const FimForm& form, std::string_view name, std::string_view text) {
  if (form.file.empty()) return std::string(text).append("\n");
  return std::string(form.file).append(name).append("\n").append(text);
}

}  // namespace pando
