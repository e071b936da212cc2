#include "cli/dry_run.h"

#include <fmt/format.h>

#include <istream>
#include <memory>
#include <string>

#include "cli/exit_code.h"
#include "cli/grouped_messages.h"
#include "cli/report.h"
#include "cli/run_checks.h"
#include "cli/run_settings.h"
#include "cli/task_nouns.h"
#include "pando/file_input.h"
#include "pando/preview.h"

namespace pando::cli {
namespace {

using Piece = PromptPreview::Piece;

// Keeps line ends and tabs. Escapes other control characters, which would act on a terminal.
std::string readable(const std::string& text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F
      shown += fmt::format("\\u{:04x}", next);
      ++i;
    } else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  return shown;
}

std::string beginning_of(const PromptPreview& prompt) {
  if (prompt.text.empty()) return "";
  if (prompt.special.empty()) return ", starts with no special token";
  std::string names;
  for (const Piece& piece : prompt.special)
    names +=
        fmt::format("{}{} ({})", names.empty() ? "" : ", ", readable(piece.text), piece.tokens[0]);
  return ", starts with " + names;
}

std::string choices_of(const PromptPreview& prompt) {
  std::string shown;
  for (const Piece& choice : prompt.choices)
    shown += fmt::format("{}{} ({})", shown.empty() ? "scored after it: " : ", ",
                         quoted(choice.text), counted(choice.tokens.size(), "tokens"));
  return shown.empty() ? shown : shown + "\n";
}

void print_prompt(const PromptPreview& prompt) {
  const std::string place = fmt::format("line {}, '{}'", prompt.line, readable(prompt.id));
  const std::string cut = prompt.cut.empty() ? "" : fmt::format("cut: {}\n", prompt.cut);
  if (!prompt.refused.empty())
    return fmt::print("== {}: cannot be run: {}\n{}\n", place, prompt.refused, cut);
  const std::string text = prompt.text.empty() ? fmt::format("{}", fmt::join(prompt.tokens, " "))
                                               : readable(prompt.text);
  fmt::print("== {}: {}{}\n{}{}\n== end of the prompt\n{}\n", place,
             counted(prompt.tokens.size(), "tokens"), beginning_of(prompt), cut, text,
             choices_of(prompt));
}

}  // namespace

int print_prompts(RunOptions o) {
  if (Status status = settle(o); !status) return report_error(status.error()), kUsage;
  FileInput input;
  if (Status status = input.open(o.input); !status) return report_error(status.error());
  const Status defaults = take_generation_config(o);
  if (!defaults && o.generation.required) return refuse(defaults.error());
  const Result<std::shared_ptr<const Model>> model = load_tokenizer(o.model, o.quiet);
  if (!model) return refuse(model.error());
  if (!defaults) return refuse(defaults.error());
  const Result<int> context = context_of(**model, o.model);
  if (!context) return refuse(context.error());
  if (Status status = check_run(o, **model, input); !status) return refuse(status.error());
  GroupedMessages messages([](const std::string& message) { report_error(message); }, o.verbose);
  BatchOptions options = o.batch;
  options.on_problem = [&](const std::string& message) { messages.add(message); };
  std::istream stream(&input);
  const Result<PreviewSummary> found =
      preview_batch(**model, *context, stream, options, o.dry_run, print_prompt);
  messages.end();
  if (!found) return report_error(found.error());
  if (found->prompts + found->bad_lines == 0) report_error(no_records_text(options.format));
  return found->bad_lines + found->refused > 0 ? kIncomplete : kOk;
}

}  // namespace pando::cli
