// The batch runner as a job.
#include <atomic>
#include <condition_variable>
#include <istream>
#include <mutex>
#include <streambuf>
#include <string>
#include <thread>
#include <utility>

#include "base/errors.h"
#include "base/json.h"
#include "capi/job.h"
#include "capi/options.h"
#include "capi/output_queue.h"
#include "capi/status.h"
#include "pando/answer_sink.h"
#include "pando/batch.h"

namespace pando::capi {
namespace {

constexpr size_t kInputRoom = size_t{1} << 20;  // bytes that wait for the runner

// The runner's input: waits for lines until there are no more.
class LineBuffer : public std::streambuf {
 public:
  // False: what waits fills the room.
  bool put(std::string_view lines) {
    if (lines.empty()) return true;
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kInputRoom) return false;
    waiting_ += lines;
    if (!lines.ends_with('\n')) waiting_ += '\n';
    changed_.notify_one();
    return true;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_one();
  }
  bool is_over() const {
    const std::lock_guard lock(mutex_);
    return is_over_;
  }

 protected:
  int_type underflow() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
    current_ = std::exchange(waiting_, {});
    if (current_.empty()) return traits_type::eof();
    setg(current_.data(), current_.data(), current_.data() + current_.size());
    return traits_type::to_int_type(current_[0]);
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  bool is_over_ = false;
  std::string current_;  // being read
};

// The runner's output: waits for a consumer who is slow, and fails once nobody reads it, which ends
// the run.
class QueueSink : public AnswerSink {
 public:
  explicit QueueSink(OutputQueue& output) : output_(output) {}

  void append(const AnswerRecord&, const std::string& lines) override {
    for (size_t begin = 0; begin < lines.size();) {
      const size_t end = std::min(lines.find('\n', begin), lines.size());
      output_.push(lines.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  Status commit() override {
    output_.wait_for_room();
    if (output_.is_cancelled()) return make_error(ErrorCode::kUnavailable, "the run is cancelled");
    return {};
  }

 private:
  OutputQueue& output_;
};

std::string failure_json(const BatchFailure& failure) {
  Json json = {{"line", failure.line}};
  if (failure.question) json["question_id"] = *failure.question;
  // Lines are no file here.
  const bool is_of_line = failure.error.code == ErrorCode::kBadFile;
  json.update(error_json(is_of_line ? with_code(ErrorCode::kInvalidArgument, failure.error)
                                    : failure.error));
  return json_text({{"failure", std::move(json)}});
}

std::string summary_json(const BatchSummary& s) {
  return json_text({{"summary",
                     {{"lines", s.lines},
                      {"bad_lines", s.bad_lines},
                      {"questions", s.questions},
                      {"answers", s.answers},
                      {"failed", s.failed},
                      {"skipped", s.skipped},
                      {"cut", s.cut},
                      {"forms_cut", s.forms_cut},
                      {"prompt_tokens", s.prompt_tokens},
                      {"seconds", s.seconds}}}});
}

class BatchJob final : public Job {
 public:
  BatchJob(std::shared_ptr<Engine> engine, BatchOptions options)
      : engine_(std::move(engine)), options_(std::move(options)) {
    options_.stop = &is_stopped_;
    options_.on_failure = [this](const BatchFailure& failure) {
      output_.push(failure_json(failure));
    };
    options_.on_problem = [this](const std::string& message) {
      output_.push(json_text({{"warning", message}}));
    };
    thread_ = std::thread([this] { output_.end(run()); });
  }
  ~BatchJob() override {
    cancel();
    thread_.join();
  }

  Result<What> next(Deadline deadline, std::string& json) override {
    return output_.next(deadline, json);
  }
  Result<bool> put(std::string_view lines) override {
    if (input_.is_over())
      return invalid_argument("the input of the batch has ended, expected no more lines");
    return input_.put(lines);
  }
  Status end_input() override {
    input_.end();
    return {};
  }
  void cancel() override {
    output_.cancel();
    is_stopped_ = true;
    input_.end();
  }

 private:
  Status run() {
    try {
      std::istream lines(&input_);
      QueueSink sink(output_);
      const Result<BatchSummary> summary = run_batch(*engine_, lines, 0, sink, options_);
      if (!summary) return summary.error();
      output_.push(summary_json(*summary));
      return {};
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
  }

  const std::shared_ptr<Engine> engine_;
  BatchOptions options_;
  std::atomic<bool> is_stopped_ = false;
  LineBuffer input_;
  OutputQueue output_{bell_};
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Job>> open_batch(std::shared_ptr<Engine> engine, std::string_view options) {
  Result<BatchOptions> read = read_batch_options(options);
  if (!read) return read.error();
  return std::unique_ptr<Job>(new BatchJob(std::move(engine), std::move(*read)));
}

}  // namespace pando::capi
