#include "engine/engine_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <set>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/fp_state.h"
#include "engine/options.h"
#include "engine/sampler.h"
#include "engine/work_view.h"

namespace pando {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

kernel::KvShape kv_shape_of(const model::ModelConfig& config, const LoopOptions& options) {
  return {.type = kv_dtype(options.engine.kv_type),
          .n_layers = config.n_layers,
          .n_kv_heads = config.n_kv_heads,
          .head_dim = config.head_dim,
          .page_len = options.page_len,
          .tile_len = options.tile_len,
          .span_len = options.span_len};
}

// Of pages that a planner's passes fill.
kernel::KvShape kv_shape_of(const model::ModelConfig& config, const LoopOptions& options,
                            const Planner& planner) {
  kernel::KvShape shape = kv_shape_of(config, options);
  if (planner.stateless()) shape.n_layers = 1;
  return shape;
}

// Where the planner keeps keys and values itself, pages of a byte that never run out count tokens.
PagePool pool_for(Planner& planner, const kernel::KvShape& shape, const LoopOptions& options) {
  const EngineOptions& engine = options.engine;
  if (!planner.opens_store(shape.page_bytes(), engine.kv_memory))
    return {shape.page_bytes(), engine.kv_memory, options.poison_pages};
  const size_t longest = engine.context / options.page_len + 1;
  return {1, longest * engine.max_running};
}

}  // namespace

Result<std::unique_ptr<EngineLoop>> EngineLoop::create(const model::Weights& weights,
                                                       const Tokenizer* tokenizer,
                                                       const LoopOptions& options) {
  LoopOptions full = options;
  if (Status status = fill_in(full.engine, weights.config); !status) return status.error();
  Result<std::unique_ptr<Planner>> planner = make_planner(full.engine.sharing, full.tile_len);
  if (!planner) return planner.error();
  const size_t page_bytes = kv_shape_of(weights.config, full, **planner).page_bytes();
  if (full.engine.kv_memory / page_bytes > std::numeric_limits<PageId>::max())
    return invalid_argument("kv_memory is {} bytes, expected at most 2^32 pages of {} bytes",
                            full.engine.kv_memory, page_bytes);
  if (full.engine.kv_memory < page_bytes)
    return invalid_argument(
        "kv_memory is {} bytes, expected at least one page of {} bytes ({} positions)",
        full.engine.kv_memory, page_bytes, full.page_len);
  if (full.engine.kv_type == KvType::kInt8 && !planner.value()->takes_int8())
    return invalid_argument("sharing '{}' with keys and values in int8, expected f32, f16 or bf16",
                            full.engine.sharing);
  Result<const kernel::Kernels*> kernels = kernels_by_name(full.engine.isa);
  if (!kernels) return kernels.error();
  full.engine.isa = (*kernels)->name;
  Result<std::optional<StepTiming>> timing = StepTiming::create(full.engine);
  if (!timing) return timing.error();
  if (*timing && (*planner)->batching().whole_prompts())
    return invalid_argument(
        "sharing '{}' takes whole prompts in batches of its own, expected policy "
        "fcfs and no step_budget",
        full.engine.sharing);
  FpStateGuard fp_state;  // rotation factors are made here
  try {
    return std::unique_ptr<EngineLoop>(new EngineLoop(weights, tokenizer, full, **kernels,
                                                      std::move(*planner), std::move(*timing)));
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::kUnavailable,
                      "not enough memory for a context of {} positions and a kv_memory of {} bytes "
                      "(hint: less of them)",
                      full.engine.context, full.engine.kv_memory);
  } catch (const std::system_error& error) {
    return make_error(ErrorCode::kUnavailable, "cannot start {} threads: {}", full.engine.threads,
                      error.what());
  }
}

EngineLoop::EngineLoop(const model::Weights& weights, const Tokenizer* tokenizer,
                       const LoopOptions& options, const kernel::Kernels& kernels,
                       std::unique_ptr<Planner> planner, std::optional<StepTiming> timing)
    : options_(options),
      weights_(weights),
      tokenizer_(tokenizer),
      kernels_(kernels),
      planner_(std::move(planner)),
      pool_(options.engine.threads),
      transformer_(weights, kernels, pool_, comm_, options.engine.context),
      outputs_(transformer_, pool_, weights.config.vocab, weights.config.d_model),
      kv_shape_(kv_shape_of(weights.config, options, *planner_)),
      n_kv_pages_(options.engine.kv_memory / kv_shape_.page_bytes()),
      pages_(pool_for(*planner_, kv_shape_, options)),
      cache_(pages_, options.page_len),
      timing_(std::move(timing)) {}

// --- requests ------------------------------------------------------------------------------------

size_t EngineLoop::longest(const Request& request) const {
  return std::min<size_t>(request.tokens.size() + request.sampling.max_tokens,
                          options_.engine.context);
}

Status EngineLoop::check(const Request& request) const {
  if (Status status = check_request(request, weights_.config, options_.engine); !status)
    return status;
  if (planner_->stateless() && request.pooling == Pooling::kNone && request.sampling.max_tokens > 1)
    return invalid_argument(
        "max_tokens is {}, expected 0 or 1: stateless, '{}' keeps no keys and values after a pass",
        request.sampling.max_tokens, options_.engine.sharing);
  const size_t n_longest = longest(request);
  if ((n_longest + options_.page_len - 1) / options_.page_len > n_kv_pages_)
    return make_error(
        ErrorCode::kTooLong,
        "prompt and answer take up to {} tokens of keys and values; the memory for them holds {} "
        "(hint: a larger kv_memory, or fewer max_tokens)",
        n_longest, n_kv_pages_ * options_.page_len);
  return {};
}

namespace {

// Leading tokens of a path that are cached or that others want too.
uint32_t shared_tokens(Node* tip) {
  uint32_t n = 0;
  for (const Node* node : path_to(tip)) {
    const uint32_t n_shared = node->n_pins > 1 ? node->size() : node->n_committed;
    n += n_shared;
    if (n_shared < node->size()) break;
  }
  return n;
}

}  // namespace

Status EngineLoop::submit(RequestId id, Request request, Listener listener) {
  if (Status status = check(request); !status) return status;
  const size_t n_prompt = request.tokens.size(), n_longest = longest(request);
  auto active = std::make_shared<ActiveRequest>();
  if (request.pooling != Pooling::kNone) request.sampling.max_tokens = 1;  // its last row too
  active->id = id;
  active->seed =
      request.sampling.seed ? *request.sampling.seed : derive_seed(options_.engine.seed, request);
  active->request = std::move(request);
  if (active->request.sampling.repetition_penalty != 1) {
    std::vector<Token>& in_prompt = active->in_prompt = active->request.tokens;
    std::sort(in_prompt.begin(), in_prompt.end());
    in_prompt.erase(std::unique(in_prompt.begin(), in_prompt.end()), in_prompt.end());
  }
  active->listener = std::move(listener);
  active->n_open = active->request.sampling.n;
  uint64_t n_shared = 0;
  for (int choice = 0; choice < active->n_open; ++choice) {
    const uint64_t order = next_order_++;
    auto sequence = std::make_unique<Sequence>(Sequence{
        .request = active,
        .choice = choice,
        .order = order,
        .tip = cache_.acquire(planner_->shares_tokens() ? active->request.isolation_key : order,
                              computed_prompt(active->request)),
        .max_tokens = static_cast<uint32_t>(n_longest - n_prompt),
        .next_output = first_output(active->request),
        .completion = {.choice = choice, .prompt_tokens = static_cast<int>(n_prompt)},
        .stops = StopMatcher(active->request.sampling.stop)});
    sequence->completion.shared_tokens = static_cast<int>(shared_tokens(sequence->tip));
    n_shared += static_cast<uint64_t>(sequence->completion.shared_tokens);
    if (timing_)
      sequence->job = timing_->new_job(active->request, sequence->tip->end(),
                                       path_count(sequence->tip, &Node::n_committed));
    if (tokenizer_ != nullptr) sequence->decoder.emplace(*tokenizer_, /*first_in_text=*/false);
    sequences_.push_back(std::move(sequence));
  }
  if (Status status = check_memory(active->n_open); !status) {
    const bool memory_tight = memory_tight_;  // this makes no room
    cancel(id);
    memory_tight_ = memory_tight;
    return status;
  }
  stats_.arrived_tokens += n_prompt * active->n_open;
  stats_.arrived_shared += n_shared;
  return {};
}

// kUnavailable where all open answers may come to need more memory than they are allowed, the n_new
// last ones included. These alone are not too much.
Status EngineLoop::check_memory(int n_new) const {
  const size_t n_most = options_.engine.max_open_memory;
  if (n_most == 0 || sequences_.size() == static_cast<size_t>(n_new)) return {};
  size_t n_tokens = cache_.tree().n_pinned_tokens();
  for (const auto& sequence : sequences_)
    n_tokens += sequence->max_tokens - sequence->completion.tokens.size();
  const size_t n_bytes = n_tokens * kv_shape_.page_bytes() / options_.page_len;
  if (n_bytes <= n_most) return {};
  return make_error(ErrorCode::kUnavailable,
                    "open answers would come to {} bytes of keys and values, expected at most {} "
                    "(hint: try again later)",
                    n_bytes, n_most);
}

void EngineLoop::cancel(RequestId id) {
  for (const auto& sequence : sequences_)
    if (sequence->request->id == id) drop(*sequence);
  remove_done();
}

std::vector<RequestId> EngineLoop::waiting() const {
  std::vector<RequestId> ids;
  RequestId begun = 0;  // the last one; a request's sequences stand together
  for (const auto& sequence : sequences_) {
    const RequestId id = sequence->request->id;
    if (sequence->has_begun()) {
      begun = id;
      if (!ids.empty() && ids.back() == id) ids.pop_back();
    } else if (id != begun && (ids.empty() || ids.back() != id)) {
      ids.push_back(id);
    }
  }
  return ids;
}

void EngineLoop::fail_all(const Error& error) {
  for (const auto& sequence : sequences_)
    if (!sequence->done) fail(*sequence->request, error);
  remove_done();
}

// Every sequence of the request goes; its listener hears of it once.
void EngineLoop::fail(ActiveRequest& request, const Error& error) {
  for (const auto& sequence : sequences_)
    if (sequence->request.get() == &request) drop(*sequence);
  outbox_.push_back({request.listener, Event{.request = request.id, .error = error}});
}

void EngineLoop::deliver_events() {
  for (const Delivery& delivery : std::exchange(outbox_, {})) delivery.listener(delivery.event);
}

// Gives back what a sequence holds; the sequence itself goes with remove_done().
void EngineLoop::drop(Sequence& sequence) {
  if (sequence.done) return;
  sequence.done = true;
  if (sequence.running) cache_.unlock(sequence.tip);
  sequence.running = false;
  if (planner_->shares_tokens()) {
    cache_.release(sequence.tip);
  } else {
    cache_.release_and_drop(sequence.tip);
  }
  memory_tight_ = false;
}

void EngineLoop::remove_done() {
  std::erase_if(sequences_, [](const auto& sequence) { return sequence->done; });
}

// --- the step ------------------------------------------------------------------------------------

bool EngineLoop::step() {
  if (sequences_.empty()) return false;
  FpStateGuard fp_state;
  const auto start = std::chrono::steady_clock::now();
  std::vector<Share> shares;
  packed_features_.reset();
  try {
    if (timing_) shares = reserve_timed_step();
    if (shares.empty()) shares = reserve_step(work_view());
    if (shares.empty() && memory_tight_) {  // nobody runs that could make room later
      memory_tight_ = false;
      shares = reserve_step(work_view());
    }
    // Who goes first by a policy may lack the room that older ones hold. The oldest gets all of it.
    if (shares.empty()) shares = reserve_oldest();
    stats_.planning_s += seconds_since(start);
    PANDO_CHECK(!shares.empty());
    execute(shares);
  } catch (const std::exception& error) {
    fail_step(shares, {ErrorCode::kInternal, error.what()});
  }
  remove_done();
  ++stats_.steps;
  const double seconds = seconds_since(start);
  stats_.step_s += seconds;
  if (packed_features_) {
    const double predicted = timing_->seconds(*packed_features_);
    stats_.predicted_s += predicted;
    stats_.timed_s += seconds;
    stats_.prediction_error_s += std::abs(predicted - seconds);
    timing_->observe(*packed_features_, seconds);
  }
  return true;
}

// A bug or a lack of memory met by a step ends the requests that had a part in it, or the oldest
// one where it never got so far; the others go on.
void EngineLoop::fail_step(const std::vector<Share>& shares, const Error& error) {
  cache_.abort();
  planner_->abort();
  for (const Share& share : shares)
    if (!share.sequence->done) fail(*share.sequence->request, error);
  if (shares.empty()) fail(*sequences_.front()->request, error);
}

// The rows of this step that the sequence wants the logits of.
WantedOutput EngineLoop::wanted_output(const Share& share) const {
  const Sequence& sequence = *share.sequence;
  const uint32_t begin = sequence.next_output;
  // Where not all cached outputs fit in the step, the rest comes first in the next.
  const bool all_again = share.n_again == n_cached_outputs(sequence);
  const uint32_t end =
      all_again ? path_count(sequence.tip, &Node::n_issued) : begin + share.n_again;
  return {sequence.tip, begin, std::max(begin, end), sequence.request->request.isolation_key};
}

void EngineLoop::execute(const std::vector<Share>& shares) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<WantedOutput> wanted;
  std::vector<Sequence*> sequences;
  std::set<const Node*> cached_answers;  // tips of answers whose next row is cached
  for (const Share& share : shares) {
    const WantedOutput want = wanted_output(share);
    if (want.begin == want.end) continue;
    wanted.push_back(want);
    sequences.push_back(share.sequence);
    if (share.n_again > 0 && !share.sequence->completion.tokens.empty())
      cached_answers.insert(want.tip);
  }
  const PlannedStep step = planner_->plan(cache_, wanted);
  PANDO_CHECK(step.n_recomputed >= cached_answers.size());
  stats_.recomputed_rows += step.n_recomputed;
  stats_.decode_rows += cached_answers.size();
  stats_.prefill_rows += step.n_recomputed - cached_answers.size();
  stats_.prefill_rows -= step.n_merged;
  stats_.pad_rows += step.n_pads;
  const size_t n_stored = planner_->stored_bytes();
  stats_.kv_bytes_peak = std::max<uint64_t>(
      stats_.kv_bytes_peak,
      n_stored > 0 ? n_stored : (pages_.n_pages() - pages_.n_free()) * pages_.page_bytes());
  stats_.planning_s += seconds_since(start);

  const float* hidden =
      transformer_.forward(step.plan, {.base = pages_.base(), .shape = kv_shape_});
  cache_.commit();
  std::vector<std::vector<TokenLogprob>> read = outputs_.read(step, hidden, wanted, sequences);
  for (size_t i = 0; i < sequences.size(); ++i)
    for (TokenLogprob& next : read[i]) take(*sequences[i], std::move(next));
}

void EngineLoop::take(Sequence& sequence, TokenLogprob next) {
  const Token token = next.token;
  const bool drawn = !sequence.scores_prompt();
  Sequence::Taken taken = sequence.take(
      std::move(next),
      {weights_.config.eos_ids, tokenizer_ ? tokenizer_->end_tokens() : std::span<const Token>()});
  if (taken.finished) return finish(sequence, std::move(taken.text));
  if (drawn) sequence.tip = cache_.extend(sequence.tip, token);
  const bool tells_logprob = drawn && sequence.sampling().logprobs;
  if (taken.text.empty() && !tells_logprob) return;
  Event event{
      .request = sequence.request->id, .choice = sequence.choice, .text = std::move(taken.text)};
  if (tells_logprob) event.logprob = sequence.completion.logprobs.back();
  outbox_.push_back({sequence.request->listener, std::move(event)});
}

void EngineLoop::finish(Sequence& sequence, std::string text) {
  stats_.prompt_tokens += sequence.completion.prompt_tokens;
  stats_.generated_tokens += sequence.completion.tokens.size();
  sequence.completion.wrong = planner_->wrong();
  drop(sequence);
  if (--sequence.request->n_open == 0) ++stats_.requests;
  outbox_.push_back(
      {sequence.request->listener, Event{.request = sequence.request->id,
                                         .choice = sequence.choice,
                                         .text = std::move(text),
                                         .completion = std::move(sequence.completion)}});
}

EngineStats EngineLoop::stats() const {
  EngineStats stats = stats_;
  stats.evicted_pages = cache_.n_evicted_pages();
  stats.sampling_s = outputs_.seconds();
  stats.linear_s = transformer_.times().linear_s;
  stats.attention_s = transformer_.times().attention_s;
  stats.row_ops_s = transformer_.times().row_ops_s;
  stats.linear_flops = transformer_.times().linear_flops;
  stats.technique = planner_->figures();
  stats.open_answers = sequences_.size();
  for (const auto& sequence : sequences_) stats.running_answers += sequence->running;
  stats.kv_bytes = (pages_.n_pages() - pages_.n_free()) * pages_.page_bytes();
  stats.tree_nodes = cache_.tree().n_nodes();
  return stats;
}

}  // namespace pando
