#include "text/split_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/errors.h"

namespace pando {
namespace {

// The characters of Unicode's White_Space, as the inside of a set.
constexpr std::string_view kSpaceSet = R"(\t-\r\x{85}\p{Z})";

std::string pcre2_message(int code) {
  PCRE2_UCHAR text[256];
  if (pcre2_get_error_message(code, text, sizeof text) < 0) return fmt::format("error {}", code);
  return reinterpret_cast<const char*>(text);
}

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

Result<std::string> to_pcre2_pattern(std::string_view pattern) {
  std::string out;
  bool in_set = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '[') in_set = true;
    if (c == ']') in_set = false;
    if (c != '\\' || i + 1 == pattern.size()) {
      out += c;
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 'S' && in_set) {
      return unsupported("the regular expression '{}' has \\S inside a set", pattern);
    }
    if (escaped == 's') {
      out += in_set ? std::string(kSpaceSet) : fmt::format("[{}]", kSpaceSet);
    } else if (escaped == 'S') {
      out += fmt::format("[^{}]", kSpaceSet);
    } else {
      out += {c, escaped};
    }
  }
  return out;
}

Result<SplitPattern> SplitPattern::compile(std::string_view pattern) {
  const Result<std::string> text = to_pcre2_pattern(pattern);
  if (!text.ok()) return text.error();
  int failure = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_shared<Code>();
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text->data()), text->size(),
                             PCRE2_UTF | PCRE2_UCP, &failure, &offset, nullptr);
  if (code->code == nullptr) {
    return unsupported("the regular expression '{}' does not compile: {} at byte {}", *text,
                       pcre2_message(failure), offset);
  }
  pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);  // slower without, never wrong
  return SplitPattern(std::move(code));
}

Status SplitPattern::split(std::string_view text, FunctionRef<void(std::string_view)> word) const {
  const std::unique_ptr<pcre2_match_data, FreeMatch> match(
      pcre2_match_data_create_from_pattern(code_->code, nullptr));
  const std::unique_ptr<pcre2_match_context, FreeContext> context(
      pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), UINT32_MAX);  // a text of spaces is long, not malicious
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
    if (result < 0) {
      return make_error(ErrorCode::kInternal, "cutting text into words failed at byte {}: {}", done,
                        pcre2_message(result));
    }
    if (found[0] > done) word(text.substr(done, found[0] - done));
    word(text.substr(found[0], found[1] - found[0]));
    done = found[1];
  }
  if (done < text.size()) word(text.substr(done));
  return {};
}

}  // namespace pando
