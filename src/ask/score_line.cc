// Continuations to be scored.
#include <algorithm>
#include <memory>

#include "ask/line.h"
#include "ask/sampling_fields.h"
#include "base/counted.h"
#include "base/errors.h"
#include "base/json.h"
#include "pando/score.h"
#include "task/choices.h"

namespace pando::ask {
namespace {

// {"prompt", "continuations"}
Status read_continuations(Fields& fields, Question& question) {
  fields.text("prompt", question.request.prompt);
  fields.text_list("continuations", question.choices);
  if (!fields.status()) return fields.status();
  for (const char* name : {"prompt", "continuations"})
    if (!fields.has(name)) return invalid_argument("the line has no '{}'", name);
  return check_continuations(question.choices);
}

Status take_pair(const Json& prompt, const Json& continuation, Question& question) {
  const size_t i = question.choices.size();
  for (const Json* text : {&prompt, &continuation})
    if (!text->is_string())
      return invalid_argument("field 'arguments' has {} in pair {}, expected two strings",
                              found_text(*text), i);
  if (continuation.get_ref<const std::string&>().empty())
    return invalid_argument(
        "field 'arguments' has an empty continuation in pair {}, expected at least one character",
        i);
  question.prefixes.push_back(prompt.get<std::string>());
  question.choices.push_back(continuation.get<std::string>());
  return {};
}

// [[prompt, continuation], ...], or {"gen_args_0": {"arg_0": prompt, "arg_1": continuation}, ...}
Status read_arguments(const Json& arguments, Question& question) {
  if (!arguments.is_structured())
    return invalid_argument("field 'arguments' is {}, expected a list or an object",
                            found_text(arguments));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool named = arguments.is_object();
    const std::string name = fmt::format("gen_args_{}", i);
    if (named && !arguments.contains(name))
      return invalid_argument(
          "field 'arguments' has {} but no '{}', expected a pair for each of gen_args_0, "
          "gen_args_1, ...",
          counted(arguments.size(), "entries"), name);
    const Json& pair = named ? arguments[name] : arguments[i];
    const bool good = named ? pair.is_object() && pair.contains("arg_0") && pair.contains("arg_1")
                            : pair.is_array() && pair.size() == 2;
    if (!good)
      return invalid_argument("field 'arguments' has {} as entry {}, expected {}", found_text(pair),
                              i, named ? "'arg_0' and 'arg_1'" : "a prompt and its continuation");
    if (Status status = named ? take_pair(pair["arg_0"], pair["arg_1"], question)
                              : take_pair(pair[0], pair[1], question);
        !status)
      return status;
  }
  question.of_pairs = true;
  const std::vector<std::string>& prompts = question.prefixes;
  if (!prompts.empty() && std::all_of(prompts.begin(), prompts.end(),
                                      [&](const auto& other) { return other == prompts[0]; })) {
    question.request.prompt = prompts[0];
    question.prefixes.clear();
  }
  return {};
}

// The right one's text, or its index as a number or in digits.
Status read_target(const Json& target, Question& question) {
  const std::vector<std::string>& choices = question.choices;
  const std::string text = target.is_string() ? target.get<std::string>() : target.dump();
  size_t right = target.is_string()
                     ? std::find(choices.begin(), choices.end(), text) - choices.begin()
                     : choices.size();
  for (size_t i = 0; i < choices.size() && right == choices.size(); ++i)
    if (text == std::to_string(i)) right = i;
  if (right == choices.size())
    return invalid_argument("field 'target' is {}, expected an index below {} or a continuation",
                            found_text(target), choices.size());
  question.answers.emplace().push_back(choices[right]);
  return {};
}

class ScoreLine : public Line {
 public:
  std::vector<Json> written(const Answered& answered, const LineWriting&) const override {
    if (answered.error != nullptr) return {};
    const Question& question = questions[0];
    Json output;
    output["id"] = id_json;
    Json scores = Json::array();
    std::vector<double> logprobs;
    for (const Completion& scored : taken_apart(answered.completions)) {
      const ContinuationScore score = continuation_score(scored);
      scores.push_back(
          {{"logprob", score.logprob}, {"tokens", score.n_tokens}, {"likeliest", score.likeliest}});
      logprobs.push_back(score.logprob);
    }
    output["scores"] = std::move(scores);
    output["best"] = likeliest(logprobs);
    output["best_per_byte"] = likeliest_per(Per::kByte, question.choices, logprobs);
    if (!warning.empty()) output["wrong"] = warning;
    if (!question.metadata.empty()) output["metadata"] = question.metadata;
    return one_object(std::move(output));
  }
};

}  // namespace

Result<std::unique_ptr<Line>> read_score_line(const Json& json, const LineContext& context) {
  constexpr std::string_view kFields[] = {"id", "prompt", "continuations", "target", "metadata"};
  auto line = std::make_unique<ScoreLine>();
  if (Status status = begin_line(json, context, *line); !status) return status.error();
  Question question{.as_given = true, .metadata = Json::object()};
  Fields fields(json);
  const bool of_harness = fields.has("arguments");  // it writes many more fields
  if (!of_harness) only_without_answers(fields, kFields);
  if (of_harness && fields.has("doc_id") && !fields.has("id")) {
    line->id_json = sorted_json(json["doc_id"]);
    line->id = json_text(line->id_json);
  }
  if (!of_harness) read_metadata(fields, question.metadata);
  if (!fields.status()) return fields.status().error();
  if (Status status = of_harness ? read_arguments(json["arguments"], question)
                                 : read_continuations(fields, question);
      !status)
    return status.error();
  if (question.choices.empty())
    return invalid_argument("field '{}' is {}, expected a non-empty list",
                            of_harness ? "arguments" : "continuations",
                            found_text(json[of_harness ? "arguments" : "continuations"]));
  if (fields.has("target"))
    if (Status status = read_target(json["target"], question); !status) {
      if (!of_harness) return status.error();
      question.answers.reset();  // of a form that the harness alone understands
    }
  question.request.id = line->id;
  question.request.logits_hash = line->options.logits_hash;
  line->questions.push_back(std::move(question));
  return std::unique_ptr<Line>(std::move(line));
}

}  // namespace pando::ask
