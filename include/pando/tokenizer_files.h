// A tokenizer by itself, to look at its tokens: its model may be missing, or one that Pando cannot
// run.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"
#include "pando/values/token.h"

namespace pando {

class Tokenizer;

// Immutable; any thread may use it at any time.
class TokenizerFiles {
 public:
  // Reads the tokenizer of a directory or of a GGUF file, or one of the files tokenizer.json,
  // tekken.json and tokenizer.model by itself. Nothing else of a model is read.
  // Errors: kNotFound, kBadFile, kUnsupported; the message names file, field, found and expected.
  static Result<std::shared_ptr<const TokenizerFiles>> load(const std::filesystem::path& path);
  ~TokenizerFiles();

  int vocab() const;                          // highest token id + 1
  std::vector<std::string> warnings() const;  // oddities of the files that are no errors

  // These are the same as the functions of Model (model.h) with these names.
  Result<std::vector<Token>> encode(std::string_view text, bool add_bos = true) const;
  std::string decode(std::span<const Token> tokens) const;  // the text of tokens
  std::string piece(Token token) const;                     // its text inside a longer text

 private:
  explicit TokenizerFiles(std::unique_ptr<const Tokenizer> tokenizer);
  std::unique_ptr<const Tokenizer> tokenizer_;
};

}  // namespace pando
