// schedule -> reserve -> plan -> execute -> commit, one step at a time, on the calling thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "cache/kv_cache.h"
#include "cache/page_pool.h"
#include "comm/comm.h"
#include "engine/output_reader.h"
#include "engine/sequence.h"
#include "engine/step_timing.h"
#include "engine/work_view.h"
#include "model/transformer.h"
#include "pando/engine.h"
#include "plan/planner.h"

namespace pando {

// What the public options leave to the engine; tests run these tiny.
struct LoopOptions {
  EngineOptions engine;
  int page_len = 32;
  int tile_len = 64;
  int span_len = 2048;
  bool poison_pages = false;  // fill pages with NaN before use
};

// Owns scheduler state, tree and pages. One thread.
class EngineLoop {
 public:
  // `tokenizer` may be null: then there is no text. Errors: kInvalidArgument.
  static Result<std::unique_ptr<EngineLoop>> create(const model::Weights& weights,
                                                    const Tokenizer* tokenizer,
                                                    const LoopOptions& options);

  // kInvalidArgument or kTooLong for a request of tokens that can never be answered. Reads options
  // only: any thread may call it.
  Status check(const Request& request) const;
  // Takes a request of tokens up, if it passes `check` and max_queue allows it: kUnavailable.
  // Throws std::bad_alloc where memory runs out, and has then taken nothing.
  Status submit(RequestId id, Request request, Listener listener);
  void cancel(RequestId id) { cancel(std::vector{id}); }
  void cancel(std::vector<RequestId> ids);
  // Requests of which nothing is computed but what they share with others, in order of arrival.
  std::vector<RequestId> waiting() const;
  // Ends every open request with this error.
  void fail_all(const Error& error);

  // Runs one forward pass. False when there is nothing to do.
  bool step();
  // For idle time: makes the next step cheaper, a few milliseconds at a time. False when nothing
  // was left to do.
  bool prepare() { return pages_.prepare(options_.engine.kv_ahead); }
  // Tells the listeners what happened since the last call. They may call anything of this class.
  void deliver_events();

  size_t n_sequences() const { return sequences_.size(); }
  EngineStats stats() const;
  const EngineOptions& options() const { return options_.engine; }
  size_t kv_capacity() const { return n_kv_pages_ * static_cast<size_t>(options_.page_len); }
  const KvCache& cache() const { return cache_; }
  void observe_logits(OutputReader::LogitsObserver observer) {
    outputs_.observe(std::move(observer));
  }

 private:
  // What one step does for a sequence.
  struct Share {
    Sequence* sequence;
    uint32_t n_again;  // cached rows that it computes again
  };
  struct Delivery {
    std::shared_ptr<ActiveRequest> request;  // whose listener is told
    Event event;
  };

  EngineLoop(const model::Weights& weights, const Tokenizer* tokenizer, const LoopOptions& options,
             const kernel::Kernels& kernels, std::unique_ptr<Planner> planner,
             std::optional<StepTiming> timing);

  WorkViewBuilder work_view() const;
  WorkViewBuilder timed_work_view() const;
  std::vector<Share> reserve_step(const WorkViewBuilder& work);
  std::vector<Share> reserve_oldest();
  std::vector<Share> reserve_timed_step();
  std::vector<Share> reserve_all(const WorkViewBuilder& work, std::span<const Advance> advances);
  bool reserve(Sequence& sequence, uint32_t n_rows, std::span<const Share> shares);
  bool preempt_for(const Sequence& sequence, std::span<const Share> shares);
  double cost_of_preempting(const Sequence& sequence) const;
  void fail_step(const std::vector<Share>& shares, const Error& error);
  void execute(const std::vector<Share>& shares);
  WantedOutput wanted_output(const Share& share) const;
  void take(Sequence& sequence, TokenLogprob next);
  void finish(Sequence& sequence, std::string text);
  void fail(const std::shared_ptr<ActiveRequest>& request, const Error& error);
  void make_room_to_tell();
  size_t batch_size() const;
  uint64_t add_sequence(const std::shared_ptr<ActiveRequest>& active, int choice);
  void drop(Sequence& sequence);
  void drop_all(const ActiveRequest& request);
  void remove_done();
  Status check_queue(int n_new) const;
  uint32_t tokens_to_come(const Sequence& sequence) const;
  size_t open_tokens() const { return cache_.tree().n_pinned_tokens() + n_to_come_; }
  size_t longest(const Request& request) const;  // tokens of prompt and answer at most

  LoopOptions options_;
  const model::Weights& weights_;
  const Tokenizer* tokenizer_;
  const kernel::Kernels& kernels_;
  std::unique_ptr<Planner> planner_;
  ThreadPool pool_;
  SingleProcessComm comm_;
  model::Transformer transformer_;
  OutputReader outputs_;
  kernel::KvShape kv_shape_;
  size_t n_kv_pages_;  // that the memory for keys and values holds
  PagePool pages_;
  KvCache cache_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // in order of arrival
  uint64_t next_order_ = 0;
  std::optional<StepTiming> timing_;  // where steps are packed by time
  std::optional<PackedStep> packed_;  // the step under way, if all of it was reserved
  double answer_len_ = 128;           // mean of those that ended, the latest ones count most
  size_t n_to_come_ = 0;  // tokens of open answers, as predicted when a sequence last ended
  // Set when a reservation failed or took from others, until a sequence that runs ends: no waiting
  // sequence starts meanwhile.
  bool memory_tight_ = false;
  // The waiting one whose start failed, with none taken from since.
  const Sequence* did_not_fit_ = nullptr;
  std::vector<Delivery> outbox_;
  EngineStats stats_;
};

}  // namespace pando
