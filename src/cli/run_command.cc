#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "cli/commands.h"
#include "cli/generation_defaults.h"
#include "cli/hub_cache.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "pando/batch.h"
#include "pando/model_files.h"

namespace pando::cli {
namespace {

struct RunOptions {
  std::string model;
  std::string tokenizer;
  std::string input;
  std::string output = "-";
  std::string report;
  std::string compare;
  std::string weights = "stored";
  std::string kv_dtype = "f16";
  std::string too_long = "error";
  int show = 0;
  bool quiet = false;
  bool generation_config = false;
  GivenSampling given;
  EngineOptions engine;
  BatchOptions batch;
};

// Messages as those for lines: what was found, what was expected.
CLI::Validator expect(const std::string& what, bool (*holds)(double)) {
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        const bool good = CLI::detail::lexical_cast(text, value) && holds(value);
        return good ? std::string() : fmt::format("{}, expected {}", text, what);
      },
      "", "");
}

void add_options(CLI::App& app, RunOptions& o) {
  app.add_option("--model", o.model,
                 "Model directory (config.json, safetensors, tokenizer), GGUF file, or hub id "
                 "org/name that is in the hub's cache")
      ->required();
  app.add_option("--input", o.input, "JSONL file, or - for standard input")->required();
  app.add_option("--output", o.output, "JSONL file, or - for standard output")
      ->capture_default_str();
  app.add_option("--tokenizer", o.tokenizer,
                 "Directory, GGUF file or hub id of the tokenizer, where it is not the model's");
  app.add_option("--sharing", o.engine.sharing, "tree, packed (nothing shared) or prefix_cached")
      ->check(CLI::IsMember({"tree", "packed", "prefix_cached"}))
      ->capture_default_str();
  app.add_option("--compare", o.compare,
                 "Run a second time with this sharing: speeds, and every logits hash")
      ->check(CLI::IsMember({"tree", "packed", "prefix_cached"}));
  app.add_option("--weights", o.weights,
                 "stored, or made while loading: q8_0, q4_0 (8 and 4 bits in groups of 32) or int8 "
                 "(8 bits, one scale for each output)")
      ->check(CLI::IsMember({"stored", "q8_0", "q4_0", "int8"}))
      ->capture_default_str();
  app.add_option("--kv-dtype", o.kv_dtype, "Type of keys and values: f32, f16 or bf16")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->capture_default_str();
  app.add_option("--kv-memory", o.engine.kv_memory, "Memory for keys and values, as in 4GiB")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("4GiB");
  app.add_option("--context", o.engine.context,
                 "Longest sequence in tokens (default: the model's)");
  app.add_option("--threads", o.engine.threads, "Threads (default: one for each processor)");
  app.add_option("--step-rows", o.engine.step_rows, "Rows of a forward pass at most")
      ->capture_default_str();
  app.add_option("--report", o.report, "File for the run's report, JSON");
  app.add_option("--show", o.show, "Print so many questions with their answers at the end");
  app.add_option("--too-long", o.too_long, "A prompt that does not fit: error, or skip")
      ->check(CLI::IsMember({"error", "skip"}))
      ->capture_default_str();
  app.add_flag("--logits-hash", o.batch.defaults.logits_hash,
               "Hash the logits that each answer was drawn from");
  app.add_flag("--quiet", o.quiet, "No progress and no summary");

  SamplingOptions& s = o.batch.defaults.sampling;
  const CLI::Validator positive = expect("at least 1", [](double x) { return x >= 1; });
  const CLI::Validator not_negative = expect("0 or more", [](double x) { return x >= 0; });
  const CLI::Validator share =
      expect("more than 0 and at most 1", [](double x) { return x > 0 && x <= 1; });
  const std::string group = "Sampling (lines may say otherwise)";
  app.add_option("--max-tokens", s.max_tokens, "Tokens of an answer at most")
      ->check(positive)
      ->capture_default_str()
      ->group(group);
  app.add_option("--temperature", s.temperature, "0: the likeliest token")
      ->check(not_negative)
      ->capture_default_str()
      ->group(group);
  app.add_option("--top-k", s.top_k, "Only the k likeliest tokens; 0: all")
      ->check(not_negative)
      ->capture_default_str()
      ->group(group);
  app.add_option("--top-p", s.top_p, "Only the likeliest tokens that sum to p")
      ->check(share)
      ->capture_default_str()
      ->group(group);
  app.add_flag("--generation-config", o.generation_config,
               "Take what is not given here from the model's generation_config.json")
      ->group(group);
  app.add_option("--seed", o.engine.seed, "Of lines that bring none")
      ->capture_default_str()
      ->group(group);
  app.add_option("--n", s.n, "Answers to each question")
      ->check(positive)
      ->capture_default_str()
      ->group(group);
  app.add_option("--stop", s.stop, "Text that ends an answer; may be given again")
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--ignore-eos", s.ignore_eos, "Go on after the end-of-sequence token")->group(group);
  app.add_flag("--logprobs", s.logprobs, "Log-probabilities of generated tokens")->group(group);
  app.add_option("--instruction", o.batch.defaults.instruction,
                 "Text before every context; with --chat the system message")
      ->group(group);
  app.add_option("--template", o.batch.defaults.prompt_template,
                 "Prompt with {instruction}, {context} and {question}")
      ->group(group);
  app.add_flag("--chat", o.batch.defaults.chat,
               "Ask each question as a conversation, by the model's chat template")
      ->group(group);
  app.add_flag("--thinking", o.batch.defaults.chat_options.thinking,
               "Let the model think before it answers, where its chat template can turn that on")
      ->group(group);
  app.footer(
      "Example:\n  pando run --model MODEL --input questions.jsonl --output answers.jsonl\n"
      "Input lines:\n"
      "  {\"id\": \"d1\", \"context\": \"...\", \"questions\": [\"...\", {\"text\": \"...\", "
      "\"answers\": [\"...\"]}]}\n"
      "  {\"id\": \"p1\", \"prompt\": \"...\"}\n"
      "  {\"id\": \"c1\", \"messages\": [{\"role\": \"user\", \"content\": \"...\"}], "
      "\"thinking\": false}");
}

// The input from its beginning, or standard input once.
struct Input {
  std::ifstream file;
  std::istream* stream = &std::cin;
  uint64_t n_bytes = 0;
  bool is_regular = false;  // can be read again

  Status open(const std::string& path) {
    if (path == "-") return {};
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
      return Error{ErrorCode::kIo,
                   fmt::format("input '{}' is a directory, expected a JSONL file", path)};
    file.open(path);
    if (!file)
      return Error{ErrorCode::kNotFound,
                   fmt::format("cannot read input '{}': {}", path, std::strerror(errno))};
    is_regular = std::filesystem::is_regular_file(path, error);
    n_bytes = is_regular ? std::filesystem::file_size(path, error) : 0;
    stream = &file;
    return {};
  }
};

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;  // of what is not there
  return a != "-" && b != "-" && std::filesystem::is_regular_file(a, error) &&
         std::filesystem::equivalent(a, b, error);
}

// A file to write anew that keeps what it holds until `begin`: a run that cannot start loses
// nothing.
class OutputFile {
 public:
  // "-" is standard output. False where the file cannot be written.
  bool open(const std::string& path) {
    path_ = path;
    if (path_ == "-") return true;
    file_.open(path_, std::ios::app);
    return file_.is_open();
  }
  std::ostream& begin() {
    if (path_ == "-") return std::cout;
    std::error_code error;
    if (std::filesystem::is_regular_file(path_, error))
      std::filesystem::resize_file(path_, 0, error);
    return file_;
  }

 private:
  std::string path_;
  std::ofstream file_;
};

WeightType weight_type(const std::string& name) {
  return name == "q8_0"   ? WeightType::kQ8_0
         : name == "q4_0" ? WeightType::kQ4_0
         : name == "int8" ? WeightType::kInt8
                          : WeightType::kAsStored;
}

using Hashes = std::multiset<std::tuple<std::string, int, uint64_t>>;  // id, choice, logits hash

class RunCommand {
 public:
  explicit RunCommand(const RunOptions& options) : o_(options) {}

  int operator()() {
    o_.engine.kv_type = o_.kv_dtype == "f32"    ? KvType::kF32
                        : o_.kv_dtype == "bf16" ? KvType::kBF16
                                                : KvType::kF16;
    o_.batch.skip_too_long = o_.too_long == "skip";
    Input input;
    if (Status status = input.open(o_.input); !status) return report_error(status.error().message);
    if (!o_.compare.empty()) {
      if (!input.is_regular)
        return usage("--compare reads the input twice: expected a file for --input, not a pipe");
      o_.batch.defaults.logits_hash = true;
    }
    if (same_file(o_.input, o_.output) || same_file(o_.input, o_.report))
      return usage(fmt::format("'{}' is the input, expected another file to write to", o_.input));
    OutputFile output, report;
    if (!output.open(o_.output))
      return report_error(
          fmt::format("cannot write output '{}': {}", o_.output, std::strerror(errno)));
    if (!o_.report.empty()) {
      if (!report.open(o_.report))
        return report_error(
            fmt::format("cannot write report '{}': {}", o_.report, std::strerror(errno)));
      if (same_file(o_.output, o_.report))
        return usage(
            fmt::format("'{}' is the output, expected another file for the report", o_.report));
    }
    Result<std::shared_ptr<const Model>> model = load_model();
    if (!model) return report_error(model.error().message);

    RunRecord first{o_.engine.sharing, {}}, second{o_.compare, {}};
    Hashes hashes, compared_hashes;
    int code = run(*model, first, input, output, hashes, o_.quiet);
    if (code == kFailed) return code;
    if (!o_.compare.empty()) {
      Input again;
      if (Status status = again.open(o_.input); !status)
        return report_error(status.error().message);
      OutputFile nowhere;
      nowhere.open("/dev/null");
      const int second_code = run(*model, second, again, nowhere, compared_hashes, true);
      if (second_code == kFailed) return second_code;
    }
    print_summary(first, second, hashes, compared_hashes);
    if (!o_.report.empty() && !(report.begin() << last_report_ << '\n').flush())
      return report_error(fmt::format("cannot write report '{}'", o_.report));
    if (!o_.compare.empty() && hashes != compared_hashes)
      return report_error(
          fmt::format("answers of {} and {} differ", first.sharing, second.sharing));
    return code;
  }

 private:
  Result<std::shared_ptr<const Model>> load_model() {
    const Result<std::filesystem::path> path = find_model(o_.model, hub_cache());
    if (!path) return path.error();
    std::filesystem::path tokenizer;
    if (!o_.tokenizer.empty()) {
      const Result<std::filesystem::path> found = find_model(o_.tokenizer, hub_cache());
      if (!found) return found.error();
      tokenizer = *found;
    }
    if (o_.generation_config) {
      const Result<std::string> said =
          apply_generation_config(*path, o_.given, o_.batch.defaults.sampling);
      if (!said) return said.error();
      fmt::print(stderr, "pando: {}\n", *said);
    }
    return Model::load(
        *path,
        {.weights = weight_type(o_.weights), .tokenizer = tokenizer, .threads = o_.engine.threads});
  }

  static int usage(const std::string& message) {
    report_error(message);
    return kUsage;
  }

  int run(const std::shared_ptr<const Model>& model, RunRecord& record, Input& input,
          OutputFile& output, Hashes& hashes, bool quiet) {
    EngineOptions engine_options = o_.engine;
    engine_options.sharing = record.sharing;
    Result<std::unique_ptr<Engine>> engine = Engine::open(model, engine_options);
    if (!engine) return report_error(engine.error().message);

    BatchOptions batch = o_.batch;
    ProgressLine progress(!quiet && isatty(STDERR_FILENO) != 0);
    batch.on_progress = [&](const BatchProgress& now) { progress.update(now); };
    batch.on_problem = [&](const std::string& message) {
      progress.clear();
      fmt::print(stderr, "pando: {}\n", message);
    };
    batch.on_answer = [&](const BatchAnswer& answer) {
      if (!o_.compare.empty())
        hashes.emplace(answer.id, answer.completion.choice, answer.completion.logits_hash);
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
    fmt::print(stderr, "{} over {}: {:.2f}x the questions/s, {:.2f}x fewer computed tokens\n",
               first.sharing, second.sharing, second.summary.seconds / s.seconds,
               computed(second) / computed(first));
    std::vector<Hashes::value_type> different;
    std::set_symmetric_difference(hashes.begin(), hashes.end(), compared.begin(), compared.end(),
                                  std::back_inserter(different));
    fmt::print(stderr, "answers identical: {}\n",
               different.empty() ? "yes" : fmt::format("NO, {} hashes differ", different.size()));
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

Command add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  add_options(app, *options);
  return [options, &app] {
    const auto given = [&app](const char* name) { return app.count(name) > 0; };
    options->given = {given("--temperature"), given("--top-k"), given("--top-p")};
    return RunCommand(*options)();
  };
}

}  // namespace pando::cli
