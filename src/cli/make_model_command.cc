#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/print_stderr.h"
#include "pando/make_model.h"

namespace pando::cli {

Command add_make_model(CLI::App& app) {
  auto options = std::make_shared<RandomModelOptions>();
  app.add_option("--shape", options->shape,
                 fmt::format("{}", fmt::join(random_model_shapes(), ", ")))
      ->capture_default_str();
  app.add_option("--out", options->out, "Directory to write")->check(not_empty())->required();
  app.add_option("--dtype", options->dtype, "Type of the weights: f32, f16 or bf16")
      ->capture_default_str();
  app.add_option("--seed", options->seed, "Seed; the same seed gives the same weights")
      ->check(seed_number())
      ->capture_default_str();
  app.add_option("--layers", options->n_layers, "Number of layers instead of the shape's own");
  app.add_option("--vocab", options->vocab, "Size of the vocabulary instead of the shape's own");
  app.add_option("--context", options->max_positions,
                 "Longest sequence in tokens instead of the shape's own");
  app.add_option("--tokenizer", options->tokenizer,
                 "Directory to copy the tokenizer from; without it every byte is a token")
      ->check(not_empty());
  app.footer("Example:\n  pando make-model --shape qwen3-0.6b --layers 4 --dtype bf16 --out model");
  return [options] {
    if (Status status = make_random_model(*options); !status) return refuse(status.error());
    print_stderr("wrote {}\n", options->out.string());
    return kOk;
  };
}

}  // namespace pando::cli
