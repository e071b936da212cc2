// Scores of pairs of texts and of continuations.
#include <algorithm>
#include <utility>

#include "ask/errors.h"
#include "ask/pairs.h"
#include "ask/sampling_fields.h"
#include "base/errors.h"
#include "base/json.h"
#include "pando/score.h"

namespace pando::ask {
namespace {

Json score_list(const Envelope& envelope) {
  return {{"id", "score-" + envelope.id},
          {"object", "list"},
          {"created", envelope.created},
          {"model", envelope.model},
          {"data", Json::array()}};
}

class ScorePairsBody : public PairsBody {
 public:
  using PairsBody::add_pair;
  using PairsBody::PairsBody;
  bool has_one_query = false;
  RerankOptions options;

  std::string place(size_t request) const override {
    if (longest(request) == Text::kInstruction) return "instruction";
    if (longest(request) == Text::kQuery)
      return has_one_query ? "text_1" : place_in("text_1", pair_of(request));
    return questions.size() > 1 ? place_in("text_2", pair_of(request)) : "text_2";
  }

  Json answer() override {
    Json body = score_list(envelope_);
    for (const PairScore& score : pair_scores(options, completions().all())) {
      Json& entry = body["data"].emplace_back(
          Json{{"index", body["data"].size()}, {"object", "score"}, {"score", score.relevance}});
      if (score.mass) entry["mass"] = *score.mass;
    }
    add_prompt_usage(body, requests_of_pair(options));
    return body;
  }
};

class ScoreContinuationsBody : public Body {
 public:
  using Body::add_question;
  using Body::Body;

  std::string place(size_t request) const override {
    const size_t n_tokens = requests[request].tokens.size();
    const auto n_prompt = static_cast<size_t>(requests[request].prompt_logprobs_from.value_or(0));
    if (n_prompt > n_tokens - n_prompt) return "prompt";
    return place_in("continuations", first_of(requests, request));
  }

  Json answer() override {
    Json body = score_list(envelope_);
    for (const Completion& completion : taken_apart(completions().all())) {
      const ContinuationScore score = continuation_score(completion);
      body["data"].push_back({{"index", body["data"].size()},
                              {"object", "score"},
                              {"score", score.logprob},
                              {"tokens", score.n_tokens},
                              {"likeliest", score.likeliest}});
    }
    add_prompt_usage(body, 1);
    return body;
  }
};

Result<std::unique_ptr<Body>> pairs_body(Fields& fields, const BodyContext& context,
                                         const ServingFields& serving) {
  std::vector<std::string> first, second;
  fields.texts("text_1", first);
  fields.texts("text_2", second);
  bool has_instruction = false;
  const Result<RerankOptions> options = read_rerank_options(fields, context.model, has_instruction);
  if (!fields.status()) return fields.status().error();
  if (!options) return options.error();
  for (const char* name : {"text_1", "text_2"})
    if (!fields.has(name)) return missing_field(name);
  for (const auto& [name, texts] : {std::pair{"text_1", &first}, {"text_2", &second}})
    if (texts->empty()) return invalid_field(name, "has no texts, expected one or more");
  if (first.size() != 1 && first.size() != second.size())
    return invalid_field("text_1", "has {} texts, expected {}", first.size(),
                         second.size() == 1
                             ? "1, because 'text_2' has 1"
                             : fmt::format("1, or {} as in 'text_2'", second.size()));
  if (Status status = check_count("text_2", second.size(), requests_of_pair(*options)); !status)
    return status.error();
  const std::string& longest = *std::max_element(
      first.begin(), first.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  if (Status status = check_pairs(longest, second, *options, context.bounds); !status)
    return status.error();
  auto body = std::make_unique<ScorePairsBody>(context);
  body->serving = serving;
  body->has_one_query = first.size() == 1;
  body->options = *options;
  body->has_instruction = has_instruction;
  for (size_t i = 0; i < second.size(); ++i)
    if (Status status =
            body->add_pair(context, *options, first[first.size() == 1 ? 0 : i], second[i]);
        !status)
      return status.error();
  return std::unique_ptr<Body>(std::move(body));
}

Result<std::unique_ptr<Body>> continuations_body(Fields& fields, const BodyContext& context,
                                                 const ServingFields& serving) {
  std::string prompt;
  std::vector<std::string> continuations;
  fields.text("prompt", prompt);
  fields.text_list("continuations", continuations);
  if (!fields.status()) return fields.status().error();
  if (!fields.has("prompt") && !fields.has("continuations"))
    return invalid_argument(
        "the body has nothing to score, expected 'text_1' and 'text_2', or 'prompt' and "
        "'continuations'");
  for (const char* name : {"prompt", "continuations"})
    if (!fields.has(name)) return missing_field(name);
  if (continuations.empty())
    return invalid_field("continuations", "has no texts, expected one or more");
  if (Status status = check_count("continuations", continuations.size(), 1); !status)
    return status.error();
  size_t longest = 0;
  if (Status status = check_continuations(continuations); !status) return status.error();
  for (const std::string& text : continuations) longest = std::max(longest, text.size());
  if (Status status = context.bounds.add(continuations.size(), prompt.size() + longest); !status)
    return status.error();
  auto body = std::make_unique<ScoreContinuationsBody>(context);
  body->serving = serving;
  Question question;
  question.request.prompt = std::move(prompt);
  question.choices = std::move(continuations);
  question.as_given = true;
  if (Status status = body->add_question(context, std::move(question)); !status)
    return status.error().place.field.empty() && status.error().code == ErrorCode::kInvalidArgument
               ? blame("prompt", status.error())
               : status.error();
  return std::unique_ptr<Body>(std::move(body));
}

}  // namespace

Result<std::unique_ptr<Body>> read_score_body(const Json& json, const BodyContext& context) {
  Fields fields(json);
  const ServingFields serving = read_serving_fields(fields);
  const bool pairs = fields.has("text_1") || fields.has("text_2");
  if (pairs) {
    refuse_other_fields(fields,
                        std::initializer_list<std::string_view>{"text_1", "text_2", "instruction"});
  } else {
    refuse_other_fields(fields, std::initializer_list<std::string_view>{"prompt", "continuations"});
  }
  if (!fields.status()) return fields.status().error();
  return pairs ? pairs_body(fields, context, serving)
               : continuations_body(fields, context, serving);
}

}  // namespace pando::ask
