#include "serve/answers_job.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/errors.h"
#include "base/fields.h"
#include "batch/input_line.h"
#include "batch/output_line.h"
#include "openai/errors.h"
#include "openai/sampling_fields.h"
#include "pando/score.h"

namespace pando::serve {
namespace {

using OrderedJson = nlohmann::ordered_json;
using openai::Completions;

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

class AnswersJob : public openai::Job {
 public:
  AnswersJob(BatchLine line, const openai::JobContext& context)
      : line_(std::move(line)), model_(context.model), envelope_(context.envelope) {
    line_.warning = envelope_.warning;
  }

  bool include_usage = false;
  bool with_sharing = false;

  std::string place(size_t request) const override {
    const size_t index = question_of_[request];
    const BatchQuestion& question = line_.questions[index];
    const AnswerOptions& options = line_.options;
    const std::string text = options.template_text();
    const std::string of_question = place_in("questions", index);
    std::string longest = of_question;
    size_t n_most = question.text.size() * n_times(text, "{question}");
    const auto weigh = [&](std::string field, size_t n_bytes) {
      if (n_bytes <= n_most) return;
      n_most = n_bytes;
      longest = std::move(field);
    };
    weigh("context", context_bytes() * n_times(text, "{context}"));
    weigh("instruction",
          options.instruction.size() * (options.chat ? 1 : n_times(text, "{instruction}")));
    if (options.prompt_template) weigh("template", text.size());
    if (!question.choices.empty()) {
      const size_t n_earlier = places_[index].first;
      const size_t choice = first_of(std::span(requests).subspan(n_earlier), request - n_earlier);
      const bool is_own = question.choices != options.choices;
      const std::string list = is_own ? of_question + ".choices" : "choices";
      weigh(place_in(list, choice), question.choices[choice].size());
    }
    return longest;
  }

  Status add_requests(const openai::JobContext& context) {
    for (const BatchQuestion& question : line_.questions) {
      const size_t n_bytes = prompt_bytes(line_.options, context_bytes(), question.text.size());
      Status status = question.choices.empty() ? context.bounds.add(1, n_bytes) : Status();
      for (const std::string& choice : question.choices)
        if (status) status = context.bounds.add(1, n_bytes + choice.size());
      if (!status) return status;
    }
    for (const BatchQuestion& question : line_.questions) {
      if (context.given_up()) return openai::given_up();
      Result<std::vector<Request>> of_question = requests_of(model_, line_, question);
      if (!of_question) return of_question.error();
      int n_open = 0;
      for (const Request& request : *of_question) {
        const bool reports_prompt = request.prompt_logprobs_from.has_value();
        if (const int n = request.sampling.max_tokens; n < (reports_prompt ? 0 : 1))
          return invalid_field("max_tokens", "is {}, expected at least {}", n,
                               reports_prompt ? "0" : "1, or 0 with 'prompt_logprobs'");
        question_of_.push_back(places_.size());
        n_open += request.sampling.n;
      }
      places_.push_back({requests.size(), of_question->size(), n_open});
      std::move(of_question->begin(), of_question->end(), std::back_inserter(requests));
    }
    heard_.resize(requests.size());
    return {};
  }

  // A question's answers, when the last of them is there.
  std::string hear(size_t request, const Event& event) override {
    if (!event.completion) return {};
    heard_[request].resize(static_cast<size_t>(requests[request].sampling.n));
    heard_[request][static_cast<size_t>(event.choice)] = *event.completion;
    const size_t question = question_of_[request];
    if (--places_[question].n_open > 0) return {};
    std::string events;
    std::vector<Completion> completions = answers_to(question, heard_);
    for (const Completion& completion : completions) {
      OrderedJson answer = {{"id", id()}, {"object", "answer"}, {"index", question}};
      answer.update(answer_json(question, completion));
      events += openai::stream_event(answer);
    }
    answered_.push_back(std::move(completions));
    return events;
  }

  std::string end(const Completions& completions) override {
    OrderedJson last = head();
    last["object"] = "answers.end";
    if (include_usage) last["usage"] = openai::usage(answered_, /*cached=*/true);
    if (with_sharing) last["sharing"] = openai::sharing(completions);
    return include_usage || with_sharing ? openai::stream_event(last) : std::string();
  }

  OrderedJson body(Completions& completions) override {
    OrderedJson json = head();
    const OrderedJson shared = openai::sharing(completions);
    Completions answers;
    json["answers"] = OrderedJson::array();
    for (size_t question = 0; question < places_.size(); ++question) {
      answers.push_back(answers_to(question, completions));
      for (const Completion& completion : answers.back()) {
        OrderedJson answer = {{"index", question}};
        answer.update(answer_json(question, completion));
        json["answers"].push_back(std::move(answer));
      }
    }
    json["usage"] = openai::usage(answers, /*cached=*/true);
    if (with_sharing) json["sharing"] = shared;
    return json;
  }

 private:
  struct Place {
    size_t first, n;  // requests
    int n_open;       // completions to come
  };

  size_t context_bytes() const { return line_.contexts.empty() ? 0 : line_.contexts[0].size(); }
  std::string id() const { return "answers-" + envelope_.id; }

  OrderedJson head() const {
    return {{"id", id()},
            {"object", "answers"},
            {"created", envelope_.created},
            {"model", envelope_.model}};
  }

  std::vector<Completion> answers_to(size_t question, Completions& completions) const {
    const auto [first, n, n_open] = places_[question];
    return answers_of(line_.questions[question], std::span(completions).subspan(first, n));
  }

  OrderedJson answer_json(size_t question, const Completion& completion) const {
    OrderedJson json = output_object(line_, line_.questions[question], completion, model_);
    json.erase("id");
    return json;
  }

  BatchLine line_;
  const Model& model_;
  openai::Envelope envelope_;
  std::vector<size_t> question_of_;  // [requests]
  std::vector<Place> places_;        // [questions]
  Completions heard_, answered_;     // of a stream
};

}  // namespace

Result<std::unique_ptr<openai::Job>> make_answers_job(const nlohmann::json& json,
                                                      const openai::JobContext& context) {
  nlohmann::json line = json;
  Fields fields(json);
  bool stream = false, cached = true, with_sharing = false;
  AnswerOptions defaults;
  fields.flag("stream", stream);
  fields.flag("cache_prompt", cached);
  fields.flag("cache", cached);
  int priority = 0;  // has no effect
  fields.integer("priority", priority);
  fields.flag("sharing", with_sharing);
  fields.flag("chat", defaults.chat);
  const StreamOptions stream_options = read_stream_options(fields, stream);
  if (stream_options.continuous_usage_stats)
    fields.fail(invalid_field("stream_options.continuous_usage_stats",
                              "is true, expected false: an answer comes in one event"));
  if (!fields.status()) return fields.status().error();
  for (const char* name : {"id", "question", "metadata", "custom_id", "url"})
    if (fields.has(name))
      return blame(name, invalid_argument("unknown or unsupported field '{}'", name));
  for (const char* name : {"model", "user", "stream", "stream_options", "cache", "cache_prompt",
                           "priority", "sharing", "chat"})
    line.erase(name);
  // First: where one is misspelt, that is what is lacking.
  if (Status status = check_field_names(line); !status) return status.error();
  for (const char* name : {"context", "questions"})
    if (!fields.has(name)) return openai::lacks(name);
  line["id"] = context.envelope.id;
  if (Status status = openai::check_lists(json); !status) return status.error();
  SamplingOptions sampling;
  read_sampling(fields, kInLine, sampling);
  if (!fields.status()) return fields.status().error();
  // Choices and lists of the line are copied to each question.
  const auto n_of = [&](const char* name) { return fields.has(name) ? json[name].size() : 1; };
  constexpr size_t kMost = openai::Bounds::kMostRequests;
  if (const size_t n = n_of("questions"); n > kMost)
    return invalid_field("questions", "has {} texts, expected at most {}", n, kMost);
  if (const size_t n = n_of("questions") * n_of("choices"); n > kMost)
    return invalid_field("choices", "has {} texts, {} for all questions, expected at most {}",
                         n_of("choices"), n, kMost);
  const size_t n_copied =
      list_bytes(sampling) + (fields.has("choices") ? json["choices"].dump().size() : 0);
  if (Status status = openai::Bounds().add(n_of("questions"), n_copied); !status)
    return status.error();
  Result<BatchLine> parsed = read_line(line, 1, defaults);
  if (!parsed) return parsed.error();
  auto job = std::make_unique<AnswersJob>(std::move(*parsed), context);
  job->stream = stream;
  job->cached = cached;
  if (fields.has("max_tokens")) job->length_field = "max_tokens";
  job->include_usage = stream_options.include_usage;
  job->with_sharing = with_sharing;
  if (Status status = job->add_requests(context); !status) return status.error();
  if (Status status = openai::check_answers(job->requests, context, "top_logprobs"); !status)
    return status.error();
  return std::unique_ptr<openai::Job>(std::move(job));
}

}  // namespace pando::serve
