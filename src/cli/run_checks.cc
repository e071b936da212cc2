#include "cli/run_checks.h"

#include <fmt/format.h>

#include <istream>
#include <optional>
#include <string>
#include <string_view>

#include "cli/exit_code.h"
#include "pando/preview.h"

namespace pando::cli {
namespace {

// An error about 'thinking' names the option --thinking instead.
Status check_chat_options(const RunOptions& o, const Model& model) {
  const AnswerOptions& defaults = o.batch.defaults;
  Status status = check_chat(model, defaults);
  if (status && defaults.chat && defaults.chat_options.now && model.chat_day().empty())
    report_error("--date has no effect: the chat template does not ask for the date");
  if (status || status.error().field != "thinking") return status;
  Error error = status.error();
  constexpr std::string_view kField = "'thinking'", kOption = "--thinking";
  for (size_t at = 0; (at = error.message.find(kField, at)) != std::string::npos;
       at += kOption.size())
    error.message.replace(at, kField.size(), kOption);
  return error;
}

Status check_schema(const RunOptions& o, const Model& model) {
  const std::optional<TextForm>& form = o.batch.defaults.sampling.form;
  if (!form) return {};
  if (Status status = model.check_form(*form); !status) {
    const std::string& message = status.error().message;
    return Error{ErrorCode::kInvalidArgument,
                 (message.starts_with("schema") ? "--" : "--schema: ") + message};
  }
  for (const std::string& warning : model.form_warnings(*form))
    report_error(fmt::format("--schema: {}", warning));
  return {};
}

Status check_lines(const RunOptions& o, const Model& model, const FileInput& input) {
  if (!input.is_regular()) return {};
  for (const auto check : {check_answerable, check_template_of_all}) {
    FileInput lines;
    if (Status status = lines.open(o.input); !status) return status;
    std::istream stream(&lines);
    if (Status status = check(model, stream, o.batch); !status) return status;
  }
  return {};
}

void warn_of_template(const BatchOptions& batch) {
  const std::string warning = batch.task == BatchTask::kEmbed    ? template_warning(batch.embed)
                              : batch.task == BatchTask::kRerank ? template_warning(batch.rerank)
                                                                 : template_warning(batch.defaults);
  if (!warning.empty()) report_error(warning);
}

}  // namespace

Status check_run(const RunOptions& o, const Model& model, const FileInput& input) {
  Status status = check_chat_options(o, model);
  if (status) status = check_schema(o, model);
  if (status) status = check_lines(o, model, input);
  if (status) warn_of_template(o.batch);
  return status;
}

}  // namespace pando::cli
