#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/errors.h"
#include "text/matcher.h"
#include "text/pcre2_pattern.h"

namespace pando {
namespace {

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

class Pcre2Matcher final : public Matcher {
 public:
  explicit Pcre2Matcher(pcre2_code* code) : code_(code) {}
  ~Pcre2Matcher() override { pcre2_code_free(code_); }
  Pcre2Matcher(const Pcre2Matcher&) = delete;
  Pcre2Matcher& operator=(const Pcre2Matcher&) = delete;

  Status split(std::string_view text,
               FunctionRef<void(std::string_view, bool)> piece) const override {
    const std::unique_ptr<pcre2_match_data, FreeMatch> match(
        pcre2_match_data_create_from_pattern(code_, nullptr));
    const std::unique_ptr<pcre2_match_context, FreeContext> context(
        pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(context.get(), UINT32_MAX);  // a text of spaces is long, not malicious
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match.get());
    size_t done = 0;
    while (done < text.size()) {
      const uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
      const auto run = [&](uint32_t more) {
        return pcre2_match(code_, subject, text.size(), done, options | more, match.get(),
                           context.get());
      };
      int result = run(0);
      if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);
      if (result == PCRE2_ERROR_NOMATCH) break;
      if (result < 0) {
        return make_error(ErrorCode::kInternal,
                          "splitting the text into words failed at byte {}: {}", done,
                          pcre2_message(result));
      }
      if (found[0] > done) piece(text.substr(done, found[0] - done), false);
      piece(text.substr(found[0], found[1] - found[0]), true);
      done = found[1];
    }
    if (done < text.size()) piece(text.substr(done), false);
    return {};
  }

 private:
  pcre2_code* code_;
};

}  // namespace

Result<std::shared_ptr<const Matcher>> make_pcre2_matcher(std::string_view pattern) {
  const Result<std::string> text = to_pcre2_pattern(pattern);
  if (!text.ok()) return text.error();
  int failure = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text->data()), text->size(),
                                   PCRE2_UTF | PCRE2_UCP, &failure, &offset, nullptr);
  if (code == nullptr) {
    return unsupported("the regular expression '{}' does not compile: {} at byte {}", *text,
                       pcre2_message(failure), offset);
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // slower without, never wrong
  return std::shared_ptr<const Matcher>(std::make_shared<Pcre2Matcher>(code));
}

}  // namespace pando
