#include "cli/run_checks.h"

#include <fmt/format.h>

#include <istream>
#include <optional>
#include <string>

#include "base/errors.h"
#include "cli/exit_code.h"
#include "pando/preview.h"

namespace pando::cli {
namespace {

Status check_schema(const RunOptions& o, const Model& model) {
  const std::optional<TextForm>& form = o.batch.defaults.sampling.form;
  if (!form) return {};
  if (Status status = model.check_form(*form); !status) {
    Error error = with_code(ErrorCode::kInvalidArgument, status.error());
    error.place.file = "--schema";
    return error;
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

}  // namespace

Status check_run(const RunOptions& o, const Model& model, const FileInput& input) {
  Status status = check_chat(model, o.batch.defaults);
  if (status) status = check_schema(o, model);
  return status ? check_lines(o, model, input) : status;
}

}  // namespace pando::cli
