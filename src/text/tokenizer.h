// Text to tokens and back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/model_path.h"
#include "pando/values/result.h"
#include "pando/values/token.h"
#include "text/text_template.h"
#include "text/token_spans.h"

namespace pando {

struct Decoding;

// Limit of texts in the model's files. The tokenizer itself cuts nothing.
struct TextLimit {
  std::optional<int64_t> most_tokens;  // model_max_length of tokenizer_config.json
  // True if a longer text loses its end: by truncation_side of tokenizer_config.json, or else by
  // the direction of `truncation` in tokenizer.json.
  std::optional<bool> at_end;
};

// Long texts that a tokenizer remembers, so that a text that begins like one of them is encoded
// from where they differ.
struct TextMemoLimits {
  size_t least_bytes = 4096;        // shorter texts are encoded whole
  size_t part_bytes = 128;          // at least, between two places where encoding can begin again
  size_t most_bytes = 32ull << 20;  // of texts and tokens together; 0: none is remembered
  size_t most_texts = 64;
};

// Immutable once loaded; any thread may call any method at any time.
class Tokenizer {
 public:
  // Reads the tokenizer of a model directory - tokenizer.json, or vocab.json + merges.txt, or
  // tekken.json, or tokenizer.model (SentencePiece or tiktoken) - or of a GGUF file, or a file by
  // itself (is_tokenizer_file). Errors name file, field, found and expected.
  static Result<std::unique_ptr<Tokenizer>> load(const ModelPath& path);
  virtual ~Tokenizer() = default;

  // The tokens of `text`, which must be UTF-8 (kInvalidArgument names the byte offset otherwise).
  // Special tokens written in the text are recognised. add_bos: adds the tokens that the tokenizer
  // puts around a text: the beginning-of-sequence token first, for few models others, too.
  virtual Result<std::vector<Token>> encode(std::string_view text, bool add_bos) const = 0;
  virtual size_t n_behind() const = 0;  // tokens that add_bos puts behind a text

  // The bytes that a token stands for; empty for ids outside the vocabulary. Special tokens are
  // their text, or empty with skip_special.
  virtual std::string token_bytes(Token token, bool skip_special) const = 0;

  virtual int vocab_size() const = 0;  // highest id + 1
  virtual std::optional<Token> bos() const = 0;
  virtual std::span<const Token> end_tokens() const = 0;  // any of these ends a sequence
  // True if a leading space is put before the first word and must be taken off again when a
  // whole text is decoded (SentencePiece).
  virtual bool strips_leading_space() const = 0;

  // Null if a text is the joined bytes of its tokens. Otherwise token_bytes() are the bytes of a
  // token that no other token changes.
  virtual const Decoding* decoding() const { return nullptr; }

  // Oddities of the files that are no errors, a line each, for people.
  virtual std::span<const std::string> warnings() const { return {}; }

  const TextLimit& limit() const { return limit_; }

  // For tests. Limits are set before other threads have the tokenizer; the count is of bytes that
  // encode() did not remember.
  virtual void set_memo_limits(const TextMemoLimits&) {}
  virtual size_t n_bytes_encoded() const { return 0; }

  // One text, or a pair with `second`, between the tokens that the tokenizer's files put around
  // them, always all of these, with token types. Errors: as encode() and join_texts().
  Result<TypedTokens> encode_typed(std::string_view text, std::optional<std::string_view> second,
                                   const PairLimit& limit) const;
  virtual const TextTemplates& templates() const;
  // The places of all tokens of encode(text, false).
  virtual std::vector<TokenSpan> spans_of(std::string_view text,
                                          std::span<const Token> tokens) const;
  // False if the files say that the model gets no token types: they are then all 0.
  bool gives_types() const { return gives_types_; }

 private:
  TextLimit limit_;
  bool gives_types_ = true;
};

// True if the path is that of a tokenizer's file outside a model's directory: .json, .model or
// .tiktoken.
bool is_tokenizer_file(const std::filesystem::path& path);

}  // namespace pando
