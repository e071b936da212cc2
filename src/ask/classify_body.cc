// Bodies of texts to be classified: in vLLM's form, and in that of text-embeddings-inference.
#include <memory>

#include "ask/body.h"
#include "ask/classified.h"
#include "ask/errors.h"
#include "ask/sampling_fields.h"
#include "ask/tei_body.h"
#include "base/errors.h"
#include "base/fields.h"

namespace pando::ask {
namespace {

constexpr std::string_view kClassifyFields[] = {"input", "activation", "aggregation_strategy",
                                                "top_k", "truncate"};
constexpr std::string_view kPredictFields[] = {
    "inputs",     "raw_scores",           "truncate", "truncation_direction",
    "activation", "aggregation_strategy", "top_k"};

struct ClassifiedTexts {
  const char* list_name = "input";
  ClassifyOptions options;
  std::vector<ClassifiedText> texts;
  bool is_list = true;     // the body has a list of texts instead of one
  bool truncates = false;  // texts beyond the context are cut
};

// Texts that a classifier reads, one question each.
class ClassifyBody : public Body {
 public:
  ClassifyBody(const BodyContext& context, ClassifiedTexts asked)
      : Body(context), asked_(std::move(asked)), model_(context.model) {}

  Status add_all(const BodyContext& context) {
    for (size_t i = 0; i < asked_.texts.size(); ++i) {
      Question question;
      question.classified = asked_.texts[i];
      question.request.pooling = Pooling::kLast;
      if (Status status = add_question(context, std::move(question)); !status)
        return blame(text_place(i), status.error());
    }
    return {};
  }

  std::string place(size_t request) const override {
    return text_place(completions().question_of(request));
  }

 protected:
  std::string text_place(size_t i) const {
    return asked_.is_list ? place_in(asked_.list_name, i) : asked_.list_name;
  }

  const ClassifiedTexts asked_;
  const Model& model_;  // as old as the server
};

// {"id", "object", "created", "model", "data": [{"index", "label", "probs", "num_classes",
// "labels"}, ...], "usage"}
class ClassesBody : public ClassifyBody {
 public:
  using ClassifyBody::ClassifyBody;

  Json answer() override {
    Json body = {{"id", "classify-" + envelope_.id},
                 {"object", "list"},
                 {"created", envelope_.created},
                 {"model", envelope_.model},
                 {"data", Json::array()}};
    for (size_t i = 0; i < asked_.texts.size(); ++i) {
      const Completion& completion = completions().all()[i][0];
      Json data = {{"index", i}};
      add_labels(completion, asked_.options, model_, asked_.texts[i].first, data);
      if (!labels_tokens(asked_.options)) {
        data["probs"] = label_values(completion, asked_.options);
        data["num_classes"] = data["probs"].size();
      }
      if (!envelope_.warning.empty()) data["wrong"] = envelope_.warning;
      body["data"].push_back(std::move(data));
    }
    add_prompt_usage(body, 1);
    return body;
  }
};

// [{"label", "score"}, ...] for one text, a list of these for a list.
class PredictBody : public ClassifyBody {
 public:
  using ClassifyBody::ClassifyBody;

  Json answer() override {
    Json predictions = Json::array();
    for (size_t i = 0; i < asked_.texts.size(); ++i) {
      const Completion& completion = completions().all()[i][0];
      if (!labels_tokens(asked_.options)) {
        predictions.push_back(label_list(labels_of(completion, asked_.options)));
        continue;
      }
      Json found = Json::object();
      add_labels(completion, asked_.options, model_, asked_.texts[i].first, found);
      predictions.push_back(std::move(found["entities"]));
    }
    return asked_.is_list ? predictions : Json(predictions[0]);
  }
};

// Reads the fields that both forms have.
void read_options(Fields& fields, ClassifiedTexts& asked) {
  read_label_fields(fields, {"top_k", "activation", "aggregation_strategy"}, asked.options);
  bool at_end = true;
  asked.truncates = read_truncate(fields, at_end);
  if (!at_end) asked.options.cut_at_end = false;
}

template <class Made>
Result<std::unique_ptr<Body>> made_body(Fields& fields, const BodyContext& context,
                                        const ServingFields& serving, ClassifiedTexts asked) {
  if (!fields.status()) return fields.status().error();
  Result<ClassifyOptions> options = classify_options_for(context.model, asked.options);
  if (!options) return options.error();
  if (asked.truncates) options->max_tokens = std::min(options->max_tokens, context.context);
  asked.options = std::move(*options);
  if (asked.texts.empty())
    return invalid_field(asked.list_name, "has no texts, expected one or more");
  if (asked.texts.size() > Bounds::kMostRequests)
    return invalid_field(asked.list_name, "has {} texts, expected at most {}", asked.texts.size(),
                         Bounds::kMostRequests);
  for (ClassifiedText& text : asked.texts) {
    text.options = asked.options;
    const size_t n_bytes = text.first.size() + text.second.value_or("").size();
    if (Status status = context.bounds.add(1, n_bytes); !status) return status.error();
  }
  auto body = std::make_unique<Made>(context, std::move(asked));
  body->serving = serving;
  if (Status status = body->add_all(context); !status) return status.error();
  return std::unique_ptr<Body>(std::move(body));
}

// A text, or one or two texts in a list.
bool read_text_or_pair(const Json& json, ClassifiedText& text) {
  if (json.is_string()) {
    text.first = json.get<std::string>();
    return true;
  }
  const bool is_sound = json.is_array() && (json.size() == 1 || json.size() == 2) &&
                        std::ranges::all_of(json, [](const Json& one) { return one.is_string(); });
  if (!is_sound) return false;
  text.first = json[0].get<std::string>();
  if (json.size() == 2) text.second = json[1].get<std::string>();
  return true;
}

}  // namespace

Result<std::unique_ptr<Body>> read_classify_body(const Json& json, const BodyContext& context) {
  Fields fields(json);
  const ServingFields serving = read_serving_fields(fields);
  refuse_other_fields(fields, kClassifyFields);
  ClassifiedTexts asked;
  read_options(fields, asked);
  if (!fields.status()) return fields.status().error();
  if (!fields.has("input")) return missing_field("input");
  const Json& input = json["input"];
  asked.is_list = input.is_array();
  for (const Json& one : asked.is_list ? input : Json::array({input})) {
    const bool has_form = one.is_string() || (asked.is_list && one.size() == 2);
    ClassifiedText text;
    if (!has_form || !read_text_or_pair(one, text))
      return invalid_field("input",
                           "has {}, expected a text, or a list of texts and pairs of texts",
                           found_text(one));
    asked.texts.push_back(std::move(text));
  }
  return made_body<ClassesBody>(fields, context, serving, std::move(asked));
}

Result<std::unique_ptr<Body>> read_tei_predict_body(const Json& json, const BodyContext& context) {
  Fields fields(json);
  const ServingFields serving = read_serving_fields(fields);
  refuse_other_fields(fields, kPredictFields);
  ClassifiedTexts asked{.list_name = "inputs"};
  read_options(fields, asked);
  bool raw = false;
  std::string side = "Right";
  fields.flag("raw_scores", raw);
  fields.text("truncation_direction", side);
  const bool is_left = side == "Left" || side == "left";
  if (!is_left && side != "Right" && side != "right")
    fields.fail("truncation_direction", side, "\"Right\" or \"Left\"");
  if (fields.has("truncation_direction"))
    asked.options.cut_at_end = asked.options.cut_at_end.value_or(true) && !is_left;
  if (raw) asked.options.scores = LabelScores::kLogits;
  if (!fields.status()) return fields.status().error();
  if (!fields.has("inputs")) return missing_field("inputs");
  const Json& inputs = json["inputs"];
  // One text, one pair as a list of two texts, or a list of such lists.
  asked.is_list = inputs.is_array() && !inputs.empty() && inputs[0].is_array();
  const Json list = asked.is_list ? inputs : Json::array({inputs});
  for (const Json& one : list) {
    ClassifiedText text;
    if (!read_text_or_pair(one, text))
      return invalid_field("inputs",
                           "is {}, expected a text, a list of one or two texts, or a "
                           "list of such lists",
                           found_text(inputs));
    asked.texts.push_back(std::move(text));
  }
  return made_body<PredictBody>(fields, context, serving, std::move(asked));
}

}  // namespace pando::ask
