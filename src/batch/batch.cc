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

#include "api/remote_requests.h"
#include "api/request_group.h"
#include "base/counted.h"
#include "base/errors.h"
#include "base/failures.h"
#include "batch/dealer.h"
#include "batch/input_reader.h"
#include "batch/line_parser.h"
#include "batch/results.h"
#include "batch/time_left.h"
#include "pando/values/sharing.h"

namespace pando {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kProgressEvery{500};
constexpr std::chrono::milliseconds kStopSeenIn{100};  // if a run may be stopped
constexpr std::chrono::seconds kSilence{1};            // of an input that gives no more for now
// After this silence, what was read is dealt to replicas.
constexpr std::chrono::milliseconds kShortSilence{50};
constexpr std::chrono::milliseconds kListenEvery{1};  // to other replicas
constexpr double kAnswerTokens = 16;                  // of an answer, until some are there

class Runner {
 public:
  // replicas: the requests of each other replica.
  Runner(Engine& engine, std::vector<std::unique_ptr<AskedRequests>> replicas, uint64_t input_bytes,
         AnswerSink& output, const BatchOptions& options, std::shared_ptr<Inbox> inbox)
      : engine_(engine),
        input_bytes_(input_bytes),
        output_(output),
        options_(options),
        inbox_(std::move(inbox)),
        parser_(engine.model(), engine.options().context, options),
        results_(engine.model(), output, options),
        dealer_(1 + replicas.size(), options.ordered),
        before_(engine.stats()),
        start_(Clock::now()) {
    replicas_.push_back({std::make_unique<RequestGroup>(
        engine, RequestGroup::Options{.waits_for_room = true,
                                      .on_events = [inbox = inbox_] { inbox->notify_events(); }})});
    for (std::unique_ptr<AskedRequests>& requests : replicas)
      replicas_.push_back({std::move(requests)});
    summary_.group_by = options.group_by;
    // Enough to fill the engine's running set and find what comes next, and no more.
    most_open_ =
        std::min(2 * int64_t{engine.options().max_running}, int64_t{engine.options().max_open});
    // A round of several replicas is long enough for the last of its lines to even out the work.
    if (n_replicas() > 1) most_gathered_ = n_replicas() * static_cast<size_t>(most_open_);
  }

  Result<BatchSummary> run() {
    Status status = run_all();
    // Not to an output that has failed, where some of it may be written twice.
    if (!output_failed_)
      if (const Status flushed = output_.flush(); status && !flushed) status = flushed;
    if (!status)  // before the hold ends: what an idle engine has not begun is never computed
      for (Replica& replica : replicas_) replica.requests->cancel_all();
    held_.reset();
    results_.report_rest();
    if (!status) return status.error();
    BatchSummary summary = results_.summary();
    summary.seconds = seconds();
    summary.stats = stats();
    return summary;
  }

 private:
  struct OpenRequest {
    std::shared_ptr<OpenRecord> record;
    size_t index;          // among its requests
    uint64_t n_to_come;    // answers
    uint64_t most_tokens;  // of each
  };
  // The first is this process's.
  struct Replica {
    std::unique_ptr<AskedRequests> requests;
    std::deque<std::shared_ptr<OpenRecord>> records = {};  // dealt, not begun
    std::unordered_map<size_t, OpenRequest> open = {};     // by their index in `requests`
  };
  size_t n_replicas() const { return replicas_.size(); }

  Status run_all() {
    // Techniques that work per batch must not begin with the few lines that are read first.
    bool began = !sharing_.batches;
    Clock::time_point last_line = start_;
    while (true) {
      if (!began && !held_) held_ = engine_.hold();
      const uint64_t line_before = line_number_;
      // Records that are there already are planned together.
      const bool was_idle = replicas_[0].requests->n_in_engine() == 0;
      Engine::Hold filling = was_idle ? engine_.hold() : nullptr;
      Result<bool> wants_input = read_ahead();
      filling.reset();
      if (!wants_input) return wants_input.error();
      const bool is_idle = replicas_[0].requests->n_in_engine() == 0;
      if (line_number_ != line_before || is_idle) last_line = Clock::now();
      began = began || !*wants_input || Clock::now() - last_line > kSilence;
      // While nothing of ours waits, others may go on.
      if (began || is_idle) held_.reset();
      if (Status status = output_.commit(); !status) {
        output_failed_ = true;
        return status;
      }
      const bool is_over = std::ranges::all_of(
          replicas_, [](const Replica& replica) { return replica.requests->is_over(); });
      if (is_over && !*wants_input) break;
      inbox_->wait_until(wake_at(), *wants_input);
      take_events();
      report_progress();
    }
    if (const std::string failure = inbox_->input_failure(); !failure.empty())
      return io_error("cannot read the input{}: {}",
                      line_number_ > 0 ? fmt::format(" after line {}", line_number_) : "", failure);
    if (summary_.stopped) return {};
    parser_.end();
    if (results_.n_earlier() < output_.n_records())
      return invalid_argument(
          "the input ends before {} that the earlier run answered, expected the input of that run",
          counted(output_.n_records() - results_.n_earlier(), "questions"));
    return output_.finish(summary_.bad_lines + summary_.failed, finished_summary(summary_));
  }

  // When to go on though neither input nor events of this process have come.
  Clock::time_point wake_at() const {
    const Clock::time_point now = Clock::now();
    Clock::time_point at = now + (options_.stop == nullptr ? kProgressEvery : kStopSeenIn);
    for (const Replica& replica : replicas_) {
      if (const auto retry = replica.requests->retry_at()) at = std::min(at, *retry);
      const bool is_elsewhere = &replica != replicas_.data();
      if (is_elsewhere && !replica.requests->is_over()) at = std::min(at, now + kListenEvery);
    }
    if (dealer_.n_gathered() > 0) at = std::min(at, now + kShortSilence);
    return at;
  }

  // Submits questions until enough are open. Whether it waits for more input.
  Result<bool> read_ahead() {
    while (true) {
      if (is_told_to_stop()) stop();
      bool has_room = false;  // this process last: it tokenises what it asks itself
      for (size_t replica = n_replicas(); replica-- > 0;) has_room |= fill(replica);
      if (is_told_to_stop()) continue;  // told meanwhile
      if (!has_room || summary_.stopped) return false;
      if (dealer_.is_dealing()) {
        for (std::shared_ptr<OpenRecord>& record : dealer_.deal())
          replicas_[record->replica].records.push_back(std::move(record));
        continue;
      }
      const bool is_whole = dealer_.n_gathered() >= most_gathered_;
      if (const auto input = is_whole ? std::nullopt : inbox_->take_record()) {
        last_input_ = Clock::now();
        if (Status status = take_record(*input); !status) return status.error();
        continue;
      }
      const bool may_grow = !is_whole && !inbox_->input_is_over();
      if (dealer_.n_gathered() == 0) return may_grow;
      if (may_grow && Clock::now() < last_input_ + kShortSilence) return true;
      dealer_.begin_round();
    }
  }

  // Not yet stopping.
  bool is_told_to_stop() const { return !stopping_ && options_.stop != nullptr && *options_.stop; }

  // Begins records of a replica, until a stop. Whether it has room for more than it was dealt.
  bool fill(size_t index) {
    Replica& replica = replicas_[index];
    AskedRequests& requests = *replica.requests;
    const auto n_held = [&] { return results_.n_held(index); };
    while (requests.n_open_answers() + n_held() < most_open_ && !is_told_to_stop()) {
      if (requests.n_to_submit() > 0) {
        // One goes beyond, so that many answers to a question leave no room that none takes.
        requests.set_max_open(static_cast<int>(std::min<int64_t>(
            most_open_ - n_held() + n_each_ - 1, std::numeric_limits<int>::max())));
        requests.submit();
        take_events(replica);
        if (requests.n_to_submit() > 0) return false;
      } else if (!replica.records.empty()) {
        const std::shared_ptr<OpenRecord> record = std::move(replica.records.front());
        replica.records.pop_front();
        begin(record);
      } else {
        return true;
      }
    }
    return false;
  }

  // Once: nothing more is begun, and what nothing is computed of is taken back.
  void stop() {
    stopping_ = true;
    std::vector<std::shared_ptr<OpenRecord>> left = dealer_.take_back();
    for (Replica& replica : replicas_) {
      for (const std::shared_ptr<OpenRecord>& record : replica.records) dealer_.end(*record);
      left.insert(left.end(), replica.records.begin(), replica.records.end());
      replica.records.clear();
    }
    summary_.stopped = !left.empty() || !inbox_->input_is_over();
    inbox_->close();
    take_events();
    for (Replica& replica : replicas_) {
      const std::vector<size_t> waiting = replica.requests->waiting();
      std::vector<std::shared_ptr<OpenRecord>> under_way;
      for (const auto& [request, open] : replica.open) under_way.push_back(open.record);
      for (const std::shared_ptr<OpenRecord>& record : under_way) {
        if (record->over || !std::ranges::all_of(record->requests, [&](size_t one) {
              return std::ranges::binary_search(waiting, one);
            }))
          continue;
        summary_.stopped = true;
        record->over = true;
        submitted_.taken_back += static_cast<uint64_t>(record->n_open);
        drop(*record);
        leave(*record);
        left.push_back(record);
      }
    }
    results_.take_back(left);
    last_report_ = {};
    report_progress();  // at once: says what the run waits for
  }

  Status take_record(const InputRecord& input) {
    line_number_ = input.line;
    results_.name_place(input.place());
    const bool was_answered = output_.find(input.line, 0) != nullptr;
    Result<std::unique_ptr<ask::Line>> parsed = parser_.parse(input, was_answered);
    if (!parsed && parser_.failed()) return parsed.error();
    if (parsed && *parsed == nullptr) {  // the names of columns
      results_.take_input_columns(parser_.other_columns());
      return {};
    }
    ++summary_.lines;
    if (!parsed) {
      ++summary_.bad_lines;
      results_.bad_line(input.line, parsed.error());
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
    std::vector<std::shared_ptr<OpenRecord>> records;
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
      results_.take(record);
      records.push_back(std::move(record));
    }
    if (records.empty()) {  // all of it was answered before
      bytes_earlier_ = std::max(bytes_earlier_, open->bytes_read);
      return {};
    }
    LineWork work;
    if (n_replicas() > 1) work = LineWork::of(*open->line, answer_tokens());
    dealer_.add(std::move(records), std::move(work));
    return {};
  }

  // The mean of those that have ended.
  double answer_tokens() const {
    if (submitted_.answered == 0) return kAnswerTokens;
    return static_cast<double>(tokens_answered_) / static_cast<double>(submitted_.answered);
  }

  // Makes the record's requests.
  void begin(const std::shared_ptr<OpenRecord>& record) {
    const size_t n_later = record->of->line->questions.size() - record->first - record->n;
    bytes_submitted_ =
        std::max(bytes_submitted_, record->of->bytes_read -
                                       record->of->n_bytes * n_later /
                                           std::max<size_t>(1, record->of->line->questions.size()));
    const ask::Line& line = *record->of->line;
    record->error = line.refused;
    if (record->error) return end(*record);
    answers_open_ += record->n_answers();
    record->is_begun = true;
    for (const ask::Question& question : record->questions()) {
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
    const auto n_answers = static_cast<uint64_t>(n);
    const auto most_tokens =
        static_cast<uint64_t>(std::min(request.sampling.max_tokens, engine_.options().context));
    submitted_.answers += n_answers;
    submitted_.most_tokens += n_answers * most_tokens;
    Replica& replica = replicas_[record->replica];
    record->requests.push_back(replica.requests->add(std::move(request)));
    replica.open.emplace(record->requests.back(),
                         OpenRequest{record, record->requests.size() - 1, n_answers, most_tokens});
  }

  void take_events() {
    for (Replica& replica : replicas_) take_events(replica);
  }
  void take_events(Replica& replica) {
    for (GroupEvent& one : replica.requests->take()) on_event(replica, one);
  }

  void on_event(Replica& replica, GroupEvent& one) {
    const auto found = replica.open.find(one.request);
    if (found == replica.open.end()) return;  // of a record that failed in the same turn
    OpenRequest& open = found->second;
    const std::shared_ptr<OpenRecord> record = open.record;
    if (one.event.error) return fail(*record, *one.event.error);
    --open.n_to_come;
    ++submitted_.answered;
    tokens_answered_ += one.event.completion->tokens.size();
    --record->n_open;
    record->completions.add_completion(open.index, std::move(*one.event.completion));
    if (record->n_open > 0) return;
    for (const size_t request : record->requests) replica.open.erase(request);
    end(*record);
  }

  void end(OpenRecord& record) {
    leave(record);
    results_.end(record);
  }

  // The record is no longer under way.
  void leave(OpenRecord& record) {
    dealer_.end(record);
    if (std::exchange(record.is_begun, false)) answers_open_ -= record.n_answers();
  }

  // The record is over, with all its requests.
  void fail(OpenRecord& record, const Error& error) {
    drop(record);
    record.error = error;
    end(record);
  }

  void drop(OpenRecord& record) {
    Replica& replica = replicas_[record.replica];
    for (const size_t request : record.requests) {
      replica.requests->cancel(request);
      const auto found = replica.open.find(request);
      if (found == replica.open.end()) continue;
      const OpenRequest& open = found->second;
      submitted_.answers -= open.n_to_come;
      submitted_.most_tokens -= open.n_to_come * open.most_tokens;
      replica.open.erase(found);
    }
    record.n_open = 0;
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
                      .answers_open = answers_open_,
                      .stopping = stopping_,
                      .share_done = share(std::max(results_.bytes_done(), bytes_earlier_)),
                      .share_earlier = share(bytes_earlier_),
                      .seconds = seconds(),
                      .stats = stats()};
    submitted_.share_of_input = share(bytes_submitted_);
    now.seconds_left = time_left_.update(now, submitted_);
    options_.on_progress(now);
  }

  // Counts this run, over all replicas: engines of others were opened for it.
  EngineStats stats() {
    EngineStats sum = replicas_[0].requests->stats().since(before_);
    for (size_t i = 1; i < n_replicas(); ++i) sum.add(replicas_[i].requests->stats());
    return sum;
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
  Dealer dealer_;
  const SharingInfo sharing_ = sharing_info(engine_.options().sharing).value();
  EngineStats before_;
  Clock::time_point start_;
  Clock::time_point last_report_ = start_;
  Engine::Hold held_;  // until enough is read
  Clock::time_point last_input_ = start_;
  uint64_t answers_open_ = 0;  // of the records that are begun
  int64_t most_open_ = 0;      // answers of a replica that are to come or held
  size_t most_gathered_ = 1;   // records of a round
  int64_t n_each_ = 1;         // answers to each request of the record that began last
  bool output_failed_ = false;
  uint64_t line_number_ = 0;
  uint64_t bytes_earlier_ = 0, bytes_submitted_ = 0;
  SubmittedWork submitted_;
  TimeLeft time_left_;
  uint64_t tokens_answered_ = 0;
  bool stopping_ = false;
  std::vector<Replica> replicas_;  // last: what they cancel goes before the hold
};

}  // namespace

Result<BatchSummary> run_batch(Engine& engine, std::istream& input, uint64_t input_bytes,
                               AnswerSink& output, const BatchOptions& given) {
  const Result<BatchOptions> settled = options_for_model(engine.model(), given);
  if (!settled) return settled.error();
  const BatchOptions& options = *settled;
  // A template that is not known fails every question.
  if (Status status = check_chat(engine.model(), options.defaults); !status) return status.error();
  Result<std::vector<std::unique_ptr<AskedRequests>>> others = open_other_replicas(engine);
  if (!others) return others.error();
  const auto inbox = std::make_shared<Inbox>();
  Runner runner(engine, std::move(*others), input_bytes, output, options, inbox);
  try {
    const InputReader reader(input, options, inbox);
    return runner.run();
  } catch (const std::system_error& error) {
    return cannot_start("the thread that reads the input", error.what());
  }
}

Result<BatchSummary> run_batch(Engine& engine, std::istream& input, uint64_t input_bytes,
                               std::ostream& output, const BatchOptions& options) {
  AnswerStream sink(output);
  return run_batch(engine, input, input_bytes, sink, options);
}

}  // namespace pando
