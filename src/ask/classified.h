// Labels of texts as JSON.
#pragma once

#include <string_view>

#include "base/fields.h"
#include "base/json.h"
#include "pando/classify.h"

namespace pando::ask {

// [{"label", "score"}, ...]
Json label_list(const std::vector<LabelScore>& labels);

// Fields that say which labels a text gets.
struct LabelFields {
  const char *top, *scores, *aggregation;  // their names
};
void read_label_fields(Fields& fields, const LabelFields& names, ClassifyOptions& options);

// Adds the labels of a text: "label", "score" and "labels", the highest score first; or, if the
// head labels tokens, "entities": [{"label", "score", "text", "start", "end"}, ...], places in
// characters.
void add_labels(const Completion& completion, const ClassifyOptions& options, const Model& model,
                std::string_view text, Json& object);

}  // namespace pando::ask
