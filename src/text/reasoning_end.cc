#include "text/reasoning_end.h"

#include <algorithm>

#include "text/calls/scan.h"

namespace pando {
namespace {

// A format has marks of reasoning even if nothing shows that the model writes them.
bool is_marked(const Tokenizer& tokenizer, const calls::CallFormat& format) {
  const std::string_view begin = calls::trimmed(format.reasoning_begin),
                         end = calls::trimmed(format.reasoning_end);
  if (begin.empty() || end.empty()) return false;
  if (format.renders_reasoning || format.body == calls::CallBody::kChannel) return true;
  const bool opens = std::ranges::any_of(format.prompt_ends, [&](const std::string& prompt) {
    return prompt.find(begin) != prompt.npos;
  });
  const Result<std::vector<Token>> tokens = tokenizer.encode(end, /*add_bos=*/false);
  return opens || (tokens && tokens->size() == 1);
}

}  // namespace

std::string_view reasoning_end(const Tokenizer& tokenizer, const AnswerFormat& format,
                               const Request& request) {
  if (!divides_answer(request)) return {};
  if (format.channels && !(offers_tools(request) && format.calls))
    return "<|end|><|start|>assistant<|channel|>final<|message|>";
  if (!format.calls || !is_marked(tokenizer, *format.calls)) return {};
  return format.calls->reasoning_end;
}

}  // namespace pando
