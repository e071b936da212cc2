// `pando embed`.
#include <memory>

#include "cli/commands.h"
#include "cli/prompt_text.h"
#include "cli/run_batches.h"
#include "cli/run_options.h"

namespace pando::cli {

Command add_embed(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  options->batch.task = BatchTask::kEmbed;
  add_engine_options(app, *options);
  add_output_options(app, *options);
  EmbedOptions& embed = options->batch.embed;
  auto pooling = std::make_shared<std::string>();
  app.add_option("--pooling", *pooling,
                 "Hidden states: of the last token, or the mean of all (default: as the model's "
                 "files say, or last)")
      ->check(CLI::IsMember({"last", "mean"}));
  app.add_flag_function(
      "--normalize,!--no-normalize", [&embed](int64_t count) { embed.normalise = count > 0; },
      "Vectors of length 1, or as they are (default: as the model's files say, or of length 1)");
  app.add_option("--dimensions", embed.dimensions, "So many of the first values; 0: all")
      ->check(expect("0 or more", [](double x) { return x >= 0; }))
      ->capture_default_str();
  app.add_option("--instruction", embed.instruction,
                 "What the texts are to be found by; none: each text as it is, behind the prompt "
                 "that the model's files put first, where they name one")
      ->transform(unescaped());
  add_template_options(app,
                       "A text with {text} in it; with {instruction} too it is for texts that have "
                       "one, without it for all",
                       [&embed](std::string text) { embed.prompt_template = std::move(text); })
      ->default_str("Instruct: {instruction}\\nQuery:{text}");
  app.footer(
      std::string(kEscapesHelp) +
      "Example:\n  pando embed --model MODEL --input texts.jsonl --output vectors.jsonl\n"
      "Input lines: {\"id\": \"t1\", \"text\": \"...\", \"instruction\"?: \"...\"}; tables: a "
      "column text.\n"
      "Output lines: {\"id\", \"embedding\": [...], \"prompt_tokens\"}.");
  return [options, pooling] {
    options->batch.embed.pooling = *pooling == "mean"   ? Pooling::kMean
                                   : *pooling == "last" ? Pooling::kLast
                                                        : Pooling::kNone;
    return run_batches(*options);
  };
}

}  // namespace pando::cli
