// `pando classify`.
#include <memory>

#include "cli/commands.h"
#include "cli/run_batches.h"
#include "cli/run_options.h"

namespace pando::cli {

Command add_classify(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  options->batch.task = BatchTask::kClassify;
  add_engine_options(app, *options);
  add_output_options(app, *options);
  ClassifyOptions& classify = options->batch.classify;
  app.add_option("--top", classify.top, "Give only this many labels of each text; 0: all")
      ->check(expect("0 or more", [](double x) { return x >= 0; }))
      ->capture_default_str();
  add_named_option(app, "--scores", classify.scores, kLabelScoresNames,
                   "Scores of labels: as the model's files say (model), probabilities of one label "
                   "among all (softmax), of each label by itself (sigmoid), or logits")
      ->default_str("model");
  add_named_option(app, "--aggregation", classify.aggregation, kAggregationNames,
                   "How labels of tokens become labels of words and phrases: each token by itself "
                   "(none), neighbours of one label joined (simple), after each word has the label "
                   "of its first token (first), of the mean of its tokens' scores (average), or of "
                   "its token with the highest score (max)")
      ->default_str("simple");
  app.footer(
      "Example:\n"
      "  pando classify --model MODEL --input texts.jsonl --output labels.jsonl\n"
      "Input lines: {\"id\": \"t1\", \"text\": \"...\", \"text_pair\"?: \"...\"};\n"
      "tables: columns named text and text_pair.\n"
      "Output lines: {\"id\", \"label\", \"score\", \"labels\": [{\"label\", \"score\"}, ...], "
      "\"prompt_tokens\",\n"
      "\"cut_tokens\"?}; of classifiers of tokens {\"id\", \"entities\": [{\"label\", \"score\", "
      "\"text\", \"start\",\n"
      "\"end\"}, ...], \"prompt_tokens\", \"cut_tokens\"?}.");
  return [options] { return run_batches(*options); };
}

}  // namespace pando::cli
