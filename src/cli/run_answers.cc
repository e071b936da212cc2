#include "cli/run_answers.h"

#include <fmt/format.h>

#include <fstream>
#include <ostream>
#include <utility>

#include "cli/print_stderr.h"
#include "cli/run_settings.h"
#include "cli/task_nouns.h"

namespace pando::cli {
namespace {

std::ostream& nowhere() {
  static std::ofstream none("/dev/null");
  return none;
}

}  // namespace

Status may_write(const RunOptions& o, const OutputFile& output) {
  if (o.resume || o.overwrite || !output.is_regular()) return {};
  const Status status = AnswerFile::expect_empty(o.output);
  return status ? status : with_hint("--resume or --overwrite", status.error());
}

Result<Answers> open_answers(const RunOptions& o, const Engine& engine, OutputFile* output) {
  if (output == nullptr || !output->is_regular()) {
    std::ostream& stream = output == nullptr ? nowhere() : output->begin();
    return Answers{std::make_unique<AnswerStream>(stream, output != nullptr && o.form.gzip)};
  }
  const Result<AnswerFile::Settings> settings = run_settings(o, engine);
  if (!settings) return settings.error();
  Result<std::unique_ptr<AnswerFile>> file =
      o.resume ? AnswerFile::resume(o.output, *settings)
               : AnswerFile::create(o.output, *settings, o.overwrite);
  if (!file) return file.error();
  if (const uint64_t n = (*file)->n_cut_off(); n > 0)
    print_stderr("pando: cut off {} of '{}' that its journal does not confirm\n",
                 counted(n, o.form.gzip ? "bytes" : "complete lines"), o.output);
  if (!o.quiet && (*file)->n_earlier() > 0)
    print_stderr("resumed: {} already done\n",
                 counted((*file)->n_earlier(), nouns_of(o.batch.task).outputs));
  if (!(*file)->was_finished()) return Answers{std::move(*file)};
  if (!o.quiet)
    print_stderr("'{}' is finished; lines and questions without an answer: {}\n", o.output,
                 (*file)->n_left_out());
  Answers finished{nullptr, (*file)->n_left_out()};
  if ((*file)->summary().empty()) return finished;
  Result<BatchSummary> summary = read_finished_summary((*file)->summary());
  if (!summary) return summary.error();
  finished.summary = std::move(*summary);
  return finished;
}

}  // namespace pando::cli
