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

struct OpenQuestion {
  std::string id_json;
  BatchQuestion question;
  uint64_t line_number;
  int n_open;  // answers not finished
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
      if (queued_.empty() && !read_line()) return false;
      while (!queued_.empty() && n_open_ < most_open_) {
        OpenQuestion next = std::move(queued_.front());
        queued_.pop_front();
        if (!submit(std::move(next))) return true;
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
      for (BatchQuestion& question : line->questions) {
        const int n = question.request.sampling.n;
        queued_.push_back({line->id_json, std::move(question), line_number_, n});
      }
      return true;
    }
    return false;
  }

  // False where the engine cannot take it now.
  bool submit(OpenQuestion open) {
    const int n = open.n_open;
    Result<RequestId> id =
        engine_.submit(open.question.request, [mailbox = mailbox_](const Event& event) {
          if (event.completion || event.error) mailbox->put(event);
        });
    if (id) {
      open.question.request.prompt.clear();  // the engine has its tokens
      open.question.request.messages.clear();
      open.question.request.tokens.clear();
      n_open_ += n;
      open_.emplace(*id, std::move(open));
    } else if (id.error().code == ErrorCode::kUnavailable && !open_.empty()) {
      queued_.push_front(
          std::move(open));  // the engine is shared and full: again after the next answer
      return false;
    } else if (id.error().code == ErrorCode::kTooLong && options_.skip_too_long) {
      ++summary_.skipped;
    } else {
      fail(open, id.error());
    }
    return true;
  }

  Status handle(const Event& event) {
    const auto found = open_.find(event.request);
    OpenQuestion& open = found->second;
    if (event.error) {
      fail(open, *event.error);
      n_open_ -= open.n_open;
      open_.erase(found);
      return {};
    }
    const Completion& completion = *event.completion;
    if (!(output_ << output_line(open.id_json, open.question, completion) << '\n'))
      return io_error("cannot write the output after {} answers", summary_.answers);
    ++summary_.answers;
    if (options_.on_answer)
      options_.on_answer({open.question.request.id, open.question.text, completion});
    score(open.question, completion);
    if (open.question.request.logits_hash) {
      const std::string name = fmt::format("{}#{}", open.question.request.id, completion.choice);
      summary_.combined_hash +=
          XXH3_64bits_withSeed(name.data(), name.size(), completion.logits_hash);
    }
    --n_open_;
    if (--open.n_open == 0) open_.erase(found);
    return {};
  }

  void score(const BatchQuestion& question, const Completion& completion) {
    if (!question.answers) return;
    ++summary_.scored;
    summary_.exact_match += exact_match(completion.text, *question.answers);
    summary_.token_f1 += token_f1(completion.text, *question.answers);
  }

  void fail(const OpenQuestion& open, const Error& error) {
    ++summary_.failed;
    const std::string where =
        open.question.id ? fmt::format(", question '{}'", *open.question.id) : "";
    problem(fmt::format("line {}{}: {}", open.line_number, where, error.message));
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
  std::deque<OpenQuestion> queued_;  // read, not submitted
  std::unordered_map<RequestId, OpenQuestion> open_;
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
