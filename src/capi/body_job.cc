// Jobs that are bodies of the HTTP API.
#include <functional>
#include <utility>

#include "ask/body.h"
#include "ask/body_checks.h"
#include "base/errors.h"
#include "base/json.h"
#include "capi/job.h"
#include "pando/generation_config.h"

namespace pando::capi {
namespace {

class BodyJob final : public Job {
 public:
  BodyJob(std::shared_ptr<Engine> engine, std::unique_ptr<ask::Body> body)
      : body_(std::move(body)), reader_(std::move(engine), bell_, /*wants_text=*/false) {
    for (Request& request : body_->requests) reader_.add(request);
  }

  Result<What> next(Deadline deadline, std::string& json) override {
    const Result<What> what = reader_.next(
        deadline, [] { return false; },
        [this](size_t request, Event event) { body_->on_event(request, std::move(event)); });
    if (!what || *what != What::kEnd || is_told_) return what;
    is_told_ = true;
    json = json_text(body_->answer());
    return What::kEvent;
  }

  void cancel() override { reader_.cancel(); }

 private:
  const std::unique_ptr<ask::Body> body_;
  GroupReader reader_;
  bool is_told_ = false;
};

Status prepare_body(const Engine& engine, ask::Body& body) {
  for (size_t i = 0; i < body.requests.size(); ++i) {
    Request& request = body.requests[i];
    if (Status status = ask::tokenise(engine.model(), body, i); !status) return status;
    request.cached = body.serving.cached;
    if (Status status = engine.check(request); !status)
      return ask::of_request(body, i, status.error());
  }
  ask::count_beside(body.requests);
  return {};
}

Result<std::unique_ptr<Job>> open_body(ask::ReadBody* read_body, std::shared_ptr<Engine> engine,
                                       std::string_view options) {
  Result<Json> json = parse_json_object(options, "the body", LargeNumbers::kKept);
  if (!json) return with_code(ErrorCode::kInvalidArgument, json.error());
  ask::Bounds bounds;
  const GenerationConfig defaults;
  const std::function<bool()> never = [] { return false; };
  Result<std::unique_ptr<ask::Body>> body =
      read_body(*json, {.model = engine->model(),
                        .context = engine->options().context,
                        .max_answers = engine->options().max_open,
                        .envelope = {.id = "1", .model = engine->model().info().family},
                        .bounds = bounds,
                        .defaults = defaults,
                        .given_up = never});
  if (!body) return body.error();
  if (Status status = prepare_body(*engine, **body); !status) return status.error();
  return std::unique_ptr<Job>(new BodyJob(std::move(engine), std::move(*body)));
}

}  // namespace

Result<std::unique_ptr<Job>> open_embeddings(std::shared_ptr<Engine> engine,
                                             std::string_view options) {
  return open_body(ask::read_embeddings_body, std::move(engine), options);
}

Result<std::unique_ptr<Job>> open_rerank(std::shared_ptr<Engine> engine, std::string_view options) {
  return open_body(ask::read_rerank_body, std::move(engine), options);
}

Result<std::unique_ptr<Job>> open_score(std::shared_ptr<Engine> engine, std::string_view options) {
  return open_body(ask::read_score_body, std::move(engine), options);
}

}  // namespace pando::capi
