// The engine's thread and its inbox. Everything else happens in EngineLoop.
#include "pando/engine.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "api/engine.h"
#include "api/open_loop.h"
#include "api/prompt.h"
#include "api/request_group.h"
#include "api/waker.h"
#include "base/counted.h"
#include "base/errors.h"
#include "base/failures.h"
#include "base/memory_nodes.h"
#include "base/thread_priority.h"
#include "engine/options.h"
#include "engine/step_turns.h"

namespace pando {

class Engine::Impl {
 public:
  Impl(std::shared_ptr<const Model> model, std::unique_ptr<EngineLoop> loop,
       std::shared_ptr<StepTurns> turns)
      : model_(std::move(model)),
        loop_(std::move(loop)),
        turns_(std::move(turns)),
        stats_(loop_->stats()),
        thread_([this] { run(); }) {}

  ~Impl() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_up();
    thread_.join();
  }

  Result<RequestId> submit(Request request, Listener listener) {
    if (request.tokens.empty())
      if (Status status = take_tokens(*model_, request); !status) return status.error();
    if (Status status = check(request); !status) return status.error();
    return submit_checked(std::move(request), std::move(listener));
  }

  Result<RequestId> submit_checked(Request request, Listener listener) {
    std::shared_ptr<const grammar::MaskTable>
        form;  // compiled here, and held until the loop has it
    if (request.sampling.form) {
      Result<std::shared_ptr<const grammar::MaskTable>> masks =
          model_->parts().forms->get(*request.sampling.form);
      if (!masks) return masks.error();
      form = std::move(*masks);
    }
    RequestId id;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return shutting_down_;
      const size_t n_open = n_taken_ + n_in_inbox_, n_most = loop_->options().max_open;
      if (n_open > 0 && n_open + request.sampling.n > n_most)
        return make_error(ErrorCode::kUnavailable, "the engine is full: it has {}",
                          counted(n_open, "open answers"));
      id = next_id_++;
      const int n_answers = request.sampling.n;
      inbox_.push_back({id, std::move(request), std::move(listener), no_memory(), std::move(form)});
      n_in_inbox_ += n_answers;
    }
    wake_up();
    return id;
  }

  Status check(const Request& request) const {
    if (model_->parts().files->has_no_head && request.pooling == Pooling::kNone)
      return unsupported(
          "the model cannot generate: its files have no lm_head.weight, and its configuration does "
          "not tie the head to the embeddings");
    return loop_->check(request);
  }

  void cancel(RequestId id) noexcept {
    std::optional<Submit> not_taken;  // destroyed without the lock, as its listener may do anything
    {
      std::lock_guard lock(mutex_);
      if (const size_t at = place_in_inbox(id); at < inbox_.size()) {
        not_taken = std::move(inbox_[at]);
        inbox_.erase(inbox_.begin() + static_cast<std::ptrdiff_t>(at));
        n_in_inbox_ -= static_cast<size_t>(not_taken->request.sampling.n);
        return;
      }
      try {
        cancelled_.push_back(id);
      } catch (const std::bad_alloc&) {  // the request goes on without a listener
      }
    }
    wake_up();
  }

  void hold() {
    std::lock_guard lock(mutex_);
    ++n_holds_;
  }
  void release() {
    {
      std::lock_guard lock(mutex_);
      --n_holds_;
    }
    wake_.notify_one();
  }

  bool is_waiting(RequestId id) const {
    std::lock_guard lock(mutex_);
    return place_in_inbox(id) < inbox_.size() || std::ranges::binary_search(waiting_, id);
  }

  EngineStats stats() const {
    std::lock_guard lock(mutex_);
    return stats_;
  }
  const Model& model() const { return *model_; }
  const EngineOptions& options() const { return loop_->options(); }
  size_t kv_capacity() const { return loop_->kv_capacity(); }
  size_t longest() const { return loop_->longest(); }

 private:
  // For its inbox.
  void wake_up() {
    wake_.notify_one();
    if (turns_) turns_->reconsider(claim_);
  }

  struct Submit {
    RequestId id;
    Request request;
    Listener listener;
    Error no_memory;  // for the listener if memory runs out
    std::shared_ptr<const grammar::MaskTable> form = nullptr;
  };

  // Index of a request in the inbox, or the inbox's size. With the lock, as the next.
  size_t place_in_inbox(RequestId id) const {
    const auto at = std::ranges::lower_bound(inbox_, id, {}, &Submit::id);
    return static_cast<size_t>((at != inbox_.end() && at->id == id ? at : inbox_.end()) -
                               inbox_.begin());
  }

  bool has_work() const {
    return stopping_ || loop_->n_sequences() > 0 ||
           (n_holds_ == 0 && (!inbox_.empty() || !cancelled_.empty()));
  }

  void run() {
    lower_priority(options().nice);
    MemoryNodes::here().bind(0, options().threads);
    for (;;) {
      std::vector<Submit> submitted;
      std::vector<RequestId> cancelled;  // of those that earlier turns took
      {
        std::unique_lock lock(mutex_);
        if (turns_ && !has_work()) turns_->give_back(claim_);
        for (bool is_ready = false; !is_ready && !has_work();) {
          lock.unlock();
          is_ready = !prepare();
          lock.lock();
          stats_.kv_ready_bytes = loop_->ready_bytes();
        }
        wake_.wait(lock, [&] { return has_work(); });
        if (loop_->n_sequences() == 0) since_ = StepTurns::Clock::now();
        submitted.swap(inbox_);
        cancelled.swap(cancelled_);
        n_taken_ += std::exchange(n_in_inbox_, 0);
        try {
          for (const Submit& submit : submitted) waiting_.push_back(submit.id);
        } catch (const std::bad_alloc&) {  // they are known to wait after the step
        }
        if (stopping_) {
          lock.unlock();
          if (turns_) turns_->give_back(claim_);
          shut_down(submitted);
          return;
        }
      }
      loop_->cancel(std::move(cancelled));
      for (Submit& submit : submitted) take(submit);
      if (!take_turn()) continue;
      loop_->step();
      publish();
      since_ = StepTurns::Clock::now();
    }
  }

  // False: there is something new in the inbox. The turn is kept until the next is asked for, so
  // that an engine that has more work is not passed over.
  bool take_turn() {
    if (!turns_ || loop_->n_sequences() == 0) return true;
    return turns_->take(claim_, loop_->start_by(since_));
  }

  // Prepares memory, unless another engine computes.
  bool prepare() {
    if (!turns_) return loop_->prepare();
    if (!turns_->try_take(claim_)) return false;
    const bool has_more = loop_->prepare();
    turns_->give_back(claim_);
    return has_more;
  }

  // Counters first, so that a listener finds its answer counted.
  void publish() noexcept {
    EngineStats stats = loop_->stats();
    std::optional<std::vector<RequestId>> waiting;
    try {
      waiting = loop_->waiting();
    } catch (const std::bad_alloc&) {  // they stay those of the step before, until the next
    }
    {
      std::lock_guard lock(mutex_);
      if (stats.figures.empty()) stats.figures.swap(stats_.figures);
      stats_ = std::move(stats);
      n_taken_ = loop_->n_sequences();
      if (waiting) waiting_ = std::move(*waiting);
    }
    loop_->deliver_events();
  }

  void take(Submit& submit) noexcept {
    const Listener listener = std::move(submit.listener);
    const int n_answers = submit.request.sampling.n;
    Error error = std::move(submit.no_memory);
    try {
      const Status status = loop_->submit_checked(submit.id, std::move(submit.request), listener);
      if (status) return;
      error = made_or([&] { return status.error(); }, std::move(error));
    } catch (const std::bad_alloc&) {
    } catch (const std::exception& thrown) {
      error = made_or([&] { return make_error(ErrorCode::kInternal, "{}", thrown.what()); },
                      std::move(error));
    }
    {
      std::lock_guard lock(mutex_);
      n_taken_ -= n_answers;
    }
    listener(Event{.request = submit.id, .error = std::move(error)});
  }

  void shut_down(std::vector<Submit>& submitted) noexcept {
    for (Submit& submit : submitted)
      submit.listener(
          Event{.request = submit.id,
                .error = made_or([&] { return shutting_down_; }, std::move(submit.no_memory))});
    loop_->fail_all(shutting_down_);
    publish();
  }

  const Error shutting_down_{ErrorCode::kUnavailable, "the engine is shutting down"};
  std::shared_ptr<const Model> model_;
  std::unique_ptr<EngineLoop>
      loop_;  // its state belongs to thread_; check() and options() are constant
  const std::shared_ptr<StepTurns> turns_;  // null: it computes whenever it has work
  StepTurns::Claim claim_;
  StepTurns::Clock::time_point since_;  // it has had work and no step; of thread_
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Submit> inbox_;         // ids ascend
  std::vector<RequestId> cancelled_;  // not in the inbox
  RequestId next_id_ = 1;
  bool stopping_ = false;
  int n_holds_ = 0;
  size_t n_in_inbox_ = 0;           // answers that the inbox asks for
  size_t n_taken_ = 0;              // answers under way in the loop, as of the last step
  EngineStats stats_;               // as of the last step
  std::vector<RequestId> waiting_;  // as of the last step, and those taken since, ascending
  std::thread thread_;
};

size_t kv_bytes_per_token(const Model& model, KvType type) {
  const Model::Parts& parts = model.parts();
  return parts.device->kv_bytes_per_token(parts.files->config, kv_dtype(type));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::open(std::shared_ptr<const Model> model,
                                             const EngineOptions& options) {
  return open_engine(std::move(model), {.engine = options});
}

Result<std::unique_ptr<Engine>> open_engine(std::shared_ptr<const Model> model,
                                            const LoopOptions& options) {
  const Model::Parts& parts = model->parts();
  if (parts.weights == nullptr)
    return invalid_argument(
        "the model was loaded without its weights, expected a model with weights for an engine");
  Result<std::unique_ptr<EngineLoop>> loop = open_loop(parts, options);
  if (!loop) return loop.error();
  try {
    return std::unique_ptr<Engine>(new Engine(
        std::make_unique<Engine::Impl>(std::move(model), std::move(*loop), options.turns)));
  } catch (const std::system_error& error) {
    return cannot_start("the engine's thread", error.what());
  }
}

Result<RequestId> Engine::submit(Request request, Listener listener) {
  return impl_->submit(std::move(request), std::move(listener));
}
Result<RequestId> Engine::submit_checked(Request request, Listener listener) {
  return impl_->submit_checked(std::move(request), std::move(listener));
}
Status Engine::check(const Request& request) const { return impl_->check(request); }
void Engine::cancel(RequestId id) { impl_->cancel(id); }
Engine::Hold Engine::hold() {
  impl_->hold();
  return Hold(impl_.get(), [impl = impl_.get()](const void*) { impl->release(); });
}
bool Engine::is_waiting(RequestId id) const { return impl_->is_waiting(id); }
EngineStats Engine::stats() const { return impl_->stats(); }
const Model& Engine::model() const { return impl_->model(); }
const EngineOptions& Engine::options() const { return impl_->options(); }
size_t Engine::kv_capacity() const { return impl_->kv_capacity(); }
size_t Engine::longest() const { return impl_->longest(); }

Result<std::vector<Completion>> Engine::complete(Request request) {
  std::vector<Request> one;
  one.push_back(std::move(request));
  Result<std::vector<std::vector<Completion>>> answers = complete_all(std::move(one));
  if (!answers) return answers.error();
  return std::move(answers->front());
}

Result<std::vector<std::vector<Completion>>> Engine::complete_all(std::vector<Request> requests) {
  std::vector<std::vector<Completion>> answers(requests.size());
  std::vector<int> n_of;  // [requests] answers
  Waker waker;
  Hold held = hold();  // requests that the group cancels before this ends are never computed
  RequestGroup group(*this, {.on_events = [&] { waker.wake(); }});
  for (Request& request : requests) {
    n_of.push_back(request.sampling.n);
    group.add(std::move(request));
  }
  while (!group.is_over()) {
    group.submit();
    std::vector<GroupEvent> events = group.take();
    for (GroupEvent& one : events) {
      if (one.event.error) return *one.event.error;
      std::vector<Completion>& completions = answers[one.request];
      completions.resize(static_cast<size_t>(n_of[one.request]));
      completions[static_cast<size_t>(one.event.choice)] = std::move(*one.event.completion);
    }
    if (!events.empty()) continue;
    held.reset();  // the awaited requests have to run
    waker.wait(group.retry_at());
  }
  return answers;
}

}  // namespace pando
