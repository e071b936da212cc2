#include "task/cut_text.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "api/model_access.h"

namespace pando {
namespace {

constexpr std::string_view kNoCharacter = "\xef\xbf\xbd";  // U+FFFD, of a character cut in two

}  // namespace

Result<size_t> n_tokens(const Model& model, const std::string& text) {
  const Result<std::vector<Token>> tokens = model.encode(text, /*add_bos=*/false);
  if (!tokens) return tokens.error();
  return tokens->size();
}

std::string cut_text(const Model& model, const std::string& text, size_t n, bool at_end) {
  const Result<std::vector<Token>> tokens = model.encode(text, /*add_bos=*/false);
  if (!tokens || tokens->size() <= n) return text;
  const std::span<const Token> all = *tokens;
  const Result<std::string> kept = model.decode(at_end ? all.first(n) : all.last(n));
  if (!kept) return text;
  std::string_view cut = *kept;
  if (at_end)
    while (cut.ends_with(kNoCharacter)) cut.remove_suffix(kNoCharacter.size());
  else
    while (cut.starts_with(kNoCharacter)) cut.remove_prefix(kNoCharacter.size());
  return std::string(cut);
}

int most_tokens(const Model& model, int stated, bool has_modules) {
  if (stated > 0 || !has_modules || !model.has_tokenizer()) return stated;
  const int64_t own = model.info().max_positions;
  return static_cast<int>(std::min(tokenizer_of(model)->limit().most_tokens.value_or(own), own));
}

}  // namespace pando
