#include "cli/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/errors.h"
#include "cli/answer_options.h"
#include "cli/exit_code.h"
#include "cli/prompt_text.h"
#include "pando/values/sharing.h"

namespace pando::cli {
namespace {

const CLI::Validator& planner_name() {
  static const CLI::Validator known(
      [](const std::string& sharing) {
        const Result<SharingInfo> info = sharing_info(sharing);
        return info ? std::string() : message_of(info.error());
      },
      fmt::format("{{{}}}", fmt::join(sharing_names(), ",")), "");
  return known;
}

// "1%" or "0.01".
CLI::Validator share() {
  return CLI::Validator(
      [](std::string& text) {
        std::string number = text;
        const bool percent = number.ends_with('%');
        if (percent) number.pop_back();
        double value = 0;
        const bool good =
            CLI::detail::lexical_cast(number, value) && value > 0 && value <= (percent ? 100 : 1);
        if (!good) return fmt::format("{}, expected more than 0 and at most 100%", text);
        text = fmt::format("{}", percent ? value / 100 : value);
        return std::string();
      },
      "", "");
}

// A whole number that is not 0.
CLI::Validator at_least_one() {
  return CLI::Validator(
      [](const std::string& text) {
        return whole_number(text, 1) ? std::string() : fmt::format("{}, expected at least 1", text);
      },
      "", "");
}

// Adds what asking takes, for both commands.
void add_asking(CLI::App& app, RunOptions& o) {
  add_engine_options(app, o);
  add_chat_template_option(app, o.model);
  add_tool_format_option(app, o.model);
  add_answer_options(app, o.batch.defaults, o.model.engine.seed);
  add_generation_options(app, o.generation, "Sampling (input lines can override)");
}

// The techniques of the laboratory only where it is there.
std::string sharing_help() {
  std::string help = "tree, packed (nothing shared), prefix_cached";
  const std::vector<std::string> names = sharing_names();
  constexpr size_t kOwn = 3;
  if (names.size() == kOwn) return help;
  return fmt::format(
      "{}; or a published technique, to compare:\n"
      "{}; write its options\n"
      "after a colon, such as radix:threshold=0.9 (page \"Techniques of sharing\")",
      help, fmt::join(names.begin() + kOwn, names.end(), ", "));
}

}  // namespace

InputFormat format_of(const std::string& path, const std::string& format) {
  const std::filesystem::path input(path);
  const bool is_packed = input.extension() == ".gz" || input.extension() == ".zst";
  const std::string ending = (is_packed ? input.stem() : input).extension();
  const auto is = [&](const char* name) {
    return format == name || (format == "auto" && ending == fmt::format(".{}", name));
  };
  return is("csv") ? InputFormat::kCsv : is("tsv") ? InputFormat::kTsv : InputFormat::kJsonLines;
}

IsGiven given_to(const CLI::App& app) {
  return [&app](const std::string& name) {
    const CLI::Option* option = app.get_option_no_throw(name);
    return option != nullptr && option->count() > 0;
  };
}

void add_engine_options(CLI::App& app, RunOptions& o) {
  add_input_options(app, o);
  add_model_options(app, o.model);
  add_parallel_option(app, o.model);
  app.add_option("--sharing", o.model.engine.sharing, sharing_help())
      ->check(planner_name())
      ->capture_default_str();
  app.add_option("--max-running", o.model.engine.max_running,
                 "Maximum answers computed at a time. Fewer give results sooner and lose less if "
                 "the run is killed; more are faster overall")
      ->check(at_least(1))
      ->capture_default_str();
  CLI::Option* quiet = app.add_flag(
      "--quiet", o.quiet, "Show only problems, and the results of --compare and of verifying");
  app.add_flag(
         "--verbose", o.verbose,
         "Report what each answer shared, what was evicted or preempted and why, and every bad\n"
         "input line and what is wrong with it")
      ->excludes(quiet);
}

void add_input_options(CLI::App& app, RunOptions& o) {
  const bool has_tables = takes_tables(o.batch.task);
  app.add_option("--input", o.input,
                 has_tables ? "Input file: JSON lines, a JSON array, CSV or TSV, or - for "
                              "standard input; may be compressed with gzip or zstd"
                            : "Input file: JSON lines or a JSON array, or - for standard input; "
                              "may be compressed with gzip or zstd")
      ->check(not_empty())
      ->required();
  if (has_tables)
    app.add_option("--format", o.format, "jsonl, csv or tsv; auto: from the name of --input")
        ->check(one_of({"auto", "jsonl", "csv", "tsv"}))
        ->capture_default_str();
  app.add_option("--columns", o.columns,
                 "Columns or fields with other names: question=Q,context=Doc reads the question "
                 "from Q and the context from Doc")
      ->allow_extra_args(false)
      ->type_name("NAME=COLUMN,...");
  const bool splits = o.batch.task == BatchTask::kAnswer;
  std::vector<std::string> ways = {"error", "skip", "truncate-middle"};
  if (splits) ways.emplace_back("split");
  app.add_option("--too-long", o.too_long,
                 splits
                     ? "What to do with a prompt that does not fit: error, skip, truncate-middle "
                       "(cut the middle of the context), or split (ask about each part)"
                     : "What to do with a text that does not fit: error, skip, or truncate-middle")
      ->check(one_of(ways))
      ->capture_default_str();
}

void add_output_options(CLI::App& app, RunOptions& o) {
  app.add_option_function<std::string>(
         "--dry-run", [&o](const std::string& n) { o.dry_run = whole_number(n).value_or(1); },
         "Print the first N prompts (default: one) exactly as the model gets them, with their "
         "token\n"
         "counts and what --too-long cuts. Loads no weights, computes and writes nothing")
      ->expected(0, 1)
      ->type_name("[N]")
      ->check(at_least_one());
  app.add_option(
         "--output", o.output,
         "Output file, or - for standard output. The extension sets the format: .csv and .tsv are "
         "tables; .jsonl, .json, .ndjson, .txt or none JSON lines; .gz after it compresses")
      ->check(not_empty())
      ->capture_default_str();
  CLI::Option* resume = app.add_flag(
      "--resume", o.resume, "Continue an interrupted run, or start it: keeps what is in --output");
  app.add_flag("--overwrite", o.overwrite, "Start over: discards what is in --output")
      ->excludes(resume);
  app.add_flag("--ordered", o.batch.ordered, "Write answers in the order of the input");
  app.add_option("--report", o.report,
                 "File for the run's report, as JSON; overwrites only an earlier report")
      ->check(not_empty());
  app.add_option("--progress-log", o.progress_log,
                 "File to which a line of JSON is added every ten seconds: answers, tokens, rate, "
                 "time left")
      ->check(not_empty());
  app.add_option(
         "--compare", o.compare,
         fmt::format("Run again with this sharing; compares speed and every bit of the results{}",
                     o.batch.task == BatchTask::kAnswer ? "; answers get a logits_hash" : ""))
      ->check(planner_name());
}

void add_run_options(CLI::App& app, RunOptions& o) {
  add_asking(app, o);
  add_output_options(app, o);
  app.add_option("--with", o.with,
                 "Extra fields, or columns, of each answer, separated by commas: question (its "
                 "text), answers (the references), scores, prompt (as the model got it)")
      ->delimiter(',')
      ->check(one_of({"question", "answers", "scores", "prompt"}));
  app.add_option("--group-by", o.batch.group_by,
                 "Also show scores for each value of this metadata field")
      ->check(not_empty("a name"));
  app.add_option("--show", o.show,
                 "Print this many questions with their answers at the end: the first to be "
                 "answered, or with --ordered the first in the input")
      ->check(expect("0 or more", [](double x) { return x >= 0; }));
  app.add_option("--verify", o.verify,
                 "Ask part of the questions again, such as 1%, alone and with nothing shared, and "
                 "compare every bit of their logits")
      ->transform(share());
  app.footer(
      std::string(kEscapesHelp) +
      "Examples:\n"
      "  pando run --model MODEL --input questions.jsonl --output answers.jsonl\n"
      "  pando run --model MODEL --input questions.jsonl --output answers.jsonl --resume\n"
      "Input lines, freely mixed:\n"
      "  {\"id\": \"d1\", \"context\": \"...\", \"questions\": [\"...\", {\"text\": \"...\", "
      "\"answers\": [\"...\"]}]}\n"
      "  {\"id\": \"m1\", \"context\": \"...\", \"question\": \"...\", \"choices\": [\"yes\", "
      "\"no\"]}\n"
      "  {\"id\": \"p1\", \"prompt\": \"...\", \"metadata\": {\"any\": \"thing\"}}\n"
      "  {\"id\": \"c1\", \"messages\": [{\"role\": \"user\", \"content\": \"...\"}], "
      "\"thinking\": false}\n"
      "  {\"custom_id\": \"b1\", \"method\": \"POST\", \"url\": \"/v1/chat/completions\", "
      "\"body\": {...}}\n"
      "Columns of tables: context and question, or prompt; id, answer, choices, options.\n"
      "Exit codes: 0 all done, 1 failed, 2 wrong usage, 3 some not answered, 130 or 143 stopped "
      "by\n"
      "Ctrl-C or SIGTERM: answers in progress are finished, and --resume continues the run.");
}

void add_verify_options(CLI::App& app, RunOptions& o) {
  o.output = "/dev/null";
  o.verify = 0.05;
  add_asking(app, o);
  app.get_option("--input")->required(false);
  app.add_option("--sample", o.verify, "Part of the questions to ask again")
      ->transform(share())
      ->default_str("5%");
  app.footer(std::string(kEscapesHelp) +
             "Answers the questions in the input together, sharing what they can. Then asks some "
             "of them again,\n"
             "one by one with nothing shared, and compares every bit of their logits.\n"
             "With --device alone: computes cases of each kernel of the device, and compares every "
             "bit with\nplain loops.\n"
             "Exit codes: 0 all are equal, 1 one differs or none was compared, 3 some questions "
             "were not checked.\n"
             "Examples:\n"
             "  pando verify --model MODEL --input questions.jsonl --sample 10%\n"
             "  pando verify --device opencl");
}

namespace {

// "NAME=COLUMN,NAME=COLUMN": a comma ends a column's name only where another pair follows.
Status read_columns(const std::vector<std::string>& given,
                    std::map<std::string, std::string>& columns) {
  for (const std::string& text : given)
    for (size_t at = 0; at < text.size();) {
      const size_t equals = text.find('=', at);
      if (equals == std::string::npos || equals == at)
        return invalid_argument("--columns: '{}', expected NAME=COLUMN such as question=Q",
                                text.substr(at));
      const size_t next = text.find('=', equals + 1);
      const size_t comma = next == std::string::npos ? next : text.rfind(',', next);
      const size_t end = std::min(comma > equals ? comma : text.size(), text.size());
      const std::string name = text.substr(at, equals - at),
                        column = text.substr(equals + 1, end - equals - 1);
      const auto is_taken = [&](const auto& other) { return other.second == column; };
      if (columns.contains(name) || std::ranges::any_of(columns, is_taken))
        return invalid_argument(
            "--columns: '{}' or '{}' appears twice, expected each name and column once", name,
            column);
      columns[name] = column;
      at = end + 1;
    }
  return {};
}

// Refuses --input-type where the prompt that it names is not used.
Status check_input_type(const EmbedOptions& embed) {
  if (embed.input_type.empty()) return {};
  if (!embed.instruction.empty())
    return invalid_argument("--input-type is given with --instruction, expected one of them");
  if (embed.prompt_template.find("{instruction}") == std::string::npos)
    return invalid_argument(
        "--input-type is given with a template without {{instruction}}, expected one of them");
  return {};
}

}  // namespace

Status settle(RunOptions& o) {
  const AnswerOptions& asked = o.batch.defaults;
  if (asked.sampling.max_tokens == 0 && !asked.prompt_logprobs)
    return invalid_argument("--max-tokens: 0, expected at least 1, or 0 with --prompt-logprobs");
  if (o.batch.task == BatchTask::kRerank)
    if (Status status = check_rerank_options(o.batch.rerank); !status)
      return in_file("--template", with_code(ErrorCode::kInvalidArgument, status.error()));
  if (o.batch.task == BatchTask::kEmbed)
    if (Status status = check_input_type(o.batch.embed); !status) return status;
  if (asked.chat_options.thinking && !asked.chat)
    return invalid_argument("--thinking is given without --chat, expected both");
  if (!asked.choices.empty() && asked.sampling.n != 1)
    return invalid_argument("--n: {}, expected 1 with --choice", asked.sampling.n);
  if (!asked.choices.empty() && asked.prompt_logprobs)
    return invalid_argument("--prompt-logprobs is given with --choice, expected one of them");
  const std::string text = asked.template_text();
  if (Status status = check_template(asked); !status) return status;
  if (!asked.instruction.empty() && !asked.chat && text.find("{instruction}") == std::string::npos)
    return invalid_argument("the template has no {{instruction}} in it for --instruction");
  if (o.resume && o.output == "-")
    return invalid_argument("--resume continues a file, expected one for --output");
  if (o.resume && (o.verify > 0 || !o.compare.empty()))
    return invalid_argument("--resume is given with {}, expected one of them",
                            o.compare.empty() ? "--verify" : "--compare");
  if (o.verify > 0 || !o.compare.empty()) o.batch.defaults.logits_hash = true;
  const Result<OutputForm> form = output_form(o.output);
  if (!form) return in_file("--output", with_code(ErrorCode::kInvalidArgument, form.error()));
  o.form = *form;
  o.batch.output = form->format;
  for (const std::string& name : o.with) {
    ExtraFields& with = o.batch.with;
    (name == "question"  ? with.question
     : name == "answers" ? with.answers
     : name == "scores"  ? with.scores
                         : with.prompt) = true;
  }
  if (Status status = read_columns(o.columns, o.batch.columns); !status) return status;
  o.batch.format = format_of(o.input, o.format);
  if (o.batch.format != InputFormat::kJsonLines && !takes_tables(o.batch.task))
    return invalid_argument("'{}' has the name of a table, expected JSON lines", o.input);
  o.batch.too_long = o.too_long == "skip"              ? TooLong::kSkip
                     : o.too_long == "truncate-middle" ? TooLong::kTruncateMiddle
                     : o.too_long == "split"           ? TooLong::kSplit
                                                       : TooLong::kError;
  return {};
}

}  // namespace pando::cli
