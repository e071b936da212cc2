// Bodies of /v1/answers: questions about one context.
#include <algorithm>
#include <memory>
#include <span>

#include "ask/answer_object.h"
#include "ask/body.h"
#include "ask/body_checks.h"
#include "ask/errors.h"
#include "ask/question_fields.h"
#include "ask/sampling_fields.h"
#include "ask/usage.h"
#include "base/errors.h"
#include "base/fields.h"
#include "pando/score.h"

namespace pando::ask {
namespace {

// How often a template has a field.
size_t n_times(const std::string& text, std::string_view field) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(field, at)) != std::string::npos; ++at) ++n;
  return n;
}

// Bytes of the prompt that a question gets.
size_t prompt_bytes(const AnswerOptions& options, size_t n_context, size_t n_question) {
  const std::string text = options.template_text();
  return options.instruction.size() * (1 + n_times(text, "{instruction}")) + text.size() +
         n_context * n_times(text, "{context}") + n_question * n_times(text, "{question}");
}

class AnswersBody : public Body {
 public:
  explicit AnswersBody(const BodyContext& context) : Body(context), model_(context.model) {}

  bool include_usage = false;

  std::string place(size_t request) const override {
    const size_t index = completions().question_of(request);
    const Question& question = questions[index];
    const std::string text = options.template_text();
    const std::string of_question = place_in("questions", index);
    std::string longest = of_question;
    size_t n_most = question.text.size() * n_times(text, "{question}");
    const auto weigh = [&](std::string field, size_t n_bytes) {
      if (n_bytes <= n_most) return;
      n_most = n_bytes;
      longest = std::move(field);
    };
    weigh("context", contexts[0].size() * n_times(text, "{context}"));
    weigh("instruction",
          options.instruction.size() * (options.chat ? 1 : n_times(text, "{instruction}")));
    if (options.prompt_template) weigh("template", text.size());
    if (!question.choices.empty()) {
      const size_t first = completions().first_request(index);
      const size_t choice = first_of(std::span(requests).subspan(first), request - first);
      const bool is_own = question.choices != options.choices;
      const std::string list = is_own ? of_question + ".choices" : "choices";
      weigh(place_in(list, choice), question.choices[choice].size());
    }
    return longest;
  }

  std::string form_place(size_t request) const override {
    const bool is_own = requests[request].sampling.form != options.sampling.form;
    return is_own ? place_in("questions", completions().question_of(request)) + ".schema"
                  : "schema";
  }

  // Makes the requests of all questions, which are read.
  Status add_requests(const BodyContext& context) {
    for (const Question& question : questions) {
      const size_t n_bytes = prompt_bytes(options, contexts[0].size(), question.text.size());
      Status status = question.choices.empty() ? context.bounds.add(1, n_bytes) : Status();
      for (const std::string& choice : question.choices)
        if (status) status = context.bounds.add(1, n_bytes + choice.size());
      if (!status) return status;
    }
    std::vector<Question> read;
    for (read.swap(questions); questions.size() < read.size();)
      if (Status status = add_question(context, std::move(read[questions.size()])); !status)
        return status;
    for (const Request& request : requests) {
      const bool reports_prompt = request.prompt_logprobs_from.has_value();
      if (const int n = request.sampling.max_tokens; n < (reports_prompt ? 0 : 1))
        return invalid_field("max_tokens", "is {}, expected at least {}", n,
                             reports_prompt ? "0" : "1, or 0 with 'prompt_logprobs'");
    }
    return {};
  }

  std::string end() override {
    Json last = head();
    last["object"] = "answers.end";
    add_counts(last, include_usage);
    std::string events;
    if (include_usage || serving.sharing || has_warnings()) events = stream_event(last);
    return events.append(kStreamEnd);
  }

  Json answer() override {
    Json json = head();
    json["answers"] = Json::array();
    for (size_t question = 0; question < questions.size(); ++question)
      for (const Completion& completion : answers_to(question)) {
        Json answer = {{"index", question}};
        answer.update(answer_object(*this, questions[question], completion, model_));
        json["answers"].push_back(std::move(answer));
      }
    add_counts(json, /*with_usage=*/true);
    return json;
  }

 protected:
  std::string write_answers(size_t question) override {
    std::string events;
    for (const Completion& completion : answers_to(question)) {
      Json answer = {{"id", name()}, {"object", "answer"}, {"index", question}};
      answer.update(answer_object(*this, questions[question], completion, model_));
      events += stream_event(answer);
    }
    return events;
  }

 private:
  std::string name() const { return "answers-" + envelope_.id; }

  Json head() const {
    return {{"id", name()},
            {"object", "answers"},
            {"created", envelope_.created},
            {"model", envelope_.model}};
  }

  // Counts them; the completions of the question are used up.
  std::vector<Completion> answers_to(size_t question) {
    sharing_.add(completions().of(question));
    std::vector<Completion> answers = answers_of(questions[question], completions().of(question));
    for (std::vector<Completion>& of_request : completions().of(question)) of_request.clear();
    usage_.add(answers);
    return answers;
  }

  void add_counts(Json& json, bool with_usage) const {
    if (with_usage) json["usage"] = usage_.json(/*cached=*/true);
    if (serving.sharing) json["sharing"] = sharing_.json();
    add_warnings(json);
  }

  const Model& model_;
  UsageCounts usage_;  // of what was answered
  SharingCounts sharing_;
};

// Lists of the body that each question gets a copy of.
Status check_copies(const Json& json, const Fields& fields, const SamplingOptions& sampling) {
  const auto n_of = [&](const char* name) { return fields.has(name) ? json[name].size() : 1; };
  constexpr size_t kMost = Bounds::kMostRequests;
  if (const size_t n = n_of("questions"); n > kMost)
    return invalid_field("questions", "has {} texts, expected at most {}", n, kMost);
  if (const size_t n = n_of("questions") * n_of("choices"); n > kMost)
    return invalid_field("choices",
                         "has {} texts, which makes {} for all questions, expected at most {}",
                         n_of("choices"), n, kMost);
  const size_t n_copied = list_bytes(sampling) +
                          (fields.has("choices") ? json["choices"].dump().size() : 0) +
                          (fields.has("schema") ? json["schema"].dump().size() : 0);
  return Bounds().add(n_of("questions"), n_copied);
}

}  // namespace

Result<std::unique_ptr<Body>> read_answers_body(const Json& json, const BodyContext& context) {
  auto body = std::make_unique<AnswersBody>(context);
  body->id = context.envelope.id;
  context.defaults.apply_to(body->options.sampling);
  Fields fields(json);
  body->serving = read_serving_fields(fields);
  fields.flag("stream", body->stream);
  fields.flag("chat", body->options.chat);
  const StreamOptions stream_options = read_stream_options(fields, body->stream);
  if (stream_options.continuous_usage_stats)
    fields.fail(invalid_field("stream_options.continuous_usage_stats",
                              "is true, expected false: each answer comes in one event"));
  body->include_usage = stream_options.include_usage;
  if (!fields.status()) return fields.status().error();
  // Fields of lines of a batch.
  for (const char* name : {"question", "id", "metadata", "custom_id", "url"})
    if (fields.has(name)) return invalid_field(name, "is unknown or unsupported");
  std::vector<std::string_view> others = {"stream", "stream_options", "chat"};
  for (const std::string_view name : serving_field_names()) others.push_back(name);
  const QuestionSource source{
      .json = json, .name = "body", .other_fields = others, .asking = "'context' and 'questions'"};
  // First: where one is misspelt, that is what is lacking.
  if (Status status = check_question_fields(source); !status) return status.error();
  for (const char* name : {"context", "questions"})
    if (!fields.has(name)) return missing_field(name);
  if (Status status = check_lists(json); !status) return status.error();
  SamplingOptions sampling = body->options.sampling;
  read_sampling(fields, kInLine, sampling);
  if (!fields.status()) return fields.status().error();
  if (Status status = check_copies(json, fields, sampling); !status) return status.error();
  if (Status status = read_questions(source, *body); !status) return status.error();
  yield_default_length(json, body->options.sampling);
  if (fields.has("max_tokens")) body->length_field = "max_tokens";
  if (Status status = body->add_requests(context); !status) return status.error();
  if (Status status = check_answers(body->requests, context, "top_logprobs"); !status)
    return status.error();
  return std::unique_ptr<Body>(std::move(body));
}

}  // namespace pando::ask
