// Labels of the tokens, words and phrases of a text.
#pragma once

#include <string_view>
#include <vector>

#include "pando/classify.h"

namespace pando {

// The labels of a text's tokens, from the completion of its request (classify.h), grouped as
// options.aggregation says. As in the transformers library, spans with the label "O" are left out,
// and all but kNone join neighbours of one label and drop "B-" and "I-" from names.
std::vector<LabelledSpan> label_spans(const Completion& completion, const ClassifyOptions& options,
                                      const Model& model, std::string_view text);

// A token with its scores, before it is grouped.
struct ScoredToken {
  std::vector<float> logits;  // [labels]
  size_t begin = 0, end = 0;  // in the text, in bytes
  bool goes_on = false;       // inside the word of the token before it
};
// Returns the same from tokens without special ones; `labels`: names by index.
std::vector<LabelledSpan> grouped_labels(const std::vector<ScoredToken>& tokens,
                                         const std::vector<std::string>& labels,
                                         Aggregation aggregation);

}  // namespace pando
