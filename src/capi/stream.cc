// Streams of pando.h.
#include <unistd.h>

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "api/model_access.h"
#include "ask/line.h"
#include "ask/question_fields.h"
#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "capi/completion_arrays.h"
#include "capi/handles.h"
#include "capi/options.h"
#include "capi/question_stream.h"
#include "capi/status.h"
#include "pando/score.h"

using namespace pando;
using namespace pando::capi;

struct pando_stream {
  pando_stream(std::shared_ptr<Engine> engine, std::vector<Question> questions)
      : events(std::move(engine), std::move(questions)), completions(events.n_questions()) {}

  const pid_t process = getpid();
  QuestionStream events;
  std::vector<std::vector<std::unique_ptr<CompletionArrays>>> completions;  // [questions][n]
  std::string text, reasoning;                                              // of the last event
  std::vector<ToolCall> calls;                                              // the same
  std::vector<pando_tool_call> call_views;
};

namespace {

pando_status open(pando_engine* engine, std::vector<Question> questions, pando_stream** stream) {
  *stream = new pando_stream(engine->engine, std::move(questions));
  return PANDO_OK;
}

// Asks what a job holds, whose questions are read.
pando_status open_job(pando_engine* engine, ask::Job& job, pando_stream** stream) {
  std::vector<Question> questions;
  for (ask::Question& asked : job.questions) {
    Result<std::vector<Request>> requests = job.requests_of(engine->engine->model(), asked);
    if (!requests) return fail(requests.error());
    questions.push_back({std::move(*requests), std::move(asked.choices)});
  }
  return open(engine, std::move(questions), stream);
}

// Opens the questions that are given beside the options.
pando_status open_questions(pando_engine* engine, const char* options, ask::QuestionInput given,
                            pando_stream** stream) {
  ask::Job job;
  const Result<Json> json = read_question_json(or_empty(options), job.options);
  if (!json) return fail(json.error());
  if (!given.context) job.id = "1";  // as that of the only line of an input
  if (Fields(*json).has("id")) {
    Result<std::string> id = ask::read_id(*json, "options");
    if (!id) return fail(id.error());
    if (!given.context) job.id = std::move(*id);  // questions go by their index
  }
  const ask::QuestionSource source{
      .json = *json, .name = "options", .other_fields = question_flags()};
  if (Status status = ask::read_options(source, std::move(given), job); !status)
    return fail(status.error());
  return open_job(engine, job, stream);
}

pando_status next_event(pando_stream* stream, Deadline deadline, pando_event* out) {
  Event event;
  size_t question = 0;
  const Result<What> what = stream->events.next(deadline, event, question);
  if (!what) return fail(what.error());
  if (*what == What::kTimeout) return PANDO_TIMEOUT;
  if (*what == What::kEnd) return PANDO_END;
  if (*what == What::kCancelled) return PANDO_CANCELLED;
  const size_t choice = static_cast<size_t>(event.choice);
  stream->text = std::move(event.text);
  stream->reasoning = std::move(event.reasoning);
  stream->calls = std::move(event.calls);
  stream->call_views = views_of(stream->calls);
  *out = {.question = question,
          .choice = event.choice,
          .text = stream->text.c_str(),
          .text_size = stream->text.size(),
          .completion = nullptr,
          .reasoning = stream->reasoning.c_str(),
          .reasoning_size = stream->reasoning.size(),
          .calls = stream->call_views.empty() ? nullptr : stream->call_views.data(),
          .n_calls = stream->call_views.size()};
  if (!event.completion) return PANDO_OK;
  auto& completions = stream->completions[question];
  if (completions.size() <= choice) completions.resize(choice + 1);
  completions[choice] = std::make_unique<CompletionArrays>(std::move(*event.completion));
  out->completion = completions[choice]->view();
  return PANDO_OK;
}

// As the above. Nobody waits for an event for which there was no memory.
pando_status next_until(pando_stream* stream, Deadline deadline, pando_event* out) {
  try {
    return next_event(stream, deadline, out);
  } catch (const std::bad_alloc&) {
    return fail(stream->events.end_without_memory());
  }
}

}  // namespace

pando_status pando_ask(pando_engine* engine, const char* context, const char* const* questions,
                       size_t n_questions, const char* options, pando_stream** stream) {
  return guarded([&] {
    if (Status status = check_handle(engine, "engine"); !status) return fail(status.error());
    if (context == nullptr) return fail(null_argument("context"));
    if (stream == nullptr) return fail(null_argument("stream"));
    ask::QuestionInput given{.context = context};
    for (size_t i = 0; i < n_questions; ++i) {
      if (questions == nullptr || questions[i] == nullptr) return fail(null_argument("question"));
      given.questions.emplace_back(questions[i]);
    }
    return open_questions(engine, options, std::move(given), stream);
  });
}

pando_status pando_prompt(pando_engine* engine, const char* prompt, const char* options,
                          pando_stream** stream) {
  return guarded([&] {
    if (Status status = check_handle(engine, "engine"); !status) return fail(status.error());
    if (prompt == nullptr) return fail(null_argument("prompt"));
    if (stream == nullptr) return fail(null_argument("stream"));
    return open_questions(engine, options, {.prompt = prompt}, stream);
  });
}

pando_status pando_prompt_tokens(pando_engine* engine, const int32_t* tokens, size_t n_tokens,
                                 const char* options, pando_stream** stream) {
  return guarded([&] {
    if (Status status = check_handle(engine, "engine"); !status) return fail(status.error());
    if (tokens == nullptr || n_tokens == 0) return fail(null_argument("tokens"));
    if (stream == nullptr) return fail(null_argument("stream"));
    return open_questions(engine, options, {.tokens = {tokens, tokens + n_tokens}}, stream);
  });
}

pando_status pando_ask_line(pando_engine* engine, const char* text, size_t size,
                            pando_stream** stream) {
  return guarded([&] {
    if (Status status = check_handle(engine, "engine"); !status) return fail(status.error());
    if (text == nullptr) return fail(null_argument("line"));
    if (stream == nullptr) return fail(null_argument("stream"));
    const std::string_view line(text, size);
    BatchOptions options;
    const Result<Json> json = read_question_json(line, options.defaults);
    if (!json) return fail(json.error());
    const Model& model = engine->engine->model();
    const Result<EmbedOptions> embed = embed_options_for(model, {});
    const Result<std::unique_ptr<ask::Line>> read = ask::read_answer_line(
        *json, {.number = 1, .options = options, .embed = embed, .other_fields = question_flags()});
    if (!read) return fail(read.error());
    if ((*read)->refused) return fail(*(*read)->refused);
    return open_job(engine, **read, stream);
  });
}

pando_status pando_score(pando_engine* engine, const char* prefix, const char* const* continuations,
                         size_t n, pando_stream** stream) {
  return guarded([&] {
    if (Status status = check_handle(engine, "engine"); !status) return fail(status.error());
    if (prefix == nullptr) return fail(null_argument("prefix"));
    if (stream == nullptr) return fail(null_argument("stream"));
    std::vector<std::string> texts;
    for (size_t i = 0; i < n; ++i) {
      if (continuations == nullptr || continuations[i] == nullptr)
        return fail(null_argument("continuation"));
      texts.emplace_back(continuations[i]);
    }
    Result<std::vector<Request>> requests =
        continuation_requests(engine->engine->model(), prefix, texts);
    if (!requests) return fail(requests.error());
    std::vector<Question> questions;
    for (Request& request : joined(std::move(*requests)))
      questions.push_back({{std::move(request)}, {}});
    return open(engine, std::move(questions), stream);
  });
}

pando_status pando_next(pando_stream* stream, double timeout_s, pando_event* event) {
  return guarded([&] {
    if (Status status = check_handle(stream, "stream"); !status) return fail(status.error());
    if (event == nullptr) return fail(null_argument("event"));
    return next_until(stream, deadline_in(timeout_s), event);
  });
}

pando_status pando_wait(pando_stream* stream, double timeout_s) {
  return guarded([&] {
    if (Status status = check_handle(stream, "stream"); !status) return fail(status.error());
    const Deadline deadline = deadline_in(timeout_s);
    pando_event event;
    pando_status status = PANDO_OK;
    while (status == PANDO_OK) status = next_until(stream, deadline, &event);
    return status == PANDO_END ? PANDO_OK : status;
  });
}

const pando_completion* pando_completion_of(const pando_stream* stream, size_t question,
                                            size_t choice) {
  if (stream == nullptr || question >= stream->completions.size()) return nullptr;
  const auto& completions = stream->completions[question];
  if (choice >= completions.size() || !completions[choice]) return nullptr;
  return completions[choice]->view();
}

void pando_cancel(pando_stream* stream) {
  guarded([&] {
    if (is_here(stream)) stream->events.cancel();
    return PANDO_OK;
  });
}

int pando_stream_descriptor(pando_stream* stream) {
  return is_here(stream) ? stream->events.descriptor() : -1;
}

void pando_stream_free(pando_stream* stream) {
  if (is_here(stream)) delete stream;
}
