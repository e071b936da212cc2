// A pre-tokenizer's regular expression: cuts text into words.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "pando/result.h"

namespace pando {

extern const std::string_view kGpt2Pattern;
extern const std::string_view kQwen2Pattern;
extern const std::string_view kLlama3Pattern;

// Immutable once compiled; any thread.
class SplitPattern {
 public:
  // kFile: matching may take steps and memory in proportion to the text, for the expression may
  // backtrack without end. kOwn: no limit.
  enum class Source { kOwn, kFile };
  // `pattern` is one of Oniguruma, see oniguruma.h.
  static Result<SplitPattern> compile(std::string_view pattern, Source source = Source::kOwn);
  static SplitPattern literal(std::string_view text);  // which is not empty

  bool can_be_empty() const;  // matches of no character are passed over by split()

  // Calls `piece` for each match (true) and for the text between matches (false), in order: nothing
  // of `text`, which must be UTF-8, is lost, and no piece is empty. kUnsupported where the limit of
  // an expression of a file is reached.
  Status split(std::string_view text, FunctionRef<void(std::string_view, bool)> piece) const;

 private:
  struct Code;  // of PCRE2
  static Result<SplitPattern> compile_pcre2(const std::string& pattern, Source source);
  SplitPattern(std::shared_ptr<const Code> code, Source source)
      : code_(std::move(code)), source_(source) {}
  std::shared_ptr<const Code> code_;
  Source source_;
};

}  // namespace pando
