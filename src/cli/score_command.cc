// `pando score`: what a model makes of given texts.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/run_batches.h"
#include "cli/run_options.h"
#include "cli/stop_notice.h"
#include "cli/stop_signal.h"
#include "pando/file_input.h"
#include "pando/score.h"
#include "pando/values/sharing.h"

namespace pando::cli {
namespace {

struct ScoreOptions {
  RunOptions run;
  std::string text;
  PerplexityOptions perplexity;
};

constexpr const char* kWindows = "windows";

// The perplexity of the windows scored so far; `none` if there are none.
std::string perplexity_text(const Perplexity& so_far, const char* none = "") {
  return so_far.n_tokens == 0 ? none
                              : fmt::format(", perplexity {:.3f} over {}", so_far.perplexity(),
                                            counted(so_far.n_tokens, "tokens"));
}

int report_perplexity_stop(int signal, const Perplexity& p) {
  const std::string dropped = p.n_dropped == 0 ? ""
                                               : fmt::format("; {} under way {} not counted",
                                                             counted(p.n_dropped, kWindows),
                                                             p.n_dropped == 1 ? "is" : "are");
  return report_stop(signal, p.n_windows, kWindows,
                     perplexity_text(p, ", so there is no perplexity") + dropped);
}

int score_text(const ScoreOptions& o) {
  const Result<std::string> text = read_text(o.text);
  if (!text) return report_error(text.error());
  Result<std::shared_ptr<const Model>> model = load_model(o.run.model, o.run.quiet);
  if (!model) return refuse(model.error());
  Result<std::unique_ptr<Engine>> engine = Engine::open(*model, engine_options(o.run.model));
  if (!engine) return refuse(engine.error());
  if (Status status = check_perplexity_options(**engine, o.perplexity); !status)
    return refuse(status.error());
  const StopSignal stop;
  ProgressLine progress(o.run.quiet, kWindows);
  PerplexityOptions options = o.perplexity;
  options.stop = &stop.flag();
  double seconds = 0;
  options.on_progress = [&](const PerplexityProgress& now) {
    const BatchProgress shown{.answers_done = now.so_far.n_windows,
                              .share_done = now.share_done,
                              .seconds = now.seconds,
                              .seconds_left = now.seconds_left,
                              .stats = now.stats};
    progress.update(shown, perplexity_text(now.so_far));
    seconds = now.seconds;
  };
  const Result<Perplexity> result = perplexity(**engine, *text, options);
  progress.clear();
  if (!result) return report_error(result.error());
  if (result->stopped) return report_perplexity_stop(stop.signal(), *result);
  nlohmann::ordered_json line;
  line["tokens"] = result->n_tokens;
  line["bytes"] = result->n_bytes;
  line["windows"] = result->n_windows;
  line["log_likelihood"] = result->log_likelihood;
  line["perplexity"] = result->perplexity();
  line["bits_per_byte"] = result->bits_per_byte();
  if (const auto sharing = sharing_info((*engine)->options().sharing);
      sharing && !sharing->warning.empty())
    line["wrong"] = sharing->warning;
  line["seconds"] = seconds;
  fmt::print("{}\n", line.dump());
  return kOk;
}

}  // namespace

Command add_score(CLI::App& app) {
  auto options = std::make_shared<ScoreOptions>();
  RunOptions& run = options->run;
  run.batch.task = BatchTask::kScore;
  add_engine_options(app, run);
  add_output_options(app, run);
  CLI::Option* input = app.get_option("--input")->required(false);
  CLI::Option* text =
      app.add_option("--perplexity", options->text,
                     "Text file to score instead of --input, or - for standard input")
          ->check(not_empty());
  text->excludes(input);
  for (const char* of_lines :
       {"--dry-run", "--output", "--resume", "--overwrite", "--ordered", "--report", "--compare",
        "--too-long", "--columns", "--progress-log"})
    text->excludes(app.get_option(of_lines));
  const CLI::Validator positive = at_least(1);
  app.add_option("--window", options->perplexity.window,
                 "Tokens the model sees at a time (default: the context)")
      ->check(positive)
      ->needs(text);
  app.add_option("--stride", options->perplexity.stride,
                 "Tokens from the start of one window to the next, fewer than --window (default: "
                 "half of it)")
      ->check(positive)
      ->needs(text);
  app.footer(
      "Examples:\n"
      "  pando score --model MODEL --input lines.jsonl --output scores.jsonl\n"
      "  pando score --model MODEL --perplexity text.txt --window 2048\n"
      "Input lines: {\"id\": \"s1\", \"prompt\": \"...\", \"continuations\": [\" one\", \" two\"], "
      "\"target\"?: 1},\n"
      "or samples of an evaluation harness, by their \"arguments\".\n"
      "Output lines: {\"id\", \"scores\": [{\"logprob\", \"tokens\", \"likeliest\"}, ...], "
      "\"best\", \"best_per_byte\"}.\n"
      "For a text, one line: tokens scored, ln p of the text, perplexity, bits per byte.");
  return [options] {
    if (!options->text.empty()) return score_text(*options);
    if (!options->run.input.empty()) return run_batches(options->run);
    report_error("score: nothing to score, expected --input or --perplexity");
    return kUsage;
  };
}

}  // namespace pando::cli
