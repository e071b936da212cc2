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
#include "engine/work_view.h"

namespace pando {
namespace {

constexpr double kForgets = 1.0 / 64;  // weight of the latest answer's length in the mean

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

kernel::KvShape kv_shape_of(const model::ModelConfig& config, const LoopOptions& options) {
  return {.type = kv_dtype(options.engine.kv_type),
          .n_layers = config.n_layers(),
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
      pool_(options.engine.threads, options.engine.nice),
      transformer_(weights, kernels, pool_, comm_, options.engine.context),
      outputs_(transformer_, pool_, weights.config.vocab, weights.config.d_model),
      kv_shape_(kv_shape_of(weights.config, options, *planner_)),
      n_kv_pages_(options.engine.kv_memory / kv_shape_.page_bytes()),
      pages_(pool_for(*planner_, kv_shape_, options)),
      cache_(pages_, options.page_len),
      timing_(std::move(timing)) {}

bool EngineLoop::step() {
  if (sequences_.empty()) return false;
  FpStateGuard fp_state;
  const auto start = std::chrono::steady_clock::now();
  std::vector<Share> shares;
  packed_.reset();
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
    packed_.reset();  // says nothing of how long steps take
  }
  remove_done();
  ++stats_.steps;
  const double seconds = seconds_since(start);
  stats_.step_s += seconds;
  if (packed_) {
    const double predicted = timing_->seconds(packed_->features);
    stats_.predicted_s += predicted;
    stats_.timed_s += seconds;
    stats_.prediction_error_s += std::abs(predicted - seconds);
    if (std::isfinite(packed_->limit)) stats_.budget_s += packed_->limit;
    timing_->observe(*packed_, seconds);
  }
  return true;
}

// A bug or a lack of memory met by a step ends the requests that had a part in it, or the oldest
// one where it never got so far; the others go on.
void EngineLoop::fail_step(const std::vector<Share>& shares, const Error& error) {
  cache_.abort();
  planner_->abort();
  for (const Share& share : shares)
    if (!share.sequence->done) fail(share.sequence->request, error);
  if (shares.empty()) fail(sequences_.front()->request, error);
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
  const bool is_first = drawn && sequence.completion.tokens.size() == 1;  // which is always told
  if (taken.text.empty() && !tells_logprob && !is_first) return;
  Event event{
      .request = sequence.request->id, .choice = sequence.choice, .text = std::move(taken.text)};
  if (tells_logprob) event.logprob = sequence.completion.logprobs.back();
  outbox_.push_back({sequence.request, std::move(event)});
}

void EngineLoop::finish(Sequence& sequence, std::string text) {
  make_room_to_tell();  // first: what is over and was not told would be waited for
  stats_.prompt_tokens += sequence.completion.prompt_tokens;
  stats_.generated_tokens += sequence.completion.tokens.size();
  if (sequence.max_tokens > 1)
    answer_len_ +=
        kForgets * (static_cast<double>(sequence.completion.tokens.size()) - answer_len_);
  sequence.completion.wrong = planner_->wrong();
  drop(sequence);
  if (--sequence.request->n_open == 0) ++stats_.requests;
  outbox_.push_back({sequence.request, Event{.request = sequence.request->id,
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
  stats.open_tokens = open_tokens();
  for (const auto& sequence : sequences_) {
    stats.running_answers += sequence->running;
    if (timing_ && sequence->completion.tokens.empty()) stats.queued_s += sequence->job.left;
  }
  stats.kv_bytes = (pages_.n_pages() - pages_.n_free()) * pages_.page_bytes();
  stats.kv_ready_bytes = pages_.ready_bytes();
  stats.tree_nodes = cache_.tree().n_nodes();
  return stats;
}

}  // namespace pando
