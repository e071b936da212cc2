#include "pando/output_form.h"

#include <algorithm>
#include <string_view>

#include "base/errors.h"

namespace pando {

Result<OutputForm> output_form(const std::filesystem::path& path) {
  if (path == "-" || path.native().starts_with("/dev/")) return OutputForm();
  OutputForm form;
  std::filesystem::path name = path.filename();
  if (name.extension() == ".gz") {
    form.gzip = true;
    name = name.stem();
  }
  const std::string ending = name.extension();
  constexpr std::string_view kLines[] = {"", ".jsonl", ".json", ".ndjson", ".txt"};
  if (ending == ".csv") {
    form.format = OutputFormat::kCsv;
  } else if (ending == ".tsv") {
    form.format = OutputFormat::kTsv;
  } else if (std::ranges::find(kLines, ending) == std::end(kLines)) {
    return invalid_argument(
        "'{}' ends in '{}', expected .jsonl, .json, .ndjson or .txt for JSON lines, or .csv or "
        ".tsv for a table, each optionally followed by .gz",
        path.string(), ending);
  }
  return form;
}

}  // namespace pando
