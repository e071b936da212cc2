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
  auto vectors = std::make_shared<std::string>("text");
  app.add_option("--vectors", *vectors,
                 "One vector for each text (text), a vector for each of its tokens (tokens), or a "
                 "weight for each different token (weights), if the model's files have them")
      ->check(one_of({"text", "tokens", "weights"}))
      ->capture_default_str();
  auto pooling = std::make_shared<std::string>();
  app.add_option("--pooling", *pooling,
                 "Hidden states to use: the last or the first (cls) token's, or the mean, the "
                 "maximum or another sum over all tokens (default: what the model's files say, "
                 "otherwise last, or mean if tokens see those after them)")
      ->check(one_of({"last", "mean", "cls", "max", "mean_sqrt_len", "weighted_mean"}));
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
  return [options, pooling, vectors] {
    EmbedOutput& output = options->batch.embed.output;
    if (*vectors == "tokens") output = EmbedOutput::kTokens;
    if (*vectors == "weights") output = EmbedOutput::kWeights;
    for (const auto& [name, value] : kPoolingNames)
      if (*pooling == name) options->batch.embed.pooling = value;
    return run_batches(*options);
  };
}

}  // namespace pando::cli
