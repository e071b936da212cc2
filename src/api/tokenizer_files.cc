#include "pando/tokenizer_files.h"

#include <exception>
#include <new>
#include <utility>

#include "base/errors.h"
#include "base/fp_state.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace pando {

TokenizerFiles::TokenizerFiles(std::unique_ptr<const Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)) {}
TokenizerFiles::~TokenizerFiles() = default;

Result<std::shared_ptr<const TokenizerFiles>> TokenizerFiles::load(
    const std::filesystem::path& path) {
  FpStateGuard fp_state;  // scores are rounded here
  try {
    Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::load(path);
    if (!tokenizer) return tokenizer.error();
    return std::shared_ptr<const TokenizerFiles>(new TokenizerFiles(std::move(*tokenizer)));
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::kUnavailable, "not enough memory for the tokenizer of '{}'",
                      path.string());
  } catch (const std::exception& error) {
    return in_file(path.string(),
                   make_error(ErrorCode::kInternal, "cannot be loaded: {}", error.what()));
  }
}

int TokenizerFiles::vocab() const { return tokenizer_->vocab_size(); }

std::vector<std::string> TokenizerFiles::warnings() const {
  const std::span<const std::string> warnings = tokenizer_->warnings();
  return {warnings.begin(), warnings.end()};
}

Result<std::vector<Token>> TokenizerFiles::encode(std::string_view text, bool add_bos) const {
  return tokenizer_->encode(text, add_bos);
}

std::string TokenizerFiles::decode(std::span<const Token> tokens) const {
  return pando::decode(*tokenizer_, tokens, /*skip_special=*/true);
}

std::string TokenizerFiles::piece(Token token) const { return decode_piece(*tokenizer_, token); }

}  // namespace pando
