// Jobs that are bodies of the HTTP API.
#include <atomic>
#include <ctime>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "ask/body.h"
#include "ask/body_checks.h"
#include "base/errors.h"
#include "base/json.h"
#include "capi/job.h"
#include "pando/generation_config.h"

namespace pando::capi {
namespace {

using PreparedBody = Result<std::unique_ptr<ask::Body>>;

// Its requests are those of the engine, in tokens. `given_up`: nobody waits for it.
PreparedBody prepared_body(ask::ReadBody* read_body, const Json& json, const Engine& engine,
                           const std::function<bool()>& given_up) {
  ask::Bounds bounds;
  const GenerationConfig defaults;
  PreparedBody body = read_body(json, {.model = engine.model(),
                                       .context = engine.options().context,
                                       .max_answers = engine.options().max_open,
                                       .envelope = {.id = "1",
                                                    .created = std::time(nullptr),
                                                    .model = engine.model().info().family},
                                       .bounds = bounds,
                                       .defaults = defaults,
                                       .given_up = given_up});
  if (!body) return body;
  std::vector<Request>& requests = (*body)->requests;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (given_up()) return ask::given_up();
    if (Status status = ask::tokenise(engine.model(), **body, i); !status) return status.error();
    requests[i].cached = (*body)->serving.cached;
    if (Status status = engine.check(requests[i]); !status)
      return ask::of_request(**body, i, status.error());
  }
  ask::count_beside(requests);
  return body;
}

// A thread prepares the body, which may take long, so that a caller can give up.
class BodyJob final : public Job {
 public:
  BodyJob(ask::ReadBody* read_body, Json json, std::shared_ptr<Engine> engine)
      : engine_(std::move(engine)), thread_([this, read_body, json = std::move(json)] {
          std::optional<PreparedBody> body;
          try {
            body =
                prepared_body(read_body, json, *engine_, [this] { return is_cancelled_.load(); });
          } catch (const std::bad_alloc&) {
            body = no_memory();
          }
          const std::lock_guard lock(mutex_);
          prepared_ = std::move(body);
          bell_.ring();
        }) {}
  ~BodyJob() override {
    is_cancelled_ = true;
    thread_.join();
  }

  Result<What> next(Deadline deadline, std::string& json) override {
    if (!reader_)
      if (const std::optional<Result<What>> early = begin(deadline)) return *early;
    try {
      const Result<What> what = reader_->next(
          deadline, [] { return false; },
          [this](size_t request, Event event) { body_->on_event(request, std::move(event)); });
      if (!what || *what != What::kEnd || is_told_) return what;
      json = json_text(body_->answer());
    } catch (const std::bad_alloc&) {  // an event may be lost
      return reader_->end_without_memory();
    }
    is_told_ = true;
    return What::kEvent;
  }

  void cancel() override {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    if (reader_) reader_->cancel();
    bell_.ring();
  }

 private:
  // Makes the reader once the body is prepared; or says what there is instead.
  std::optional<Result<What>> begin(Deadline deadline) {
    for (;;) {
      bell_.quiet();
      {
        const std::lock_guard lock(mutex_);
        if (is_cancelled_) return What::kCancelled;
        if (prepared_ && !*prepared_) return Result<What>(prepared_->error());
        if (prepared_) {
          body_ = std::move(**prepared_);
          reader_.emplace(engine_, bell_, /*wants_text=*/false);
          for (Request& request : body_->requests) reader_->add(request);
          return std::nullopt;
        }
      }
      if (deadline && Waker::Clock::now() >= *deadline) return What::kTimeout;
      bell_.wait(deadline);
    }
  }

  const std::shared_ptr<Engine> engine_;
  std::atomic<bool> is_cancelled_ = false;
  std::mutex mutex_;  // of the next two
  std::optional<PreparedBody> prepared_;
  std::optional<GroupReader> reader_;
  std::unique_ptr<ask::Body> body_;
  bool is_told_ = false;
  std::thread thread_;
};

Result<std::unique_ptr<Job>> open_body(ask::ReadBody* read_body, std::shared_ptr<Engine> engine,
                                       std::string_view options) {
  Result<Json> json = parse_json_object(options, "the body", LargeNumbers::kKept);
  if (!json) return with_code(ErrorCode::kInvalidArgument, json.error());
  return std::unique_ptr<Job>(new BodyJob(read_body, std::move(*json), std::move(engine)));
}

}  // namespace

Result<std::unique_ptr<Job>> open_embeddings(std::shared_ptr<Engine> engine,
                                             std::string_view options) {
  return open_body(ask::read_embeddings_body, std::move(engine), options);
}

Result<std::unique_ptr<Job>> open_rerank(std::shared_ptr<Engine> engine, std::string_view options) {
  return open_body(ask::read_rerank_body, std::move(engine), options);
}

Result<std::unique_ptr<Job>> open_classify(std::shared_ptr<Engine> engine,
                                           std::string_view options) {
  return open_body(ask::read_classify_body, std::move(engine), options);
}

Result<std::unique_ptr<Job>> open_score(std::shared_ptr<Engine> engine, std::string_view options) {
  return open_body(ask::read_score_body, std::move(engine), options);
}

}  // namespace pando::capi
