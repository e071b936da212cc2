#include "serve/batch_runner.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/json.h"
#include "base/thread_priority.h"
#include "serve/batch_work.h"
#include "serve/handler.h"

namespace pando::serve {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBusyTurn{20}, kIdleTurn{100};
constexpr std::chrono::seconds kLookEvery{1};     // for batches of other processes
constexpr std::chrono::seconds kAdvanceAgain{1};  // after a failure of the disk
constexpr std::chrono::hours kSweepEvery{1};
constexpr std::chrono::milliseconds kShortestPause{50}, kLongestPause{5000};
constexpr std::chrono::seconds kLastTurns{2};  // for lines that were given up
constexpr int kMostOpenLines = 128;
constexpr int kOpenPerLine = 8;                      // answers of a line that asks for many
constexpr size_t kMostOpenBytes = size_t{64} << 20;  // of bodies
constexpr double kNearestDeadline = 3600;            // seconds: always behind clients

// The engine has no room, or a disk.
bool is_passing(const HttpResponse& response) {
  const bool is_full = response.status == 429 || response.status == 503;
  return is_full || (response.error && response.error->code == error_code_name(ErrorCode::kIo));
}

// Keeps the answer to a line.
class LineReplier final : public Replier {
 public:
  asio::awaitable<void> send(HttpResponse response) override {
    response_ = std::move(response);
    co_return;
  }
  asio::awaitable<void> begin_stream(const char*) override { return no_stream(); }
  asio::awaitable<void> write(std::string) override { return no_stream(); }
  asio::awaitable<void> end_stream(std::string) override { return no_stream(); }
  asio::awaitable<void> fail_stream(ask::HttpError) override { return no_stream(); }
  bool has_begun() const override { return response_.has_value(); }

  std::optional<HttpResponse>& response() { return response_; }

 private:
  static asio::awaitable<void> no_stream() {
    throw std::logic_error("a line of a batch streams");
    co_return;
  }

  std::optional<HttpResponse> response_;
};

struct AskedLine {
  AskedLine(BatchWork& batch, size_t line, std::string id)
      : work(batch), index(line), custom_id(std::move(id)) {}

  BatchWork& work;
  const size_t index;
  const std::string custom_id;
  size_t n_bytes = 0;  // of its body
  bool is_given_up = false;
  HttpRequest request;
  LineReplier replier;
  asio::cancellation_signal cancellation;
};

}  // namespace

class BatchRunner::Impl {
 public:
  explicit Impl(StateDoor& door)
      : door_(door),
        files_(*door.files),
        most_open_(door.max_batched),
        work_(context_.get_executor()) {}

  void start() {
    thread_ = std::thread([this] { run(); });
  }
  void stop() noexcept { is_stopping_ = true; }
  void join() noexcept {
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct EndOfLine {
    using cancellation_slot_type = asio::cancellation_slot;
    cancellation_slot_type get_cancellation_slot() const noexcept {
      return line->cancellation.slot();
    }
    void operator()(const std::exception_ptr& thrown) const { runner->ended(line, thrown); }

    std::shared_ptr<AskedLine> line;
    Impl* runner;
  };

  void run() {
    lower_priority_once(door_.nice);
    while (!is_stopping_) {
      attempt([&] { look(); });
      serve(batches_.empty() ? kIdleTurn : kBusyTurn);
    }
    give_up(nullptr);
    const Clock::time_point end = Clock::now() + kLastTurns;
    while (!open_.empty() && Clock::now() < end) serve(kBusyTurn);
    for (BatchWork& batch : batches_) attempt([&] { note(batch.save()); });
  }

  void serve(std::chrono::milliseconds time) {
    attempt([&] {
      context_.restart();
      context_.run_for(time);
    });
  }

  // An action that fails is tried again. The log has one line about failures until all goes well.
  template <class Act>
  void attempt(const Act& act) noexcept {
    try {
      act();
    } catch (const std::exception& error) {
      complain(error.what());
    }
  }
  void complain(const std::string& what) noexcept {
    try {
      if (!std::exchange(has_complained_, true))
        door_.log(fmt::format("batches: {}, trying again", what));
    } catch (const std::exception&) {  // nor is there memory for words
    }
  }

  void look() {
    const Clock::time_point now = Clock::now();
    if (files_.has_changed.exchange(false) || now >= look_at_) {
      look_at_ = now + kLookEvery;
      if (!files_.lock_batches()) return;
      if (!std::exchange(has_failed_, false)) has_complained_ = false;
      note(find_batches());
      if (now >= sweep_at_) {
        note(files_.sweep());
        sweep_at_ = now + kSweepEvery;
      }
    }
    for (auto next = batches_.begin(); now >= advance_at_ && next != batches_.end();) {
      const auto batch = next++;
      advance(*batch);
      if (batch->is_over()) batches_.erase(batch);
    }
    fill();
  }

  bool note(const Status& status) {
    if (status) return true;
    has_failed_ = true;
    complain(status.error().message());
    return false;
  }

  Status find_batches() {
    auto found = files_.database().open_batches();
    if (!found) return found.error();
    for (StoredBatch& batch : *found) {
      const auto known = std::ranges::find(batches_, batch.id, &BatchWork::id);
      if (known != batches_.end()) {
        if (is_text(batch.object["status"], "cancelling")) known->cancel();
      } else if (batch.key || batch.object["expires_at"] <= files_.now()) {
        batches_.emplace_back(files_, std::move(batch),
                              BatchWork::Options{.max_line_bytes = door_.options.max_body_bytes,
                                                 .not_served = [this](const std::string& model) {
                                                   return door_.serves(model)
                                                              ? std::string()
                                                              : door_.not_served(model);
                                                 }});
      }
    }
    return {};
  }

  void advance(BatchWork& batch) {
    if (batch.is_ending()) give_up(&batch);
    const bool could_ask = batch.has_begun();
    if (!note(batch.advance())) advance_at_ = Clock::now() + kAdvanceAgain;
    if (!could_ask && batch.has_begun() && batch.is_resumed()) forget_stored(batch);
    if (batch.is_over())
      door_.log(fmt::format("{} is {}: {}", batch.id(),
                               batch.object()["status"].get<std::string>(),
                               json_text(batch.object()["request_counts"])));
  }

  // A line that was under way when the process was killed may have stored its answer, under the id
  // that it will have again.
  void forget_stored(const BatchWork& batch) {
    if (batch.endpoint() != "/v1/responses" || batch.is_ending()) return;
    for (const size_t index : batch.unanswered(4 * kMostOpenLines)) {
      const Status status = door_.responses->remove(batch.key(), "resp_" + batch.id_of(index));
      if (!status && status.error().code != ErrorCode::kNotFound) note(status);
    }
  }

  // Asks lines of the batches in turn, while there is room.
  void fill() {
    if (is_stopping_ || Clock::now() < paused_until_) return;
    size_t n_refusing = 0;  // batches in a row without a line
    while (static_cast<int>(open_.size()) < most_open_ && n_refusing < batches_.size() &&
           (open_.empty() || n_open_bytes_ < kMostOpenBytes)) {
      BatchWork& batch = batches_.front();
      batches_.splice(batches_.end(), batches_, batches_.begin());
      const std::optional<size_t> index = batch.next();
      n_refusing = index ? 0 : n_refusing + 1;
      if (!index) continue;
      bool is_asked = false;
      attempt([&] { is_asked = ask(batch, *index); });
      if (is_asked) continue;
      batch.put_back(*index);
      return pause();
    }
  }

  // False: the line cannot be read now.
  bool ask(BatchWork& batch, size_t index) {
    Result<BatchLine> read = batch.line(index);
    if (!read) return note(read.error());
    auto line = std::make_shared<AskedLine>(batch, index, std::move(read->custom_id));
    HttpRequest& request = line->request;
    request.arrival = Clock::now();
    request.id = batch.id_of(index);
    request.method = "POST";
    request.path = batch.endpoint();
    request.content_type = "application/json";
    request.body = std::move(read->body);
    request.isolation_key = batch.key();
    const auto seconds_left = static_cast<double>(batch.expires() - files_.now());
    request.batched = BatchedLine{.ttft_slo = std::max(seconds_left, kNearestDeadline),
                                  .created = batch.created(),
                                  .max_open = kOpenPerLine};
    line->n_bytes = request.body.size();
    open_.push_back(line);
    n_open_bytes_ += line->n_bytes;
    try {
      EndOfLine end{line, this};
      asio::co_spawn(context_, door_.handle(line->request, line->replier), std::move(end));
    } catch (const std::exception&) {  // no memory
      forget(line);
      throw;
    }
    return true;
  }

  void forget(const std::shared_ptr<AskedLine>& line) noexcept {
    open_.remove(line);
    n_open_bytes_ -= line->n_bytes;
  }

  void ended(const std::shared_ptr<AskedLine>& line, const std::exception_ptr& thrown) {
    forget(line);
    bool is_kept = false;
    attempt([&] { is_kept = keep_answer(*line, thrown); });
    if (!is_kept) line->work.put_back(line->index);
    attempt([&] { fill(); });
  }

  // False: the line is to be asked again.
  bool keep_answer(AskedLine& line, const std::exception_ptr& thrown) {
    try {
      std::optional<HttpResponse>& response = line.replier.response();
      if (!response && line.is_given_up) return false;
      if (thrown != nullptr) std::rethrow_exception(thrown);
      if (line.is_given_up && response->status >= 500) return false;
      if (is_passing(*response)) return pause(), false;
      pause_ = kShortestPause;
      answer(line, std::move(*response));
    } catch (const std::bad_alloc&) {
      return pause(), false;
    } catch (const std::exception& bug) {
      answer(line, error_response({500, "server_error", "internal", bug.what()}));
    }
    return true;
  }

  void answer(AskedLine& line, HttpResponse response) {
    if (response.error) {
      const Route& route = *find_route(line.request.path, line.request.method);
      response.body = json_text(route.errors->body(*response.error));
    }
    note(line.work.answered(line.index, line.custom_id, response.status, std::move(response.body)));
  }

  // The engine is full of what clients asked, or the machine has no room.
  void pause() noexcept {
    paused_until_ = Clock::now() + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
  }

  // Lines of one batch, or of all.
  void give_up(const BatchWork* batch) noexcept {
    attempt([&] {
      const auto lines = open_;  // cancelled lines may end at once
      for (const std::shared_ptr<AskedLine>& line : lines) {
        if (line->is_given_up || (batch != nullptr && &line->work != batch)) continue;
        line->is_given_up = true;
        line->request.is_given_up = true;
        line->cancellation.emit(asio::cancellation_type::terminal);
      }
    });
  }

  StateDoor& door_;
  FileStore& files_;
  const int most_open_;  // lines
  std::atomic<bool> is_stopping_{false};
  std::list<BatchWork> batches_;  // the next to be asked first
  std::list<std::shared_ptr<AskedLine>> open_;
  size_t n_open_bytes_ = 0;
  Clock::time_point look_at_ = {}, sweep_at_ = {}, advance_at_ = {}, paused_until_ = {};
  std::chrono::milliseconds pause_ = kShortestPause;
  bool has_complained_ = false;  // of a failure that may last
  bool has_failed_ = false;      // anything, since the last look
  std::thread thread_;
  asio::io_context context_{1};  // goes first, with coroutines that use the rest
  asio::executor_work_guard<asio::io_context::executor_type> work_;
};

int most_batched(const EngineOptions& options) {
  const int answers = options.max_open / kOpenPerLine;
  return std::clamp(std::min(options.max_running, answers) / 2, 1, kMostOpenLines);
}

BatchRunner::BatchRunner(StateDoor& door) : impl_(std::make_unique<Impl>(door)) {}
BatchRunner::~BatchRunner() = default;
void BatchRunner::start() { impl_->start(); }
void BatchRunner::stop() noexcept { impl_->stop(); }
void BatchRunner::join() noexcept { impl_->join(); }

}  // namespace pando::serve
