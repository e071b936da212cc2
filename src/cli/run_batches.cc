#include "cli/run_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/json.h"
#include "base/write_file.h"
#include "cli/comparison.h"
#include "cli/dry_run.h"
#include "cli/exit_code.h"
#include "cli/faster_types.h"
#include "cli/first_answers.h"
#include "cli/grouped_messages.h"
#include "cli/output_files.h"
#include "cli/print_stderr.h"
#include "cli/progress.h"
#include "cli/progress_log.h"
#include "cli/report.h"
#include "cli/run_answers.h"
#include "cli/run_checks.h"
#include "cli/run_settings.h"
#include "cli/stop_notice.h"
#include "cli/stop_signal.h"
#include "cli/task_nouns.h"
#include "cli/verify_answers.h"
#include "pando/file_input.h"
#include "pando/values/sharing.h"

namespace pando::cli {
namespace {

constexpr double kLeastTimed = 1;   // seconds
constexpr double kLeastMass = 0.1;  // the least mean of p(yes) + p(no) without a warning

class BatchRun {
 public:
  explicit BatchRun(const RunOptions& options) : o_(options) {}

  int operator()() {
    if (Status status = settle(o_); !status) return usage(message_of(status.error()));
    FileInput input;
    if (Status status = input.open(o_.input); !status) return report_error(status.error());
    if ((!o_.compare.empty() || o_.verify > 0) && !input.is_regular())
      return usage(fmt::format("{} reads the input twice, expected a file for --input, not a pipe",
                               o_.compare.empty() ? "verifying" : "--compare"));
    const bool exact =
        is_exact(o_.model.engine.sharing) && (o_.compare.empty() || is_exact(o_.compare));
    if (!o_.compare.empty()) comparison_.emplace(o_.batch.task, exact);
    if (o_.verify > 0 && !exact)
      return usage(
          fmt::format("verifying compares every bit, but sharing '{}' does not keep every bit",
                      o_.model.engine.sharing));
    OutputFile output, report;
    if (Status status = output.open(o_.output); !status) return report_error(status.error());
    if (o_.resume && !output.is_regular())
      return usage(fmt::format(
          "--output is '{}', expected a regular file, because --resume continues one", o_.output));
    if (Status status = may_write(o_, output); !status) return report_error(status.error());
    if (!o_.report.empty()) {
      if (Status status = may_hold_report(o_.report); !status) return report_error(status.error());
      if (Status status = report.open(o_.report); !status) return report_error(status.error());
    }
    if (!o_.progress_log.empty())
      if (Status status = log_.open(o_.progress_log); !status) return report_error(status.error());
    const Status defaults = take_generation_config(o_);
    if (!defaults && o_.generation.required) return refuse(defaults.error());
    Result<std::shared_ptr<const Model>> model = load_model(o_.model, o_.quiet);
    if (!model) return refuse(model.error());
    if (!defaults) return refuse(defaults.error());
    if (Status status = prepare_task(**model); !status) return usage(message_of(status.error()));
    if (Status status = check_run(o_, **model, input); !status) return refuse(status.error());

    RunRecord first{o_.model.engine.sharing, {}}, second{o_.compare, {}};
    const int code = run(*model, first, input, &output, o_.quiet);
    if (runs_.empty()) return code;
    if (!o_.compare.empty() && !first.summary.stopped) {
      FileInput again;
      if (Status status = again.open(o_.input); !status) return report_error(status.error());
      const int second_code = run(*model, second, again, nullptr, true);
      if (runs_.size() == 1) return second_code;
    }
    print_summary(first, second);
    if (Status status = write_report(report, first.was_finished); !status)
      return report_error(status.error());
    if (runs_.front().summary.stopped || runs_.back().summary.stopped) return stopped(first);
    if (comparison_ && first.summary.answers == 0) return code == kOk ? kFailed : code;
    if (comparison_ && exact && comparison_->n_different() > 0)
      return report_error(
          fmt::format("{} of {} and {} differ", nouns_.compared, first.sharing, second.sharing));
    if (comparison_ && exact && comparison_->n_alone() > 0)
      return report_error(fmt::format("{} and {} did not answer the same questions", first.sharing,
                                      second.sharing));
    return o_.verify > 0 ? verify_answers(o_, *model, hashes_, n_asked_, first.summary, code)
                         : code;
  }

 private:
  // Finds what is wrong with the options for this model; fills in what they leave to its files.
  Status prepare_task(const Model& model) {
    if (o_.batch.task == BatchTask::kEmbed) {
      const EmbedOptions asked = o_.batch.embed;
      Result<EmbedOptions> embed = embed_options_for(model, asked);
      if (!embed) return embed.error();
      o_.batch.embed = std::move(*embed);
      const EmbedOptions& e = o_.batch.embed;
      const bool may_cut = e.max_tokens > 0 && e.max_tokens < model.info().max_positions;
      const bool files_decide = (asked.pooling == Pooling::kNone && e.pooling != Pooling::kLast) ||
                                (!asked.normalise && !e.normalise.value_or(true)) ||
                                (!asked.prompt && !e.prompt.value_or("").empty()) ||
                                !e.include_prompt || may_cut;
      if (files_decide && !o_.quiet)
        print_stderr(
            "pando: settings from the model's files: the pooling {}{}, {}{}{}\n", pooling_name(e),
            e.include_prompt ? "" : " without its prompt",
            e.normalise.value_or(true) ? "scaled to length 1" : "not scaled",
            e.prompt.value_or("").empty()
                ? ""
                : fmt::format("; {} before each text", found_text(Json(*e.prompt))),
            may_cut ? fmt::format("; longer texts are cut to {} tokens", e.max_tokens) : "");
    }
    if (o_.batch.task == BatchTask::kClassify) {
      Result<ClassifyOptions> classify = classify_options_for(model, o_.batch.classify);
      if (!classify) return classify.error();
      o_.batch.classify = std::move(*classify);
    }
    if (o_.batch.task == BatchTask::kRerank) return prepare_rerank(model);
    const bool needs_logits =
        o_.batch.task == BatchTask::kAnswer || o_.batch.task == BatchTask::kScore;
    return needs_logits ? check_logits(model) : Status();
  }

  static Status check_logits(const Model& model) {
    if (model.info().gives_logits) return {};
    return make_error(ErrorCode::kUnsupported,
                      "the model's tokens see both ways, expected a model that writes text");
  }

  Status prepare_rerank(const Model& model) {
    const RerankOptions asked = o_.batch.rerank;
    Result<RerankOptions> rerank = rerank_options_for(model, asked);
    if (!rerank) return rerank.error();
    o_.batch.rerank = std::move(*rerank);
    const RerankOptions& r = o_.batch.rerank;
    if (r.classifier) return {};
    if (Status status = check_logits(model); !status) return status;
    std::string said;
    const auto say = [&](const char* name, const std::optional<std::string>& given,
                         const std::optional<std::string>& taken, const std::string& otherwise) {
      if (given || *taken == otherwise) return;
      said += fmt::format("{}{} {}", said.empty() ? "" : ", ", name, found_text(Json(*taken)));
    };
    say("instruction", asked.instruction, r.instruction, RerankOptions::default_instruction());
    say("yes", asked.yes, r.yes, "yes");
    say("no", asked.no, r.no, "no");
    if (!said.empty() && !o_.quiet)
      print_stderr("pando: settings from the model's files: {}\n", said);
    // Any pair shows whether yes and no are two answers.
    const auto pair = rerank_requests(model, o_.batch.rerank, "a", "b");
    return pair ? Status() : pair.error();
  }

  static int usage(const std::string& message) {
    report_error(message);
    return kUsage;
  }

  // An exit code. A run that came to an end, or was stopped, is in runs_.
  int run(const std::shared_ptr<const Model>& model, RunRecord& record, FileInput& input,
          OutputFile* output, bool quiet) {
    EngineOptions options = engine_options(o_.model);
    options.sharing = record.sharing;
    Result<std::unique_ptr<Engine>> engine = Engine::open(model, options);
    if (!engine) return refuse(engine.error());
    const Result<Answers> answers = open_answers(o_, **engine, output);
    if (!answers) return report_error(answers.error());
    if (answers->sink == nullptr) return take_finished(*answers, record, **engine);

    const bool is_second = !runs_.empty();
    if (!is_second) tell_of_faster_types((*engine)->model(), (*engine)->options());
    const StopSignal stop;
    BatchOptions batch = o_.batch;
    batch.stop = &stop.flag();
    ProgressLine progress(quiet, nouns_.outputs);
    StopNotice notice(stop, progress, nouns_.outputs);
    EngineStats printed;
    BatchProgress last_progress;
    if (!is_second) log_.update(last_progress);
    batch.on_progress = [&](const BatchProgress& now) {
      if (o_.verbose) print_memory(now.stats, printed, (*engine)->options().kv_memory);
      notice.update(now);
      progress.update(now);
      last_progress = now;
      if (!is_second) log_.update(now);
    };
    GroupedMessages messages(
        [&](const std::string& message) {
          progress.clear();
          report_error(message);
        },
        o_.verbose);
    batch.on_problem = [&](const std::string& message) {
      const bool is_new = comparison_ ? problems_.insert(message).second : true;
      if (is_new || !is_second) messages.add(message);
    };
    batch.on_answer = [&](const BatchAnswer& answer) {
      if (comparison_) comparison_->add(is_second ? 1 : 0, answer);
      if (!is_second && answer.key.choice == 0) ++n_asked_;
      if (!is_second && wants_hash(o_, answer.key, hashes_))
        hashes_.emplace(answer.key, answer.completion.logits_hash);
      if (o_.verbose) {
        progress.clear();
        const Completion& c = answer.completion;
        const size_t n_choices = c.choice_logprobs.size();
        print_stderr("{}: {}, {} of them shared; {}\n", answer.id,
                     counted(static_cast<uint64_t>(c.prompt_tokens), "prompt tokens"),
                     c.shared_tokens,
                     n_choices == 0 ? fmt::format("{} generated", c.tokens.size())
                                    : fmt::format("chosen from {}", counted(n_choices, "texts")));
      }
      if (!quiet) first_answers_.add(answer);
    };
    std::istream stream(&input);
    Result<BatchSummary> summary =
        run_batch(**engine, stream, input.n_bytes(), *answers->sink, batch);
    progress.clear();
    messages.end();
    if (!is_second) end_log(summary, last_progress);
    if (!summary) {
      if (o_.output == "-" && summary.error().code == ErrorCode::kIo && reader_is_gone())
        end_as_by_sigpipe();
      return report_error(summary.error());
    }
    if (o_.verbose) print_memory(summary->stats, printed, (*engine)->options().kv_memory);
    record.summary = *summary;
    signal_ = stop.signal();
    options_ = (*engine)->options();
    runs_.push_back(record);
    last_report_ = report_json(runs_.front(), is_second ? &runs_.back() : nullptr, **engine, o_);
    return summary->bad_lines + summary->failed > 0 ? kIncomplete : kOk;
  }

  void tell_of_faster_types(const Model& model, const EngineOptions& options) const {
    const bool is_chosen = o_.given("--weights") || o_.given("--kv-dtype");
    if (o_.quiet || is_chosen || o_.batch.task != BatchTask::kAnswer) return;
    const std::string said = faster_types(model.info(), options.isa);
    if (!said.empty()) print_stderr("pando: {}\n", said);
  }

  void end_log(const Result<BatchSummary>& summary, BatchProgress last) {
    if (summary) {
      last.answers_done = summary->answers;
      last.seconds = summary->seconds;
      last.stats = summary->stats;
      last.seconds_left = std::nullopt;
      if (!summary->stopped) last.share_done = 1;
    }
    last.answers_open = 0;
    log_.end(!summary ? "failed" : summary->stopped ? "stopped" : "finished", last);
    if (!log_.status()) report_error(log_.status().error());
  }

  // A run that is finished already: what it kept of its summary, for scores and report.
  int take_finished(const Answers& answers, RunRecord& record, const Engine& engine) {
    const int code = answers.n_left_out > 0 ? kIncomplete : kOk;
    if (!answers.summary) {
      if (!o_.report.empty() && !o_.quiet)
        print_stderr(
            "pando: no report is written, because the journal of the finished run has no "
            "summary\n");
      return code;
    }
    record.summary = *answers.summary;
    record.was_finished = true;
    options_ = engine.options();
    runs_.push_back(record);
    last_report_ = report_json(record, nullptr, engine, o_);
    return code;
  }

  Status write_report(OutputFile& report, bool was_finished) const {
    if (o_.report.empty()) return {};
    if (was_finished && holds_fuller_report(o_.report, last_report_)) {
      if (!o_.quiet) print_stderr("'{}' is the report of this run and stays as it is\n", o_.report);
      return {};
    }
    return write_text(report.begin(), last_report_ + '\n', fmt::format("report '{}'", o_.report));
  }

  // Prints what happened since it was printed last.
  static void print_memory(const EngineStats& now, EngineStats& printed, size_t kv_memory) {
    const uint64_t n_evicted = now.evicted_pages - printed.evicted_pages,
                   n_places = now.evicted_places - printed.evicted_places,
                   n_preempted = now.preemptions - printed.preemptions;
    const double megabytes = 1e-6 * static_cast<double>(kv_memory);
    if (n_evicted > 0)
      print_stderr(
          "evicted: {}, the least recently used, because memory for keys and values is full "
          "(--kv-memory is {:.1f} MB)\n",
          counted(n_evicted, "pages"), megabytes);
    if (n_places > 0)
      print_stderr(
          "evicted: {} (states of recurrent layers), those that cost least to recompute, because "
          "no state slot was free\n",
          counted(n_places, "places"));
    if (n_preempted > 0)
      print_stderr(
          "preempted: {}, the youngest, because older ones need the memory for keys and values\n",
          counted(n_preempted, "answers"));
    printed = now;
  }

  int stopped(const RunRecord& run) const {
    const BatchSummary& s = run.summary;
    std::error_code error;
    const bool is_file = std::filesystem::is_regular_file(o_.output, error);
    const char* more = !is_file || o_.verify > 0 || !o_.compare.empty()
                           ? ""
                           : "; run the same command with --resume to continue";
    return report_stop(signal_, s.answers + s.earlier, nouns_.outputs, more);
  }

  void print_summary(const RunRecord& first, const RunRecord& second) const {
    if (first.summary.lines == 0 && !first.summary.stopped)
      report_error(no_records_text(o_.batch.format));
    if (o_.quiet) {
      tell_of_small_mass(first.summary);
      tell_of_cut_forms(first.summary);
      return print_verdict(first);
    }
    for (const auto& [place, text] : first_answers_.texts()) print_stderr("{}\n", text);
    if (!first.was_finished) print_stderr("{}\n", footer(first, nouns_, options_));
    const BatchSummary& s = first.summary;
    print_stderr("{}", score_table(first));
    if (s.group_by != o_.batch.group_by)
      print_stderr("scores are grouped by {}, as in the finished run\n",
                   s.group_by.empty() ? "no field" : "'" + s.group_by + "'");
    else if (!o_.batch.group_by.empty() && s.scores.groups().empty())
      print_stderr("no scored answer has '{}' in its metadata\n", o_.batch.group_by);
    if (s.bad_lines + s.failed + s.skipped + s.cut > 0)
      print_stderr("not answered: {}, {} failed, {} too long; lines shortened to fit: {}\n",
                   counted(s.bad_lines, "bad lines"), s.failed - s.too_long, s.skipped + s.too_long,
                   s.cut);
    tell_of_small_mass(s);
    tell_of_cut_forms(s);
    if (can_compare(first)) print_speeds(first, second);
    print_verdict(first);
  }

  bool can_compare(const RunRecord& first) const {
    return comparison_ && first.summary.answers > 0 && !first.summary.stopped;
  }

  void print_speeds(const RunRecord& first, const RunRecord& second) const {
    const BatchSummary& s = first.summary;
    print_stderr("{}\n", footer(second, nouns_, options_));
    const double fewer = computed(second) / computed(first);
    print_stderr("{} over {}: {:.2f}x the {}/s, {:.2f}x {} computed tokens{}\n", first.sharing,
                 second.sharing, second.summary.seconds / s.seconds, nouns_.inputs,
                 fewer < 1 ? 1 / fewer : fewer, fewer < 1 ? "as many" : "fewer",
                 std::min(s.seconds, second.summary.seconds) < kLeastTimed
                     ? " (the run is too short to measure speed)"
                     : "");
  }

  // Warns of a model that would answer something else than the two answers that are compared.
  void tell_of_small_mass(const BatchSummary& s) const {
    const std::optional<double> mean = s.mean_mass();
    if (!mean || *mean >= kLeastMass) return;
    const RerankOptions& r = o_.batch.rerank;
    report_error(fmt::format(
        "the scores mean little: the model answers '{}' or '{}' with a probability of only {:.2g} "
        "(mean of {})",
        one_line(r.yes.value_or("yes")), one_line(r.no.value_or("no")), *mean,
        counted(s.n_masses, "documents")));
  }

  void tell_of_cut_forms(const BatchSummary& s) const {
    if (s.forms_cut > 0)
      print_stderr("stopped by the length limit: {} with a form\n",
                   counted(s.forms_cut, nouns_.outputs));
  }

  // Prints what --compare was given for, so that --quiet leaves it.
  void print_verdict(const RunRecord& first) const {
    if (can_compare(first)) return print_stderr("{}\n", comparison_->text());
    if (comparison_)
      print_stderr("nothing to compare: {}\n", first.summary.stopped
                                                   ? "the run was stopped"
                                                   : fmt::format("no {}", nouns_.outputs));
  }

  static bool is_exact(const std::string& sharing) {
    const Result<SharingInfo> info = sharing_info(sharing);
    return info && info->exact;
  }

  static double computed(const RunRecord& run) {
    return static_cast<double>(run.summary.stats.prefill_rows + run.summary.stats.decode_rows);
  }

  RunOptions o_;
  ProgressLog log_;
  TaskNouns nouns_ = nouns_of(o_.batch.task);
  FirstAnswers first_answers_{o_.show, o_.batch.ordered};
  std::optional<Comparison> comparison_;
  std::set<std::string> problems_;  // of the first run, where a second one would say them again
  Hashes hashes_;                   // of the first run's logits, for verifying
  uint64_t n_asked_ = 0;            // questions of the first run that have answers
  int signal_ = 0;                  // that stopped a run
  EngineOptions options_;           // as the engine filled them in
  std::vector<RunRecord> runs_;
  std::string last_report_;
};

}  // namespace

int run_batches(const RunOptions& options) {
  return options.dry_run > 0 ? print_prompts(options) : BatchRun(options)();
}

}  // namespace pando::cli
