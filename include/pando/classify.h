// Labels of texts, of pairs of texts and of their tokens, by the head of a classifier.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/engine.h"

namespace pando::model {
struct ClassifierHead;
}

namespace pando {

// Function from a head's logits to its scores.
enum class LabelScores {
  kAsModel,  // sigmoid for one label or several at a time, softmax for one of many, none for
             // numbers
  kLogits,
  kSigmoid,
  kSoftmax,
};
inline constexpr std::pair<std::string_view, LabelScores> kLabelScoresNames[] = {
    {"model", LabelScores::kAsModel},
    {"softmax", LabelScores::kSoftmax},
    {"sigmoid", LabelScores::kSigmoid},
    {"logits", LabelScores::kLogits}};

// How labels of tokens become labels of words and phrases, with the names of the transformers
// library.
enum class Aggregation {
  kNone,     // each token by itself
  kSimple,   // tokens of one label beside one another
  kFirst,    // a word has the label of its first token
  kAverage,  // or the likeliest label of the mean of its tokens' scores
  kMax,      // or that of its token with the highest score
};
inline constexpr std::pair<std::string_view, Aggregation> kAggregationNames[] = {
    {"none", Aggregation::kNone},
    {"simple", Aggregation::kSimple},
    {"first", Aggregation::kFirst},
    {"average", Aggregation::kAverage},
    {"max", Aggregation::kMax}};

struct ClassifyOptions {
  LabelScores scores = LabelScores::kAsModel;
  int top = 0;  // so many of the highest scores; 0: all
  Aggregation aggregation = Aggregation::kSimple;
  // classify_options_for sets the following from the model's files, or lowers it to their limits.
  // Longer texts are cut, the longer one of a pair first; the limit counts special tokens.
  int max_tokens = 0;
  std::optional<bool> cut_at_end;  // at their end, or false: at their beginning
  std::shared_ptr<const model::ClassifierHead> head = nullptr;
};

struct LabelScore {
  std::string label;
  double score = 0;
  bool operator==(const LabelScore&) const = default;
};

// A token, word or phrase with a label, in the text [begin, end), in bytes.
struct LabelledSpan {
  std::string label;
  double score = 0;
  size_t begin = 0, end = 0;
};

// Takes the head from the model's files. kUnsupported for a model without a classifier.
Result<ClassifyOptions> classify_options_for(const Model& model, ClassifyOptions options);
// True if the head labels tokens instead of texts.
bool labels_tokens(const ClassifyOptions& options);

// The request for one text, or a pair; without an id. Takes options of classify_options_for.
// Errors: as Model::encode; kUnsupported for a pair if the tokenizer has no form for pairs, and if
// the head labels tokens.
Result<Request> classify_request(const Model& model, const ClassifyOptions& options,
                                 std::string_view text,
                                 std::optional<std::string_view> second = std::nullopt);

// The logits of a text from the completion of such a request, [labels].
std::vector<float> label_logits(const Completion& completion, const ClassifyOptions& options);
// The scores of a text's labels in the order of the labels, [labels].
std::vector<double> label_values(const Completion& completion, const ClassifyOptions& options);
// The labels of a text, the highest score first, the first among equals.
std::vector<LabelScore> labels_of(const Completion& completion, const ClassifyOptions& options);

// The labels of texts, computed together. A text alone gets the same bits. Any thread. Errors: as
// classify_options_for and Engine::complete_all.
Result<std::vector<std::vector<LabelScore>>> classify(Engine& engine,
                                                      const std::vector<std::string>& texts,
                                                      const ClassifyOptions& options = {});

// Values of `logits` by a function of LabelScores, other than kAsModel, in double precision.
std::vector<double> scaled_logits(std::span<const float> logits, LabelScores scores);

}  // namespace pando
