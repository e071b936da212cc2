#include "pando/batch.h"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <memory>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/request_group.h"
#include "base/errors.h"
#include "batch/input_reader.h"
#include "batch/line_parser.h"
#include "batch/results.h"
#include "batch/time_left.h"
#include "pando/sharing.h"

namespace pando {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kProgressEvery{500};
constexpr std::chrono::seconds kSilence{1};  // of an input that gives no more for now

class Runner {
 public:
  Runner(Engine& engine, uint64_t input_bytes, AnswerSink& output, const BatchOptions& options,
         std::shared_ptr<Inbox> inbox)
      : engine_(engine),
        input_bytes_(input_bytes),
        output_(output),
        options_(options),
        inbox_(std::move(inbox)),
        parser_(engine.model(), engine.options().context, options),
        results_(engine.model(), output, options),
        before_(engine.stats()),
        start_(Clock::now()),
        group_(engine, {.waits_for_room = true,
                        .on_events = [inbox = inbox_] { inbox->notify_events(); }}) {
    summary_.group_by = options.group_by;
    // Enough to fill the engine's running set and find what comes next, and no more.
    most_open_ =
        std::min(2 * int64_t{engine.options().max_running}, int64_t{engine.options().max_open});
  }

  Result<BatchSummary> run() {
    Status status = run_all();
    // Not to an output that has failed, where some of it may be written twice.
    if (!output_failed_)
      if (const Status flushed = output_.flush(); status && !flushed) status = flushed;
    if (!status)  // before the hold ends: what an idle engine has not begun is never computed
      group_.cancel_all();
    held_.reset();
    results_.report_rest();
    if (!status) return status.error();
    BatchSummary summary = results_.summary();
    summary.seconds = seconds();
    summary.stats = engine_.stats().since(before_);
    return summary;
  }

 private:
  Status run_all() {
    // What works per batch must not begin with the few lines that are read first.
    bool began = !sharing_.batches;
    Clock::time_point last_line = start_;
    while (true) {
      if (!began && !held_) held_ = engine_.hold();
      const uint64_t line_before = line_number_;
      // What is there already is planned together.
      Engine::Hold filling = group_.n_in_engine() == 0 ? engine_.hold() : nullptr;
      Result<bool> wants_input = read_ahead();
      filling.reset();
      if (!wants_input) return wants_input.error();
      if (line_number_ != line_before || group_.n_in_engine() == 0) last_line = Clock::now();
      began = began || !*wants_input || Clock::now() - last_line > kSilence;
      // While nothing of ours waits, others may go on.
      if (began || group_.n_in_engine() == 0) held_.reset();
      if (Status status = output_.commit(); !status) {
        output_failed_ = true;
        return status;
      }
      if (group_.is_over() && !*wants_input) break;
      const Clock::time_point next_report = Clock::now() + kProgressEvery;
      inbox_->wait_until(std::min(next_report, group_.retry_at().value_or(next_report)),
                         *wants_input);
      take_events();
      report_progress();
    }
    if (const std::string failure = inbox_->input_failure(); !failure.empty())
      return io_error("cannot read the input{}: {}",
                      line_number_ > 0 ? fmt::format(" after line {}", line_number_) : "", failure);
    if (summary_.stopped) return {};
    if (results_.n_earlier() < output_.n_records())
      return invalid_argument(
          "the input ends before {} questions that have answers already, expected the same input "
          "as before",
          output_.n_records() - results_.n_earlier());
    return output_.finish(summary_.bad_lines + summary_.failed, finished_summary(summary_));
  }

  // Submits questions until enough are open. Whether it waits for more input.
  Result<bool> read_ahead() {
    if (!stopping_ && options_.stop != nullptr && *options_.stop) stop();
    while (group_.n_open_answers() + results_.n_held() < most_open_) {
      if (group_.n_to_submit() > 0) {
        // One goes beyond, so that many answers to a question leave no room that none takes.
        group_.set_max_open(static_cast<int>(std::min<int64_t>(
            most_open_ - results_.n_held() + n_each_ - 1, std::numeric_limits<int>::max())));
        group_.submit();
        take_events();
        if (group_.n_to_submit() > 0) return false;
      } else if (!records_.empty()) {
        const std::shared_ptr<OpenRecord> record = std::move(records_.front());
        records_.pop_front();
        begin(record);
      } else if (summary_.stopped) {
        return false;
      } else if (const std::optional<InputRecord> input = inbox_->take_record()) {
        if (Status status = take_record(*input); !status) return status.error();
      } else {
        return !inbox_->input_is_over();
      }
    }
    return false;
  }

  // Once: nothing more is begun, and what nothing is computed of is taken back.
  void stop() {
    stopping_ = true;
    summary_.stopped = !records_.empty() || !inbox_->input_is_over();
    inbox_->close();
    records_.clear();
    take_events();
    std::vector<std::shared_ptr<OpenRecord>> under_way;
    for (const auto& [request, open] : open_) under_way.push_back(open.record);
    for (const std::shared_ptr<OpenRecord>& record : under_way) {
      if (record->over || !std::ranges::all_of(record->requests,
                                               [&](size_t one) { return group_.is_waiting(one); }))
        continue;
      summary_.stopped = true;
      drop(*record);
      results_.take_back(*record);
    }
    last_report_ = {};
  }

  Status take_record(const InputRecord& input) {
    line_number_ = input.line;
    results_.name_place(input.place());
    const bool was_answered = output_.find(input.line, 0) != nullptr;
    Result<std::unique_ptr<wire::Line>> parsed = parser_.parse(input, was_answered);
    if (!parsed && parser_.failed()) return parsed.error();
    if (parsed && *parsed == nullptr) {  // the names of columns
      results_.take_input_columns(parser_.other_columns());
      return {};
    }
    ++summary_.lines;
    if (!parsed) {
      ++summary_.bad_lines;
      results_.problem(input.line, ": " + parsed.error().message);
      return {};
    }
    auto open = std::make_shared<OpenLine>();
    open->line = std::move(*parsed);
    results_.take_line(*open->line);
    open->line->warning = sharing_.warning;
    open->number = input.line;
    open->hash = XXH3_64bits_withSeed(input.text.data(), input.text.size(), parser_.names_hash());
    open->bytes_read = input.bytes_read;
    open->n_bytes = input.text.size();
    if (!open->line->cut.empty()) {
      ++summary_.cut;
      results_.problem(input.line, ": " + open->line->cut);
    }
    const size_t n_questions = open->line->questions.size();
    const bool is_one = !open->line->answers_apart();
    for (size_t i = 0; i < (is_one ? 1 : n_questions); ++i) {
      auto record = std::make_shared<OpenRecord>();
      record->of = open;
      record->first = i;
      record->n = is_one ? n_questions : 1;
      record->journal = {.line = open->number, .question = i, .input_hash = open->hash};
      if (const AnswerRecord* found = output_.find(open->number, i)) {
        if (found->input_hash != open->hash)
          return invalid_argument(
              "{0} {1} of the input differs from the {0} that was answered before, expected the "
              "same input",
              input.place(), open->number);
        if (Status status = results_.take_earlier(*record, *found); !status) return status;
        continue;
      }
      ++open->n_records;
      records_.push_back(std::move(record));
    }
    if (open->n_records == 0) {  // all of it was answered before
      bytes_earlier_ = std::max(bytes_earlier_, open->bytes_read);
    }
    return {};
  }

  // Makes the record's requests.
  void begin(const std::shared_ptr<OpenRecord>& record) {
    results_.begin(record);
    const size_t n_later = record->of->line->questions.size() - record->first - record->n;
    bytes_submitted_ =
        record->of->bytes_read -
        record->of->n_bytes * n_later / std::max<size_t>(1, record->of->line->questions.size());
    const wire::Line& line = *record->of->line;
    record->error = line.refused;
    if (record->error) return results_.end(*record);
    for (const wire::Question& question : record->questions()) {
      Result<std::vector<Request>> requests = line.requests_of(engine_.model(), question);
      if (!requests) return fail(*record, requests.error());
      record->completions.add_question(*requests);
      for (Request& request : *requests) add_request(record, std::move(request));
    }
  }

  void add_request(const std::shared_ptr<OpenRecord>& record, Request request) {
    const int n = std::max(request.sampling.n, 1);  // the engine refuses less
    n_each_ = n;
    record->n_open += n;
    n_open_ += n;
    submitted_.answers += static_cast<uint64_t>(n);
    submitted_.most_tokens +=
        static_cast<uint64_t>(n) * std::min(request.sampling.max_tokens, engine_.options().context);
    record->requests.push_back(group_.add(std::move(request)));
    open_.emplace(record->requests.back(), OpenRequest{record, record->requests.size() - 1});
  }

  void take_events() {
    for (GroupEvent& one : group_.take()) on_event(one);
  }

  void on_event(GroupEvent& one) {
    const auto found = open_.find(one.request);
    if (found == open_.end()) return;  // of a record that failed in the same turn
    const auto [record, index] = found->second;
    if (one.event.error) return fail(*record, *one.event.error);
    --n_open_;
    ++submitted_.answered;
    --record->n_open;
    record->completions.add_completion(index, std::move(*one.event.completion));
    if (record->n_open > 0) return;
    for (const size_t request : record->requests) open_.erase(request);
    results_.end(*record);
  }

  // The record is over, with all its requests.
  void fail(OpenRecord& record, const Error& error) {
    drop(record);
    record.error = error;
    results_.end(record);
  }

  void drop(OpenRecord& record) {
    for (const size_t request : record.requests) {
      group_.cancel(request);
      open_.erase(request);
    }
    n_open_ -= std::exchange(record.n_open, 0);
  }

  void report_progress() {
    if (!options_.on_progress || Clock::now() - last_report_ < kProgressEvery) return;
    last_report_ = Clock::now();
    const auto share = [&](uint64_t n_bytes) {
      return input_bytes_ > 0
                 ? std::min(1.0, static_cast<double>(n_bytes) / static_cast<double>(input_bytes_))
                 : 0;
    };
    BatchProgress now{.answers_done = summary_.answers,
                      .answers_open = static_cast<uint64_t>(n_open_),
                      .stopping = stopping_,
                      .share_done = share(std::max(results_.bytes_done(), bytes_earlier_)),
                      .share_earlier = share(bytes_earlier_),
                      .seconds = seconds(),
                      .stats = engine_.stats().since(before_)};
    submitted_.share_of_input = share(bytes_submitted_);
    now.seconds_left = time_left(now, submitted_);
    options_.on_progress(now);
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  Engine& engine_;
  uint64_t input_bytes_;
  AnswerSink& output_;
  const BatchOptions& options_;
  std::shared_ptr<Inbox> inbox_;
  LineParser parser_;
  Results results_;
  BatchSummary& summary_ = results_.summary();
  const SharingInfo sharing_ = sharing_info(engine_.options().sharing).value();
  EngineStats before_;
  Clock::time_point start_;
  Clock::time_point last_report_ = start_;
  Engine::Hold held_;                                // until enough is read
  std::deque<std::shared_ptr<OpenRecord>> records_;  // read, not begun
  struct OpenRequest {
    std::shared_ptr<OpenRecord> record;
    size_t index;  // among its requests
  };
  std::unordered_map<size_t, OpenRequest> open_;  // by their index in the group
  int64_t n_open_ = 0;                            // answers to come of these
  int64_t most_open_ = 0;
  int64_t n_each_ = 1;  // answers to each request of the record that began last
  bool output_failed_ = false;
  uint64_t line_number_ = 0;
  uint64_t bytes_earlier_ = 0, bytes_submitted_ = 0;
  SubmittedWork submitted_;
  bool stopping_ = false;
  RequestGroup group_;  // last: what it cancels goes before the hold
};

}  // namespace

Result<BatchSummary> run_batch(Engine& engine, std::istream& input, uint64_t input_bytes,
                               AnswerSink& output, const BatchOptions& given) {
  BatchOptions options = given;
  if (options.task == BatchTask::kEmbed) {
    Result<EmbedOptions> embed = embed_options_for(engine.model(), options.embed);
    if (!embed) return embed.error();
    options.embed = std::move(*embed);
  }
  if (options.defaults.chat) {  // a template that is not known fails every question
    const Request probe = question_request(options.defaults, "", "");
    const Result<std::string> text = engine.model().render_chat(probe.messages, probe.chat);
    if (!text) return text.error();
  }
  const auto inbox = std::make_shared<Inbox>();
  Runner runner(engine, input_bytes, output, options, inbox);
  try {
    const InputReader reader(input, options, inbox);
    return runner.run();
  } catch (const std::system_error& error) {
    return make_error(ErrorCode::kUnavailable, "cannot start a thread: {}", error.what());
  }
}

Result<BatchSummary> run_batch(Engine& engine, std::istream& input, uint64_t input_bytes,
                               std::ostream& output, const BatchOptions& options) {
  AnswerStream sink(output);
  return run_batch(engine, input, input_bytes, sink, options);
}

}  // namespace pando
