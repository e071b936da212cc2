// Head of a classifier: makes a score for each label out of hidden states.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/opened_model.h"
#include "model/vector_steps.h"
#include "pando/values/request.h"
#include "pando/values/result.h"

namespace pando::model {

// Function from the logits of a head to its scores.
enum class LabelScale { kNone, kSigmoid, kSoftmax };

struct ClassifierHead {
  bool of_tokens = false;                        // scores of each token; else of the text or pair
  Pooling pooling = Pooling::kFirst;             // of texts
  VectorSteps steps;                             // from the pooled row, or from each row, to logits
  std::vector<std::string> labels;               // [logits]
  std::vector<std::string> tensors;              // of the checkpoint, read for the steps
  LabelScale scale = LabelScale::kSoftmax;       // as the transformers library's pipelines have it
  LabelScale pair_scale = LabelScale::kSigmoid;  // of a reranker, as sentence-transformers has it
};

// Reads the head of a checkpoint whose class is *ForSequenceClassification or
// *ForTokenClassification, or of a GGUF file with cls.output; none for other models. The classes of
// BERT, RoBERTa, XLM-RoBERTa, DistilBERT and ModernBERT have heads of their own, all others
// `score`. Errors: kBadFile, kUnsupported; they name file, field or tensor.
Result<std::optional<ClassifierHead>> read_classifier_head(const ModelPath& path,
                                                           const OpenedModel& model);

}  // namespace pando::model
