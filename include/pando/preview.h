// The first prompts of a batch as the engine would get them, and whether it can answer any line.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "pando/batch.h"

namespace pando {

// A prompt, or why there is none.
struct PromptPreview {
  uint64_t line = 0;    // number in the input, from 1
  std::string id;       // as that of BatchAnswer
  std::string cut;      // how it was cut to fit the context; empty: not cut
  std::string refused;  // why the engine would not answer it, and nothing below; empty: it would
  std::vector<Token> tokens;  // as the engine would be given them
  std::string text;  // decoded from the tokens, special ones too; empty without a tokenizer

  // A part of a prompt, or what stands behind it.
  struct Piece {
    std::string text;           // decoded, special tokens too
    std::vector<Token> tokens;  // at least one
  };
  std::vector<Piece> special;  // the special tokens that it begins with, one each
  std::vector<Piece> choices;  // texts that are scored behind the prompt instead of generating
};

// Counts of lines and prompts.
struct PreviewSummary {
  uint64_t prompts = 0;    // given to `on_prompt`
  uint64_t refused = 0;    // of these
  uint64_t bad_lines = 0;  // that cannot be read
};

// Reads `input` until it has given `n` prompts to `on_prompt`, in the order of the input; asks no
// engine. The model needs no weights. `context` is the longest sequence, in tokens. Bad lines are
// reported to `options.on_problem`. Errors: as run_batch for its input.
Result<PreviewSummary> preview_batch(const Model& model, int context, std::istream& input,
                                     const BatchOptions& options, uint64_t n,
                                     const std::function<void(const PromptPreview&)>& on_prompt);

// An error if a batch could answer no line of `input`: kUnsupported because the model has no
// tokenizer or no chat template, kInvalidArgument because the options for all lines contradict each
// other. If neither is the case, it reads nothing. Otherwise it reads up to the first line that can
// be answered, or that a batch refuses with an error record (an OpenAI line). So an input that
// cannot be answered is read to its end, one line at a time. Bad lines do not count.
Status check_answerable(const Model& model, std::istream& input, const BatchOptions& options);

// kInvalidArgument if a line has a context, but the template for all lines (`options.defaults`) has
// no {context}. The message names the first such line. If the template has {context}, this reads
// nothing. Otherwise it reads up to that line or to the end, one line at a time.
Status check_template_of_all(const Model& model, std::istream& input, const BatchOptions& options);

}  // namespace pando
