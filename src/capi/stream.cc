// Streams of pando.h.
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "batch/input_line.h"
#include "capi/question_stream.h"
#include "capi/completion_arrays.h"
#include "capi/handles.h"
#include "capi/options.h"
#include "capi/status.h"
#include "pando/score.h"
#include "task/choices.h"

using namespace pando;
using namespace pando::capi;
using Json = nlohmann::json;

struct pando_stream {
  pando_stream(std::shared_ptr<Engine> engine, std::vector<Question> questions)
      : events(std::move(engine), std::move(questions)), completions(events.n_questions()) {}

  QuestionStream events;
  std::vector<std::vector<std::unique_ptr<CompletionArrays>>> completions;  // [questions][n]
  std::string text;                                                         // of the last event
};

namespace {

pando_status open(pando_engine* engine, std::vector<Question> questions, pando_stream** stream) {
  *stream = new pando_stream(engine->engine, std::move(questions));
  return PANDO_OK;
}

// The questions of a line; `text` is what it was read from. `change` is free to alter the request
// of each, by its index.
template <class Change>
pando_status open_line(pando_engine* engine, const Json& line, const AnswerOptions& defaults,
                       pando_stream** stream, const Change& change, std::string_view text = {}) {
  Result<BatchLine> read = read_line(line, 1, defaults, text);
  if (!read) return fail(read.error());
  if (read->refused) return fail(*read->refused);
  std::vector<Question> questions;
  for (BatchQuestion& asked : read->questions) {
    Request request = request_of(*read, asked);
    change(questions.size(), request);
    Question& question = questions.emplace_back();
    question.choices = std::move(asked.choices);
    if (question.choices.empty()) {
      question.requests.push_back(std::move(request));
      continue;
    }
    Result<std::vector<Request>> requests =
        choice_requests(engine->engine->model(), request, question.choices);
    if (!requests) return fail(requests.error());
    question.requests = std::move(*requests);
  }
  return open(engine, std::move(questions), stream);
}

constexpr auto kUnchanged = [](size_t, Request&) {};

QuestionStream::Deadline deadline_in(double timeout_s) {
  constexpr double kForEver = 1e9;  // seconds; a clock has no room for all that a double can say
  if (!(timeout_s >= 0) || timeout_s > kForEver) return std::nullopt;
  using Clock = std::chrono::steady_clock;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
}

pando_status next_until(pando_stream* stream, QuestionStream::Deadline deadline, pando_event* out) {
  Event event;
  size_t question = 0;
  const Result<QuestionStream::What> what = stream->events.next(deadline, event, question);
  if (!what) return fail(what.error());
  if (*what == QuestionStream::What::kTimeout) return PANDO_TIMEOUT;
  if (*what == QuestionStream::What::kEnd) return PANDO_END;
  if (*what == QuestionStream::What::kCancelled) return PANDO_CANCELLED;
  const size_t choice = static_cast<size_t>(event.choice);
  stream->text = std::move(event.text);
  *out = {.question = question,
          .choice = event.choice,
          .text = stream->text.c_str(),
          .text_size = stream->text.size(),
          .completion = nullptr};
  if (!event.completion) return PANDO_OK;
  auto& completions = stream->completions[question];
  if (completions.size() <= choice) completions.resize(choice + 1);
  completions[choice] = std::make_unique<CompletionArrays>(std::move(*event.completion));
  out->completion = completions[choice]->view();
  return PANDO_OK;
}

}  // namespace

pando_status pando_ask(pando_engine* engine, const char* context, const char* const* questions,
                       size_t n_questions, const char* options, pando_stream** stream) {
  return guarded([&] {
    if (engine == nullptr) return fail(null_argument("engine"));
    if (context == nullptr) return fail(null_argument("context"));
    if (stream == nullptr) return fail(null_argument("stream"));
    AnswerOptions defaults;
    Result<Json> line = read_line_json(or_empty(options), defaults);
    if (!line) return fail(line.error());
    Json& list = (*line)["questions"] = Json::array();
    for (size_t i = 0; i < n_questions; ++i) {
      if (questions == nullptr || questions[i] == nullptr) return fail(null_argument("question"));
      list.push_back(questions[i]);
    }
    (*line)["context"] = context;
    // As pando::answer names them, so that they draw alike.
    return open_line(engine, *line, defaults, stream,
                     [](size_t i, Request& request) { request.id = std::to_string(i); });
  });
}

pando_status pando_prompt(pando_engine* engine, const char* prompt, const char* options,
                          pando_stream** stream) {
  return guarded([&] {
    if (engine == nullptr) return fail(null_argument("engine"));
    if (prompt == nullptr) return fail(null_argument("prompt"));
    if (stream == nullptr) return fail(null_argument("stream"));
    AnswerOptions defaults;
    Result<Json> line = read_line_json(or_empty(options), defaults);
    if (!line) return fail(line.error());
    (*line)["prompt"] = prompt;
    return open_line(engine, *line, defaults, stream, kUnchanged);
  });
}

pando_status pando_prompt_tokens(pando_engine* engine, const int32_t* tokens, size_t n_tokens,
                                 const char* options, pando_stream** stream) {
  return guarded([&] {
    if (engine == nullptr) return fail(null_argument("engine"));
    if (tokens == nullptr || n_tokens == 0) return fail(null_argument("tokens"));
    if (stream == nullptr) return fail(null_argument("stream"));
    AnswerOptions defaults;
    Result<Json> line = read_line_json(or_empty(options), defaults);
    if (!line) return fail(line.error());
    (*line)["tokens"] = Json::array({0u});  // in their place; millions of them are not made JSON
    return open_line(engine, *line, defaults, stream, [&](size_t, Request& request) {
      request.tokens.assign(tokens, tokens + n_tokens);
    });
  });
}

pando_status pando_ask_line(pando_engine* engine, const char* text, size_t size,
                            pando_stream** stream) {
  return guarded([&] {
    if (engine == nullptr) return fail(null_argument("engine"));
    if (text == nullptr) return fail(null_argument("line"));
    if (stream == nullptr) return fail(null_argument("stream"));
    AnswerOptions defaults;
    const Result<Json> line = read_line_json(std::string_view(text, size), defaults);
    if (!line) return fail(line.error());
    return open_line(engine, *line, defaults, stream, kUnchanged, std::string_view(text, size));
  });
}

pando_status pando_score(pando_engine* engine, const char* prefix, const char* const* continuations,
                         size_t n, pando_stream** stream) {
  return guarded([&] {
    if (engine == nullptr) return fail(null_argument("engine"));
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
    if (stream == nullptr) return fail(null_argument("stream"));
    if (event == nullptr) return fail(null_argument("event"));
    return next_until(stream, deadline_in(timeout_s), event);
  });
}

pando_status pando_wait(pando_stream* stream, double timeout_s) {
  return guarded([&] {
    if (stream == nullptr) return fail(null_argument("stream"));
    const QuestionStream::Deadline deadline = deadline_in(timeout_s);
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
    if (stream != nullptr) stream->events.cancel();
    return PANDO_OK;
  });
}

void pando_stream_free(pando_stream* stream) { delete stream; }
