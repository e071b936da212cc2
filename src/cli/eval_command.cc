// `pando eval`: scores an output again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <istream>
#include <memory>

#include "base/counted.h"
#include "base/errors.h"
#include "cli/commands.h"
#include "cli/eval_text.h"
#include "cli/grouped_messages.h"
#include "cli/output_files.h"
#include "cli/print_stderr.h"
#include "cli/run_options.h"
#include "pando/evaluate.h"
#include "pando/file_input.h"

namespace pando::cli {
namespace {

struct EvalCommandOptions {
  std::string answers;
  std::string format = "auto";
  std::string plot;
  bool json = false, verbose = false;
  EvaluateOptions evaluate;
};

// A drawing takes the place of another one, and of nothing else.
Status may_hold_plot(const std::string& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::is_regular_file(path, error) ||
      std::filesystem::is_empty(path, error))
    return {};
  std::ifstream file(path, std::ios::binary);
  std::string beginning(4, '\0');
  if (file.read(beginning.data(), 4) && beginning == "<svg") return {};
  return invalid_argument(
      "--plot: '{}' is not an SVG drawing and would be overwritten, expected an earlier drawing, "
      "an empty file or a new name",
      path);
}

// Says what was asked for and is not among the scores.
void tell_of_missing(const Evaluation& result, const EvaluateOptions& options) {
  if (result.without_reference > 0)
    print_stderr("pando: not scored: {} without a reference in '{}'\n",
                 counted(result.without_reference, "answers"), options.reference);
  for (const uint64_t k : options.pass_at) {
    const std::string name = fmt::format("pass@{}", k);
    if (std::ranges::find(result.scores, name, &EvaluatedScore::statistic) == result.scores.end())
      print_stderr("pando: no {}: no question has {} answers\n", name, k);
  }
  const auto is_of_group = [](const EvaluatedScore& score) { return !score.group.empty(); };
  if (!options.by.empty() && std::ranges::none_of(result.scores, is_of_group))
    print_stderr("pando: no scored answer has '{}'\n", options.by);
}

int evaluate_file(EvalCommandOptions& o) {
  EvaluateOptions& options = o.evaluate;
  options.format = format_of(o.answers, o.format);
  if (Status status = may_hold_plot(o.plot); !status) return report_error(status.error());
  NewFile plot;
  if (!o.plot.empty())
    if (Status status = plot.open(o.plot); !status) return report_error(status.error());
  FileInput input;
  if (Status status = input.open(o.answers, "file of answers"); !status)
    return report_error(status.error());
  GroupedMessages messages([](const std::string& message) { report_error(message); }, o.verbose);
  options.on_problem = [&](const std::string& message) { messages.add(message); };
  std::istream stream(&input);
  const Result<Evaluation> result = evaluate(stream, options);
  messages.end();
  if (!result) return refuse(result.error());
  if (!input.failure().empty()) return report_error("cannot read the answers: " + input.failure());
  if (result->scores.empty() && result->without_reference > 0)
    return report_error(fmt::format(
        "no answer has a reference in '{}' (hint: `pando run --with answers` writes them)",
        options.reference));
  if (result->scores.empty())
    return report_error(fmt::format("'{}' has no answers to score", o.answers));
  tell_of_missing(*result, options);
  fmt::print("{}", o.json ? eval_json(*result) + "\n" : eval_table(*result));
  if (!o.plot.empty()) {
    plot.write(eval_svg(*result, one_line(std::filesystem::path(o.answers).filename().string())));
    if (Status status = plot.keep(); !status) return report_error(status.error());
  }
  return result->bad_lines > 0 ? kIncomplete : kOk;
}

void add_fields(CLI::App& app, EvaluateOptions& options) {
  const CLI::Validator name = not_empty("a name");
  app.add_option("--answer", options.answer, "Field with the answer")
      ->check(name)
      ->capture_default_str();
  app.add_option("--reference", options.reference,
                 "Field with the reference answer, or a list of them; the best match counts")
      ->check(name)
      ->capture_default_str();
  app.add_option("--question", options.question,
                 "Answers with the same value of this field answer one question (default: those "
                 "with the same id and question_id)")
      ->check(name);
  app.add_option("--by", options.by, "Also show scores for each value of this field")->check(name);
  app.add_option("--cluster", options.cluster,
                 "Field whose values divide the questions into clusters, such as documents, for "
                 "the standard errors")
      ->check(name);
}

}  // namespace

Command add_eval(CLI::App& app) {
  auto options = std::make_shared<EvalCommandOptions>();
  EvaluateOptions& evaluate = options->evaluate;
  const std::span<const std::string_view> metrics = metric_names();
  app.add_option("answers", options->answers,
                 "Output of `pando run --with answers`, or other JSON lines or a table with "
                 "answers and references; - for standard input; may be compressed")
      ->check(not_empty())
      ->required();
  app.add_option("--format", options->format, "jsonl, csv or tsv; auto: from the name of the file")
      ->check(one_of({"auto", "jsonl", "csv", "tsv"}))
      ->capture_default_str();
  CLI::Option* metric =
      app.add_option("--metric", evaluate.metrics,
                     "Scores to compute, separated by commas; number: the last number of answer "
                     "and reference; regex: the reference is a regular expression")
          ->delimiter(',')
          ->check(one_of({metrics.begin(), metrics.end()}))
          ->default_str("exact_match,token_f1,rouge_l");
  CLI::Option* fields =
      app.add_option("--score-field", evaluate.score_fields,
                     "Field that has a score already (true, false or 0 to 1), such as that of a "
                     "test that ran; may be repeated. Without --metric it is the only score")
          ->allow_extra_args(false)
          ->check(not_empty("a name"));
  add_fields(app, evaluate);
  app.add_option("--extract", evaluate.extract,
                 "Regular expression (Oniguruma); its last match in an answer is scored instead "
                 "of the answer, and nothing if there is none")
      ->check(not_empty("an expression"));
  app.add_flag("--majority", evaluate.majority,
               "Also score the most frequent answer to each question; of several the first");
  app.add_option("--pass-at", evaluate.pass_at,
                 "Also compute pass@k, for these k, separated by commas: the probability that one "
                 "of k answers is right")
      ->delimiter(',')
      ->check(at_least(1));
  app.add_flag("--json", options->json, "Print JSON");
  app.add_option("--plot", options->plot,
                 "File for a drawing (SVG) of the scores with 95% confidence intervals")
      ->check(not_empty());
  app.add_flag("--verbose", options->verbose, "Report every bad line and what is wrong with it");
  app.footer(
      "Fields may be paths, such as metadata.subject or response.body.choices.0.message.content. "
      "A field that\n"
      "a line lacks is looked for in its metadata.\n"
      "Exit codes: 0 all scored, 1 failed, 2 wrong usage, 3 some lines are bad.\n"
      "Examples:\n"
      "  pando run --input questions.jsonl --output answers.jsonl --with answers\n"
      "  pando eval answers.jsonl --by subject --plot scores.svg\n"
      "  pando eval samples.jsonl --metric number --majority --pass-at 1,8");
  return [options, metric, fields] {
    if (metric->count() == 0 && fields->count() > 0) options->evaluate.metrics.clear();
    return evaluate_file(*options);
  };
}

}  // namespace pando::cli
