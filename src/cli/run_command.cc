// `pando run` and `pando verify`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "cli/answer_options.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/generation_defaults.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "pando/batch.h"

namespace pando::cli {
namespace {

struct RunOptions {
  ModelArguments model;
  std::string input;
  std::string output = "-";
  std::string report;
  std::string compare;
  double verify = 0;  // share of the questions
  std::string too_long = "error";
  int show = 0;
  bool quiet = false;
  bool generation_config = false;
  IsGiven given;
  BatchOptions batch;
};

const CLI::Validator& planner_name() {
  static const CLI::IsMember one_of({"tree", "packed", "prefix_cached"});
  return one_of;
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

// What asking takes, for both commands.
void add_asking(CLI::App& app, RunOptions& o) {
  app.add_option("--input", o.input, "JSONL file, or - for standard input")->required();
  add_model_options(app, o.model);
  app.add_option("--sharing", o.model.engine.sharing,
                 "tree, packed (nothing shared) or prefix_cached")
      ->check(planner_name())
      ->capture_default_str();
  app.add_option("--too-long", o.too_long, "A prompt that does not fit: error, or skip")
      ->check(CLI::IsMember({"error", "skip"}))
      ->capture_default_str();
  app.add_flag("--quiet", o.quiet, "No progress and no summary");
  add_answer_options(app, o.batch.defaults, o.model.engine.seed);
  app.add_flag("--generation-config", o.generation_config,
               "Take what is not given here from the model's generation_config.json")
      ->group("Sampling (lines may say otherwise)");
}

void add_run_options(CLI::App& app, RunOptions& o) {
  add_asking(app, o);
  app.add_option("--output", o.output, "JSONL file, or - for standard output")
      ->capture_default_str();
  app.add_option("--report", o.report, "File for the run's report, JSON");
  app.add_option("--show", o.show, "Print so many questions with their answers at the end")
      ->check(expect("0 or more", [](double x) { return x >= 0; }));
  app.add_option("--compare", o.compare,
                 "Run a second time with this sharing: speeds, and every logits hash")
      ->check(planner_name());
  app.add_option("--verify", o.verify,
                 "Ask a part of the questions again, alone and with nothing shared, and compare "
                 "every bit of their logits: 1%, for example")
      ->transform(share());
  app.footer(
      "Example:\n  pando run --model MODEL --input questions.jsonl --output answers.jsonl\n"
      "Input lines:\n"
      "  {\"id\": \"d1\", \"context\": \"...\", \"questions\": [\"...\", {\"text\": \"...\", "
      "\"answers\": [\"...\"]}]}\n"
      "  {\"id\": \"m1\", \"context\": \"...\", \"questions\": [\"...\"], "
      "\"choices\": [\"yes\", \"no\"]}\n"
      "  {\"id\": \"p1\", \"prompt\": \"...\"}\n"
      "  {\"id\": \"c1\", \"messages\": [{\"role\": \"user\", \"content\": \"...\"}], "
      "\"thinking\": false}");
}

void add_verify_options(CLI::App& app, RunOptions& o) {
  o.output = "/dev/null";
  o.verify = 0.05;
  add_asking(app, o);
  app.add_option("--sample", o.verify, "Part of the questions that is asked again")
      ->transform(share())
      ->default_str("5%");
  app.footer(
      "Answers the input's questions, all together and sharing what they can; then asks some of\n"
      "them again, one by one, with nothing shared, and compares every bit of their logits.\n"
      "Ends with 0 where all are equal, with 1 where one is not, with 3 where questions were left "
      "out.\n"
      "Example:\n  pando verify --model MODEL --input questions.jsonl --sample 10%");
}

using Hashes = std::map<AnswerKey, uint64_t>;  // of the logits

constexpr double kLeastTimed = 0.2;  // seconds

class RunCommand {
 public:
  explicit RunCommand(const RunOptions& options) : o_(options) {}

  int operator()() {
    o_.batch.skip_too_long = o_.too_long == "skip";
    Input input;
    if (Status status = input.open(o_.input); !status) return report_error(status.error().message);
    if (!o_.compare.empty() || o_.verify > 0) {
      if (!input.is_regular)
        return usage(
            fmt::format("{} reads the input twice: expected a file for --input, not a pipe",
                        o_.compare.empty() ? "verifying" : "--compare"));
      o_.batch.defaults.logits_hash = true;
    }
    if (o_.batch.defaults.sampling.max_tokens == 0 && !o_.batch.defaults.prompt_logprobs)
      return usage("--max-tokens: 0, expected at least 1, or 0 with --prompt-logprobs");
    const AnswerOptions& asked = o_.batch.defaults;
    if (asked.chat_options.thinking && !asked.chat) return usage("--thinking goes with --chat");
    if (!asked.choices.empty() && asked.sampling.n != 1)
      return usage(fmt::format("--n: {}, expected 1 with --choice", asked.sampling.n));
    if (asked.choices.size() == 1) return usage("--choice is given once, expected two or more");
    if (same_file(o_.input, o_.output) || same_file(o_.input, o_.report))
      return usage(fmt::format("'{}' is the input, expected another file to write to", o_.input));
    OutputFile output, report;
    if (Status status = output.open(o_.output); !status)
      return report_error(status.error().message);
    if (!o_.report.empty()) {
      if (Status status = report.open(o_.report); !status)
        return report_error(status.error().message);
      if (same_file(o_.output, o_.report))
        return usage(
            fmt::format("'{}' is the output, expected another file for the report", o_.report));
    }
    if (Status status = take_generation_config(); !status)
      return report_error(status.error().message);
    Result<std::shared_ptr<const Model>> model = load_model(o_.model);
    if (!model) return report_error(model.error().message);

    RunRecord first{o_.model.engine.sharing, {}}, second{o_.compare, {}};
    Hashes hashes, compared_hashes;
    int code = run(*model, first, input, output, hashes, o_.quiet);
    if (code == kFailed) return code;
    if (!o_.compare.empty()) {
      Input again;
      if (Status status = again.open(o_.input); !status)
        return report_error(status.error().message);
      OutputFile nowhere;
      if (Status status = nowhere.open("/dev/null"); !status)
        return report_error(status.error().message);
      const int second_code = run(*model, second, again, nowhere, compared_hashes, true);
      if (second_code == kFailed) return second_code;
    }
    print_summary(first, second, hashes, compared_hashes);
    if (!o_.report.empty() && !(report.begin() << last_report_ << '\n').flush())
      return report_error(fmt::format("cannot write report '{}'", o_.report));
    if (!o_.compare.empty() && hashes != compared_hashes)
      return report_error(
          fmt::format("answers of {} and {} differ", first.sharing, second.sharing));
    return o_.verify > 0 ? verify(*model, hashes, code) : code;
  }

 private:
  Status take_generation_config() {
    if (!o_.generation_config) return {};
    const Result<std::filesystem::path> path = model_path(o_.model);
    if (!path) return path.error();
    const Result<std::string> said =
        apply_generation_config(*path, o_.given, o_.batch.defaults.sampling);
    if (!said) return said.error();
    fmt::print(stderr, "pando: {}\n", *said);
    return {};
  }

  static int usage(const std::string& message) {
    report_error(message);
    return kUsage;
  }

  int run(const std::shared_ptr<const Model>& model, RunRecord& record, Input& input,
          OutputFile& output, Hashes& hashes, bool quiet) {
    EngineOptions options = engine_options(o_.model);
    options.sharing = record.sharing;
    Result<std::unique_ptr<Engine>> engine = Engine::open(model, options);
    if (!engine) return report_error(engine.error().message);

    BatchOptions batch = o_.batch;
    ProgressLine progress(!quiet && isatty(STDERR_FILENO) != 0);
    batch.on_progress = [&](const BatchProgress& now) { progress.update(now); };
    batch.on_problem = [&](const std::string& message) {
      progress.clear();
      fmt::print(stderr, "pando: {}\n", message);
    };
    batch.on_answer = [&](const BatchAnswer& answer) {
      if (keeps_hash(answer.key, hashes)) hashes.emplace(answer.key, answer.completion.logits_hash);
      if (!quiet && static_cast<int>(shown_.size()) < o_.show)
        shown_.push_back(fmt::format("[{}] {}\n    -> {}", answer.id, answer.question,
                                     quoted(answer.completion.text)));
    };
    Result<BatchSummary> summary =
        run_batch(**engine, *input.stream, input.n_bytes, output.begin(), batch);
    progress.clear();
    if (!summary) return report_error(summary.error().message);
    record.summary = *summary;
    options_ = (*engine)->options();
    const bool is_second = !runs_.empty();
    runs_.push_back(record);
    last_report_ =
        report_json(runs_.front(), is_second ? &runs_.back() : nullptr, **engine, o_.input);
    return summary->bad_lines + summary->failed > 0 ? kIncomplete : kOk;
  }

  bool keeps_hash(const AnswerKey& key, const Hashes& hashes) const {
    if (!o_.compare.empty()) return true;
    return o_.verify > 0 && (in_sample(key) || key < first_answer(hashes));
  }

  // The first answer of the input is always asked again: no sample is empty.
  static AnswerKey first_answer(const Hashes& hashes) {
    return hashes.empty() ? AnswerKey{.line = UINT64_MAX} : hashes.begin()->first;
  }

  // The sample depends on the questions' places alone.
  bool in_sample(const AnswerKey& key) const {
    uint64_t x = key.line * 0x9e3779b97f4a7c15u + key.question * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 31) * 0x94d049bb133111ebu;
    return static_cast<double>(x >> 11) * 0x1p-53 < o_.verify;
  }

  // One question at a time, in an engine that shares nothing.
  int verify(const std::shared_ptr<const Model>& model, Hashes& hashes, int code) {
    const AnswerKey first = first_answer(hashes);
    std::erase_if(
        hashes, [&](const auto& entry) { return !in_sample(entry.first) && entry.first != first; });
    EngineOptions options = engine_options(o_.model);
    options.sharing = "packed";
    options.max_running = 1;
    Result<std::unique_ptr<Engine>> engine = Engine::open(model, options);
    if (!engine) return report_error(engine.error().message);
    Input again;
    if (Status status = again.open(o_.input); !status) return report_error(status.error().message);
    const Result<BatchVerification> verified =
        verify_batch(**engine, *again.stream, o_.batch.defaults, hashes);
    if (!verified) return report_error(verified.error().message);
    if (!verified->different.empty())
      return report_error(
          fmt::format("verified {} answers alone and unshared: {} DIFFER, '{}' first",
                      verified->answers, verified->different.size(), verified->different.front()));
    if (!o_.quiet)
      fmt::print(stderr, "verified: {} answers again, alone and unshared, in {:.2f} s: {}\n",
                 verified->answers, verified->seconds,
                 verified->answers > 0 ? "all bits equal" : "there was none to ask");
    return code;
  }

  void print_summary(const RunRecord& first, const RunRecord& second, const Hashes& hashes,
                     const Hashes& compared) const {
    if (o_.quiet) return;
    for (const std::string& text : shown_) fmt::print(stderr, "{}\n", text);
    fmt::print(stderr, "{}\n", footer(first, options_));
    const BatchSummary& s = first.summary;
    if (s.scored > 0)
      fmt::print(stderr, "exact match {:.1f}%, token F1 {:.1f}% over {} answers\n",
                 100 * s.exact_match, 100 * s.token_f1, s.scored);
    if (s.bad_lines + s.failed + s.skipped > 0)
      fmt::print(stderr, "left out: {} bad lines, {} failed, {} too long\n", s.bad_lines, s.failed,
                 s.skipped);
    if (o_.compare.empty()) return;
    if (s.answers == 0) return fmt::print(stderr, "nothing to compare: no answers\n");
    fmt::print(stderr, "{}\n", footer(second, options_));
    fmt::print(stderr, "{} over {}: {:.2f}x the questions/s, {:.2f}x fewer computed tokens{}\n",
               first.sharing, second.sharing, second.summary.seconds / s.seconds,
               computed(second) / computed(first),
               s.seconds < kLeastTimed ? " (too short a run to tell the speed)" : "");
    size_t n_different = std::max(hashes.size(), compared.size()) - hashes.size();
    for (const auto& [key, hash] : hashes) {
      const auto found = compared.find(key);
      n_different += found == compared.end() || found->second != hash;
    }
    fmt::print(stderr, "answers identical: {}\n",
               n_different == 0 ? "yes" : fmt::format("NO, {} hashes differ", n_different));
  }

  static double computed(const RunRecord& run) {
    return static_cast<double>(run.summary.stats.prefill_rows + run.summary.stats.decode_rows);
  }

  RunOptions o_;
  EngineOptions options_;  // as the engine filled them in
  std::vector<RunRecord> runs_;
  std::vector<std::string> shown_;
  std::string last_report_;
};

}  // namespace

static Command add_command(CLI::App& app, void (*add)(CLI::App&, RunOptions&)) {
  auto options = std::make_shared<RunOptions>();
  add(app, *options);
  return [options, &app] {
    options->given = [&app](const char* name) { return app.count(name) > 0; };
    return RunCommand(*options)();
  };
}

Command add_run(CLI::App& app) { return add_command(app, add_run_options); }
Command add_verify(CLI::App& app) { return add_command(app, add_verify_options); }

}  // namespace pando::cli
