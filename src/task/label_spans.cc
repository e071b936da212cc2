#include "pando/label_spans.h"

#include <algorithm>
#include <cmath>

#include "api/model_access.h"
#include "task/encode_pair.h"

namespace pando {
namespace {

// A span with a label, before neighbours are joined.
struct Labelled {
  size_t label = 0;
  float score = 0;
  size_t begin = 0, end = 0;
};

std::vector<float> softmax(std::span<const float> logits) {
  const float most = *std::ranges::max_element(logits);
  std::vector<float> scores;
  float sum = 0;
  for (const float logit : logits) {
    scores.push_back(std::exp(logit - most));
    sum += scores.back();
  }
  for (float& score : scores) score /= sum;
  return scores;
}

size_t best_of(const std::vector<float>& scores) {
  return static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
}

// The scores of a word from those of its tokens.
std::vector<float> word_scores(std::span<const std::vector<float>> tokens, Aggregation way) {
  if (way == Aggregation::kMax)
    return *std::ranges::max_element(
        tokens, {}, [](const auto& scores) { return *std::ranges::max_element(scores); });
  if (way != Aggregation::kAverage) return tokens[0];
  std::vector<float> mean = tokens[0];
  for (const std::vector<float>& token : tokens.subspan(1))
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += token[i];
  for (float& score : mean) score /= static_cast<float>(tokens.size());
  return mean;
}

// Tokens, or words if the aggregation is of words, each with its label.
std::vector<Labelled> labelled_words(const std::vector<ScoredToken>& tokens, Aggregation way) {
  const bool of_words = way != Aggregation::kNone && way != Aggregation::kSimple;
  std::vector<std::vector<float>> scores;
  for (const ScoredToken& token : tokens) scores.push_back(softmax(token.logits));
  std::vector<Labelled> words;
  for (size_t i = 0, n = 0; i < tokens.size(); i += n) {
    for (n = 1; of_words && i + n < tokens.size() && tokens[i + n].goes_on;) ++n;
    const std::vector<float> own = word_scores(std::span(scores).subspan(i, n), way);
    const size_t best = best_of(own);
    words.push_back({best, own[best], tokens[i].begin, tokens[i + n - 1].end});
  }
  return words;
}

// A label without the mark of a phrase's beginning or inside.
std::string_view tag_of(std::string_view label) {
  const bool marked = label.starts_with("B-") || label.starts_with("I-");
  return marked ? label.substr(2) : label;
}

// The name of a joined span: the label's text behind its first hyphen.
std::string group_name(const std::string& label) {
  const size_t hyphen = label.find('-');
  return hyphen == label.npos ? label : label.substr(hyphen + 1);
}

}  // namespace

std::vector<LabelledSpan> grouped_labels(const std::vector<ScoredToken>& tokens,
                                         const std::vector<std::string>& labels,
                                         Aggregation aggregation) {
  const std::vector<Labelled> words = labelled_words(tokens, aggregation);
  const bool joins = aggregation != Aggregation::kNone;
  std::vector<LabelledSpan> spans;
  for (size_t i = 0, n = 0; i < words.size(); i += n) {
    double sum = words[i].score;
    for (n = 1; joins && i + n < words.size(); ++n) {
      const std::string &label = labels[words[i + n].label], &last = labels[words[i + n - 1].label];
      if (tag_of(label) != tag_of(last) || label.starts_with("B-")) break;
      sum += words[i + n].score;
    }
    const std::string& label = labels[words[i].label];
    std::string name = joins ? group_name(label) : label;
    if (name == "O") continue;
    spans.push_back(
        {std::move(name), sum / static_cast<double>(n), words[i].begin, words[i + n - 1].end});
  }
  return spans;
}

std::vector<LabelledSpan> label_spans(const Completion& completion, const ClassifyOptions& options,
                                      const Model& model, std::string_view text) {
  const Tokenizer& tokenizer = *tokenizer_of(model);
  const Result<std::vector<Token>> all = tokenizer.encode(text, /*add_bos=*/false);
  if (!all) return {};  // the text has been encoded before
  const std::vector<TokenSpan> places = tokenizer.spans_of(text, *all);
  const auto n_rows = static_cast<size_t>(completion.prompt_tokens);
  const size_t d_model = completion.embedding.size() / n_rows;
  const std::vector<TemplatePart>& parts = tokenizer.templates().single;
  size_t n_before = 0;
  while (parts[n_before].text < 0) ++n_before;
  const size_t n_kept = n_rows - (parts.size() - 1);
  const size_t n_skipped = options.cut_at_end.value_or(true) ? 0 : all->size() - n_kept;
  std::vector<ScoredToken> tokens;
  for (size_t i = 0; i < n_kept; ++i) {
    const std::span row =
        std::span(completion.embedding).subspan((n_before + i) * d_model, d_model);
    const TokenSpan& place = places[n_skipped + i];
    tokens.push_back({options.head->steps.apply(row), place.begin, place.end, place.goes_on});
  }
  return grouped_labels(tokens, options.head->labels, options.aggregation);
}

}  // namespace pando
