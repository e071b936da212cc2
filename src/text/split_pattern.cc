#include "text/split_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "base/errors.h"
#include "text/oniguruma.h"

namespace pando {
namespace {

std::string pcre2_message(int code) {
  PCRE2_UCHAR text[256];
  if (pcre2_get_error_message(code, text, sizeof text) < 0) return fmt::format("error {}", code);
  return reinterpret_cast<const char*>(text);
}

// Of an expression of a file, for one match.
constexpr size_t kStepsPerByte = 16;
constexpr size_t kFreeSteps = 1'000'000;
constexpr size_t kFreeHeap = 64 * 1024;  // KiB

struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

}  // namespace

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct SplitPattern::Code {
  pcre2_code* code = nullptr;
  Code() = default;
  Code(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
};

Result<SplitPattern> SplitPattern::compile(std::string_view pattern, Source source) {
  const Result<std::string> text = to_pcre2_pattern(pattern);
  if (!text.ok()) return text.error();
  return compile_pcre2(*text, source);
}

SplitPattern SplitPattern::literal(std::string_view text) {
  return std::move(*compile_pcre2(literal_pattern(text), Source::kOwn));
}

Result<SplitPattern> SplitPattern::compile_pcre2(const std::string& pattern, Source source) {
  int failure = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_shared<Code>();
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                             PCRE2_UTF | PCRE2_UCP, &failure, &offset, nullptr);
  if (code->code == nullptr) {
    return unsupported("the regular expression '{}' does not compile: {} at byte {}", pattern,
                       pcre2_message(failure), offset);
  }
  pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);  // slower without, never wrong
  return SplitPattern(std::move(code), source);
}

bool SplitPattern::can_be_empty() const {
  uint32_t can = 0;
  pcre2_pattern_info(code_->code, PCRE2_INFO_MATCHEMPTY, &can);
  return can != 0;
}

Status SplitPattern::split(std::string_view text,
                           FunctionRef<void(std::string_view, bool)> piece) const {
  const std::unique_ptr<pcre2_match_data, FreeMatch> match(
      pcre2_match_data_create_from_pattern(code_->code, nullptr));
  const std::unique_ptr<pcre2_match_context, FreeContext> context(
      pcre2_match_context_create(nullptr));
  // A text of spaces is long, not malicious.
  const bool own = source_ == Source::kOwn;
  const size_t most_steps = own ? UINT32_MAX : kStepsPerByte * text.size() + kFreeSteps;
  pcre2_set_match_limit(context.get(),
                        static_cast<uint32_t>(std::min<size_t>(most_steps, UINT32_MAX)));
  if (!own) pcre2_set_heap_limit(context.get(), static_cast<uint32_t>(kFreeHeap + text.size() / 2));
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match.get());
  size_t done = 0;
  while (done < text.size()) {
    const uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    const auto run = [&](uint32_t more) {
      return pcre2_match(code_->code, subject, text.size(), done, options | more, match.get(),
                         context.get());
    };
    int result = run(0);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_HEAPLIMIT) {
      return unsupported(
          "cutting text into words: the tokenizer's regular expression needs too many steps at "
          "byte {} of {}, expected at most {}",
          done, text.size(), most_steps);
    }
    if (result < 0) {
      return make_error(ErrorCode::kInternal, "cutting text into words failed at byte {}: {}", done,
                        pcre2_message(result));
    }
    if (found[0] > done) piece(text.substr(done, found[0] - done), false);
    piece(text.substr(found[0], found[1] - found[0]), true);
    done = found[1];
  }
  if (done < text.size()) piece(text.substr(done), false);
  return {};
}

}  // namespace pando
