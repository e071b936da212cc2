#include "ask/classified.h"

#include "base/errors.h"
#include "pando/label_spans.h"
#include "text/utf8.h"

namespace pando::ask {
namespace {

template <class Value, size_t N>
Result<Value> value_named(const std::pair<std::string_view, Value> (&names)[N],
                          std::string_view name) {
  std::vector<std::string_view> known;
  for (const auto& [text, value] : names) {
    if (text == name) return value;
    known.push_back(text);
  }
  return invalid_argument("is '{}', expected {}", name, one_of_these(known));
}

size_t n_characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

Json entity_list(const std::vector<LabelledSpan>& spans, std::string_view text) {
  Json list = Json::array();
  size_t at = 0, n = 0;  // characters before the byte `at`
  for (const LabelledSpan& span : spans) {
    if (span.begin < at) at = n = 0;
    n += n_characters(text.substr(at, span.begin - at));
    at = span.begin;
    const std::string_view own = text.substr(span.begin, span.end - span.begin);
    list.push_back({{"label", span.label},
                    {"score", span.score},
                    {"text", own},
                    {"start", n},
                    {"end", n + n_characters(own)}});
  }
  return list;
}

}  // namespace

Json label_list(const std::vector<LabelScore>& labels) {
  Json list = Json::array();
  for (const LabelScore& label : labels)
    list.push_back({{"label", label.label}, {"score", label.score}});
  return list;
}

void read_label_fields(Fields& fields, const LabelFields& names, ClassifyOptions& options) {
  std::string scores = "model", aggregation = "simple";
  fields.integer(names.top, options.top);
  fields.text(names.scores, scores);
  fields.text(names.aggregation, aggregation);
  if (fields.has(names.top) && options.top < 1) fields.fail(names.top, options.top, "1 or more");
  const Result<LabelScores> function = value_named(kLabelScoresNames, scores);
  const Result<Aggregation> way = value_named(kAggregationNames, aggregation);
  if (function) options.scores = *function;
  if (way) options.aggregation = *way;
  if (!function) fields.fail(invalid_field(names.scores, "{}", function.error().message()));
  if (!way) fields.fail(invalid_field(names.aggregation, "{}", way.error().message()));
}

void add_labels(const Completion& completion, const ClassifyOptions& options, const Model& model,
                std::string_view text, Json& object) {
  if (labels_tokens(options)) {
    object["entities"] = entity_list(label_spans(completion, options, model, text), text);
    return;
  }
  const std::vector<LabelScore> labels = labels_of(completion, options);
  object["label"] = labels[0].label;
  object["score"] = labels[0].score;
  object["labels"] = label_list(labels);
}

}  // namespace pando::ask
