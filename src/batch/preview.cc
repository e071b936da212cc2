#include "pando/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "api/model_access.h"
#include "base/errors.h"
#include "batch/engine_requests.h"
#include "batch/line_parser.h"
#include "batch/too_long.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace pando {
namespace {

class Previewer {
 public:
  Previewer(const Model& model, int context, uint64_t n,
            const std::function<void(const PromptPreview&)>& on_prompt)
      : model_(model), n_(n), on_prompt_(on_prompt) {
    engine_.context = context;
  }

  void add(uint64_t number, const ask::Line& line) {
    if (line.refused)
      return give({.line = number, .id = line.id, .refused = line.refused->message()});
    for (const ask::Question& question : line.questions) {
      if (is_full()) return;
      PromptPreview preview{.line = number,
                            .id = question.request.id,
                            .cut = line.contexts.empty() ? question.cut : line.cut};
      const Result<std::vector<Request>> requests =
          engine_requests(model_, engine_, line, question);
      if (requests) {
        const Request& first = requests->front();
        if (first.cut_tokens > 0)
          preview.cut = cut_message(static_cast<int>(first.tokens.size()), first.cut_tokens);
        give_all(std::move(preview), question, *requests);
      } else {
        preview.refused = requests.error().message();
        give(std::move(preview));
      }
    }
  }

  bool is_full() const { return found_.prompts >= n_; }
  PreviewSummary& found() { return found_; }

 private:
  void give(const PromptPreview& preview) {
    ++found_.prompts;
    found_.refused += !preview.refused.empty();
    on_prompt_(preview);
  }

  // Requests with equal prompts are one, and score its choices.
  void give_all(PromptPreview preview, const ask::Question& question,
                const std::vector<Request>& requests) {
    for (size_t i = 0; i < requests.size() && !is_full(); ++i) {
      const std::span<const Token> prompt = prompt_of(question, requests[i]);
      if (i == 0) {
        take_prompt(prompt, preview);
      } else if (!std::ranges::equal(prompt, preview.tokens)) {
        give(preview);
        take_prompt(prompt, preview);
      }
      if (!question.choices.empty()) take_choices(requests[i], prompt.size(), preview);
    }
    if (!is_full()) give(preview);
  }

  void take_prompt(std::span<const Token> tokens, PromptPreview& preview) const {
    preview.tokens.assign(tokens.begin(), tokens.end());
    preview.special.clear();
    preview.choices.clear();
    if (!model_.has_tokenizer()) return;
    preview.text = decode(tokenizer(), tokens, /*skip_special=*/false);
    for (const Token token : tokens) {
      std::string text = tokenizer().token_bytes(token, /*skip_special=*/false);
      if (text.empty() || !tokenizer().token_bytes(token, /*skip_special=*/true).empty()) break;
      preview.special.push_back({std::move(text), {token}});
    }
  }

  // Takes those of a request: its own, and those that differ in the last token.
  void take_choices(const Request& request, size_t n_prompt, PromptPreview& preview) const {
    std::vector<Token> choice(request.tokens.begin() + static_cast<std::ptrdiff_t>(n_prompt),
                              request.tokens.end());
    preview.choices.push_back({text_behind(choice), choice});
    for (const Token last : request.alternatives) {
      choice.back() = last;
      preview.choices.push_back({text_behind(choice), choice});
    }
  }

  // Decodes tokens that do not begin a text.
  std::string text_behind(std::span<const Token> tokens) const {
    if (!model_.has_tokenizer()) return {};
    StreamDecoder decoder(tokenizer(), /*first_in_text=*/false, /*skip_special=*/false);
    std::string text;
    for (const Token token : tokens) text += decoder.push(token);
    return text + decoder.finish();
  }

  const Tokenizer& tokenizer() const { return *tokenizer_of(model_); }

  const Model& model_;
  EngineOptions engine_;  // that the prompts are for
  uint64_t n_;
  const std::function<void(const PromptPreview&)>& on_prompt_;
  PreviewSummary found_;
};

}  // namespace

Result<PreviewSummary> preview_batch(const Model& model, int context, std::istream& input,
                                     const BatchOptions& given, uint64_t n,
                                     const std::function<void(const PromptPreview&)>& on_prompt) {
  const Result<BatchOptions> settled = options_for_model(model, given);
  if (!settled) return settled.error();
  const BatchOptions& options = *settled;
  RecordScanner scanner(input, options.format, options.task);
  LineParser parser(model, context, options);
  Previewer previewer(model, context, n, on_prompt);
  while (!previewer.is_full()) {
    const std::optional<InputRecord> record = scanner.next();
    if (!record) break;
    const Result<std::unique_ptr<ask::Line>> line = parser.parse(*record);
    if (!line && parser.failed()) return line.error();
    if (!line) {
      ++previewer.found().bad_lines;
      if (options.on_problem)
        options.on_problem(
            fmt::format("{} {}: {}", record->place(), record->line, line.error().message()));
    } else if (*line) {
      previewer.add(record->line, **line);
    }
  }
  if (!scanner.failure().empty()) return io_error("cannot read the input: {}", scanner.failure());
  return previewer.found();
}

}  // namespace pando
