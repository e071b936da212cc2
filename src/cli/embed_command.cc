// `pando embed`.
#include <memory>

#include "cli/commands.h"
#include "cli/prompt_text.h"
#include "cli/run_batches.h"
#include "cli/run_options.h"

namespace pando::cli {
namespace {

constexpr std::pair<std::string_view, EmbedOutput> kOutputNames[] = {
    {"text", EmbedOutput::kVector},
    {"tokens", EmbedOutput::kTokens},
    {"weights", EmbedOutput::kWeights}};

}  // namespace

Command add_embed(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  options->batch.task = BatchTask::kEmbed;
  add_engine_options(app, *options);
  add_output_options(app, *options);
  EmbedOptions& embed = options->batch.embed;
  add_named_option(app, "--vectors", embed.output, kOutputNames,
                   "One vector for each text (text), a vector for each of its tokens (tokens), or a "
                   "weight for each different token (weights), if the model's files have them")
      ->default_str("text");
  add_named_option(app, "--pooling", embed.pooling, kPoolingNames,
                   "Hidden states to use: the last or the first (cls) token's, or the mean, the "
                   "maximum or another sum over all tokens (default: what the model's files say, "
                   "otherwise last, or mean if tokens see those after them)");
  app.add_flag_function(
      "--normalize,!--no-normalize", [&embed](int64_t count) { embed.normalise = count > 0; },
      "Scale vectors to length 1, or leave them as they are (default: what the model's files say, "
      "otherwise scale)");
  app.add_option("--dimensions", embed.dimensions,
                 "Keep only this many leading values of each vector; 0: all")
      ->check(expect("0 or more", [](double x) { return x >= 0; }))
      ->capture_default_str();
  app.add_option("--instruction", embed.instruction,
                 "Instruction that says what the texts are searched for. Without it, each text is "
                 "embedded as it is, after the prompt that the model's files name, if any")
      ->transform(unescaped());
  app.add_option("--input-type", embed.input_type,
                 "Put the prompt of this name before each text, such as query or document; the "
                 "model's files name the prompts")
      ->check(not_empty("a name"));
  add_template_options(app,
                       "Template with {text} in it. With {instruction} in it, it applies only to "
                       "texts that have an instruction; otherwise to all texts",
                       [&embed](std::string text) { embed.prompt_template = std::move(text); })
      ->default_str("Instruct: {instruction}\\nQuery:{text}");
  app.footer(std::string(kEscapesHelp) +
             "Example:\n"
             "  pando embed --model MODEL --input texts.jsonl --output vectors.jsonl\n"
             "Input lines: {\"id\": \"t1\", \"text\": \"...\", \"instruction\"?: \"...\", "
             "\"input_type\"?: \"...\"};\n"
             "tables: a column named text.\n"
             "Output lines: {\"id\", \"embedding\": [...], \"prompt_tokens\", \"cut_tokens\"?}.");
  return [options] { return run_batches(*options); };
}

}  // namespace pando::cli
