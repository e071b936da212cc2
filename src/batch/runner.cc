#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <istream>
#include <mutex>
#include <ostream>
#include <unordered_map>

#include "base/errors.h"
#include "batch/input_line.h"
#include "batch/output_line.h"
#include "pando/batch.h"
#include "task/choices.h"
#include "task/metrics.h"

namespace pando {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kProgressEvery{500};

// Finished answers and errors, from the engine's thread to the runner's. Outlives both.
class Mailbox {
 public:
  void put(Event event) {
    {
      std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    arrived_.notify_one();
  }
  // Everything that arrived; waits for something, or for the time of a progress report.
  std::deque<Event> take(bool wait) {
    std::unique_lock lock(mutex_);
    if (wait) arrived_.wait_for(lock, kProgressEvery, [&] { return !events_.empty(); });
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Event> events_;
};

// A question under way. With choices it is several requests, otherwise one.
struct OpenQuestion {
  std::string id_json;
  BatchQuestion question;
  uint64_t line_number;
  std::vector<Completion> scored;  // [choices]
  int n_open;                      // answers, or choices, that are not finished
  bool failed = false;             // its other requests are of no use

  // Its requests have it; a long context must not stay once for every question.
  void drop_prompt() {
    question.request.prompt = {};
    question.request.messages = {};
    question.request.tokens = {};
  }
};

struct OpenRequest {
  std::shared_ptr<OpenQuestion> question;
  size_t index;  // among the question's requests
  Request request;
};

class Runner {
 public:
  Runner(Engine& engine, std::istream& input, uint64_t input_bytes, std::ostream& output,
         const BatchOptions& options)
      : engine_(engine),
        input_(input),
        input_bytes_(input_bytes),
        output_(output),
        options_(options),
        before_(engine.stats()),
        start_(Clock::now()) {
    // Enough to fill the engine's running set and find what comes next, and no more.
    most_open_ =
        std::min(2 * int64_t{engine.options().max_running}, int64_t{engine.options().max_open});
  }

  Result<BatchSummary> run() {
    Status status;
    while (status.ok() && (read_ahead() || !open_.empty())) {
      for (const Event& event : mailbox_->take(/*wait=*/true))
        if (status.ok()) status = handle(event);
      if (status.ok() && !output_.flush())
        status = io_error("cannot write the output");  // a killed run keeps it
      report_progress();
    }
    if (status.ok() && input_.bad())
      status = io_error("cannot read the input after line {}", line_number_);
    if (!status) {
      for (const auto& [id, open] : open_) engine_.cancel(id);
      return status.error();
    }
    summary_.seconds = seconds();
    summary_.stats = engine_.stats().since(before_);
    if (summary_.scored > 0) {
      summary_.exact_match /= static_cast<double>(summary_.scored);
      summary_.token_f1 /= static_cast<double>(summary_.scored);
    }
    return summary_;
  }

 private:
  // Submits questions until enough are open. False at the end of the input.
  bool read_ahead() {
    while (n_open_ < most_open_) {
      if (requests_.empty() && questions_.empty() && !read_line()) return false;
      if (requests_.empty() && !questions_.empty()) take_question();
      while (!requests_.empty() && n_open_ < most_open_) {
        OpenRequest next = std::move(requests_.front());
        requests_.pop_front();
        if (!next.question->failed && !submit(std::move(next))) return true;
      }
    }
    return true;
  }

  bool read_line() {
    std::string text;
    while (std::getline(input_, text)) {
      ++line_number_;
      bytes_read_ += text.size() + 1;
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      ++summary_.lines;
      Result<BatchLine> line = parse_line(text, line_number_, options_.defaults);
      if (!line) {
        ++summary_.bad_lines;
        problem(fmt::format("line {}: {}", line_number_, line.error().message));
        continue;
      }
      for (BatchQuestion& question : line->questions)
        questions_.push_back(std::make_shared<OpenQuestion>(
            OpenQuestion{line->id_json, std::move(question), line_number_, {}, 0}));
      return true;
    }
    return false;
  }

  // Makes the requests of the next question that was read.
  void take_question() {
    const std::shared_ptr<OpenQuestion> open = std::move(questions_.front());
    questions_.pop_front();
    const BatchQuestion& question = open->question;
    if (question.choices.empty()) {
      open->n_open = question.request.sampling.n;
      requests_.push_back({open, 0, question.request});
      return open->drop_prompt();
    }
    Result<std::vector<Request>> requests =
        choice_requests(engine_.model(), question.request, question.choices);
    open->drop_prompt();
    if (!requests) return fail(*open, requests.error());
    open->n_open = static_cast<int>(requests->size());
    open->scored.resize(requests->size());
    for (size_t i = 0; i < requests->size(); ++i)
      requests_.push_back({open, i, std::move((*requests)[i])});
  }

  // False where the engine cannot take it now.
  bool submit(OpenRequest next) {
    OpenQuestion& question = *next.question;
    Result<RequestId> id = engine_.submit(next.request, [mailbox = mailbox_](const Event& event) {
      if (event.completion || event.error) mailbox->put(event);
    });
    if (id) {
      n_open_ += next.request.sampling.n;
      next.request.prompt = {};  // the engine has its tokens
      next.request.messages = {};
      next.request.tokens = {};
      open_.emplace(*id, std::move(next));
    } else if (id.error().code == ErrorCode::kUnavailable && !open_.empty()) {
      requests_.push_front(
          std::move(next));  // the engine is shared and full: again after the next answer
      return false;
    } else {
      fail(question, id.error());
    }
    return true;
  }

  Status handle(const Event& event) {
    const auto found = open_.find(event.request);
    if (found == open_.end()) return {};  // of a question that failed
    const std::shared_ptr<OpenQuestion> open = found->second.question;
    if (event.error) {
      fail(*open, *event.error);
      return {};
    }
    --n_open_;
    --open->n_open;
    const BatchQuestion& question = open->question;
    if (question.choices.empty()) {
      if (open->n_open == 0) open_.erase(found);
      return take(*open, *event.completion);
    }
    open->scored[found->second.index] = *event.completion;
    open_.erase(found);
    if (open->n_open > 0) return {};
    return take(*open, likeliest_choice(question.choices, open->scored));
  }

  Status take(const OpenQuestion& open, const Completion& completion) {
    const BatchQuestion& question = open.question;
    if (!(output_ << output_line(open.id_json, question, completion, engine_.model()) << '\n'))
      return io_error("cannot write the output after {} answers", summary_.answers);
    ++summary_.answers;
    if (options_.on_answer)
      options_.on_answer({{open.line_number, question.index, completion.choice},
                          question.request.id,
                          question.text,
                          completion});
    score(question, completion);
    if (question.request.logits_hash) {
      const std::string name = fmt::format("{}#{}", question.request.id, completion.choice);
      summary_.combined_hash +=
          XXH3_64bits_withSeed(name.data(), name.size(), completion.logits_hash);
    }
    return {};
  }

  void score(const BatchQuestion& question, const Completion& completion) {
    if (!question.answers) return;
    ++summary_.scored;
    summary_.exact_match += exact_match(completion.text, *question.answers);
    summary_.token_f1 += token_f1(completion.text, *question.answers);
  }

  // The question is over, with all its requests.
  void fail(OpenQuestion& open, const Error& error) {
    open.failed = true;
    for (auto it = open_.begin(); it != open_.end();) {
      if (it->second.question.get() != &open) {
        ++it;
        continue;
      }
      engine_.cancel(it->first);
      n_open_ -= open.question.choices.empty() ? open.n_open : 1;
      it = open_.erase(it);
    }
    const bool skipped = error.code == ErrorCode::kTooLong && options_.skip_too_long;
    ++(skipped ? summary_.skipped : summary_.failed);
    const std::string where =
        open.question.id ? fmt::format(", question '{}'", *open.question.id) : "";
    problem(fmt::format("line {}{}: {}{}", open.line_number, where, skipped ? "left out: " : "",
                        error.message));
  }

  void problem(const std::string& message) {
    if (options_.on_problem) options_.on_problem(message);
  }

  void report_progress() {
    if (!options_.on_progress || Clock::now() - last_report_ < kProgressEvery) return;
    last_report_ = Clock::now();
    const double share =
        input_bytes_ > 0 ? static_cast<double>(bytes_read_) / static_cast<double>(input_bytes_) : 0;
    options_.on_progress(
        {summary_.answers, std::min(1.0, share), seconds(), engine_.stats().since(before_)});
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  Engine& engine_;
  std::istream& input_;
  uint64_t input_bytes_;
  std::ostream& output_;
  const BatchOptions& options_;
  EngineStats before_;
  Clock::time_point start_;
  Clock::time_point last_report_ = start_;
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  std::deque<std::shared_ptr<OpenQuestion>> questions_;  // read
  std::deque<OpenRequest> requests_;                     // of the question that is submitted next
  std::unordered_map<RequestId, OpenRequest> open_;
  int64_t n_open_ = 0;  // answers
  int64_t most_open_ = 0;
  uint64_t line_number_ = 0;
  uint64_t bytes_read_ = 0;
  BatchSummary summary_;
};

}  // namespace

Result<BatchSummary> run_batch(Engine& engine, std::istream& input, uint64_t input_bytes,
                               std::ostream& output, const BatchOptions& options) {
  if (options.defaults.chat) {  // a template that is not known fails every question
    const Request probe = question_request(options.defaults, "", "");
    const Result<std::string> text = engine.model().render_chat(probe.messages, probe.chat);
    if (!text) return text.error();
  }
  return Runner(engine, input, input_bytes, output, options).run();
}

}  // namespace pando
