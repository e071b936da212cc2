#include "engine/engine_loop.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/fp_state.h"

namespace pando {
namespace {

bool has_text(const Sequence::Taken& taken) {
  return !taken.text.empty() || !taken.reasoning.empty() || !taken.calls.empty();
}

Error differs_from_begun(const Sequence& sequence) {
  return blame("begun", invalid_argument("answer {} has other tokens than {} that it began with",
                                         sequence.choice, sequence.begun().size()));
}

// Limit of a step of texts, in seconds; infinity: no limit. One such step fits between two tokens
// of another engine's answer.
double text_step_seconds(const LoopOptions& options) {
  double seconds = std::numeric_limits<double>::infinity();
  if (options.turns == nullptr) return seconds;
  if (options.engine.step_budget > 0) return options.engine.step_budget / 2;
  for (const auto& [name, deadlines] : options.engine.deadline_classes)
    seconds = std::min(seconds, deadlines.tpot_slo / 2);
  return seconds;
}

}  // namespace

EngineLoop::EngineLoop(LoopParts parts)
    : parts_(std::move(parts)),
      residency_({.n_pages = parts_.executor->facts().n_pages,
                  .page_len = parts_.executor->facts().page_len,
                  .n_parts = parts_.executor->facts().n_parts,
                  .part_positions = parts_.executor->facts().part_positions,
                  .n_slots = parts_.executor->facts().n_slots,
                  .windows = {.window = parts_.executor->facts().window,
                              .tile_len = static_cast<uint32_t>(parts_.executor->facts().tile_len),
                              .n_pages = parts_.executor->facts().n_window_pages},
                  .place_every = static_cast<uint32_t>(options().place_every),
                  .shares_tokens = parts_.planner->shares_tokens()},
                 parts_.timing.get()),
      admission_({.options = options(),
                  .limits = limits(),
                  .shares_tokens = parts_.planner->shares_tokens(),
                  .tokenizer = parts_.tokenizer,
                  .forms = parts_.forms,
                  .answers = parts_.answers,
                  .forces_tokens = parts_.options.forces_tokens,
                  .timing = parts_.timing.get(),
                  .residency = residency_,
                  .stats = stats_}),
      runner_({.options = options(),
               .planner = *parts_.planner,
               .batcher = parts_.batcher.get(),
               .executor = *parts_.executor,
               .pool = *parts_.pool,
               .residency = residency_,
               .depth = depth(),
               .least_answers = parts_.options.least_answers,
               .ranks = parts_.ranks,
               .timing = parts_.timing.get(),
               .stats = stats_}) {
  const ExecutorFacts& facts = parts_.executor->facts();
  PANDO_CHECK(facts.depth >= 1 && facts.page_len == parts_.options.page_len &&
              facts.tile_len == parts_.options.tile_len);
  if (facts.n_passes > 0)
    texts_.emplace(TextRunnerParts{.options = options(),
                                   .executor = *parts_.executor,
                                   .pages = residency_.pages(),
                                   .outbox = outbox_,
                                   .stats = stats_,
                                   .depth = depth(),
                                   .joins_equal = parts_.planner->shares_tokens(),
                                   .step_seconds = text_step_seconds(parts_.options)});
}

// Steps in flight at most.
size_t EngineLoop::depth() const {
  const int most = parts_.options.depth, taken = parts_.executor->facts().depth;
  return static_cast<size_t>(most > 0 ? std::min(most, taken) : taken);
}

Limits EngineLoop::limits() const {
  std::vector<Token> ends = parts_.end_ids;
  if (parts_.tokenizer != nullptr)
    ends.insert(ends.end(), parts_.tokenizer->end_tokens().begin(),
                parts_.tokenizer->end_tokens().end());
  const int vocab = parts_.executor->facts().vocab;
  std::erase_if(ends, [&](Token end) { return end < 0 || end >= vocab; });
  return {.model = {.vocab = vocab,
                    .max_positions = parts_.max_positions,
                    .n_token_types = parts_.n_token_types,
                    .gives_logits = parts_.executor->facts().n_passes == 0,
                    .tokenizer = parts_.tokenizer},
          .kv_capacity = kv_capacity(),
          .longest_path = parts_.executor->facts().longest_path,
          .token_bytes = parts_.executor->facts().page_bytes / parts_.executor->facts().page_len,
          .one_pass = !parts_.executor->facts().keeps_keys,
          .ends = std::move(ends)};
}

Status EngineLoop::submit(RequestId id, Request request, Listener listener) {
  if (Status status = check(request); !status) return status;
  return submit_checked(id, std::move(request), std::move(listener));
}

Status EngineLoop::submit_checked(RequestId id, Request request, Listener listener) {
  if (texts_) return texts_->submit(id, std::move(request), std::move(listener));
  const bool has_begun = !request.begun.empty();
  try {
    const Status status =
        admission_.submit(id, std::move(request), std::move(listener), sequences_);
    if (status && has_begun) tell_begun(id);
    if (!status || has_begun) remove_done();
    return status;
  } catch (...) {
    for (const auto& sequence : sequences_)
      if (sequence->request->id == id) admission_.drop(*sequence);
    remove_done();
    throw;
  }
}

// Takes all memory before it tells the first event.
void EngineLoop::tell_begun(RequestId id) {
  std::vector<std::pair<Sequence*, Event>> events;
  for (const auto& sequence : sequences_) {
    if (sequence->request->id != id) continue;
    for (size_t i = 0; i < sequence->begun_taken.size(); ++i) {
      Sequence::Taken& taken = sequence->begun_taken[i];
      if (!taken.finished && (i == 0 || has_text(taken)))
        events.emplace_back(sequence.get(), event_of(*sequence, std::move(taken), i + 1));
    }
  }
  outbox_.make_room(events.size() + sequences_.size());
  for (auto& [sequence, event] : events) outbox_.add(sequence->request, std::move(event));
  for (const auto& sequence : sequences_) {
    if (sequence->request->id != id) continue;
    std::vector<Sequence::Taken> taken = std::exchange(sequence->begun_taken, {});
    if (!taken.empty() && taken.back().finished) finish(*sequence, std::move(taken.back()));
  }
}

void EngineLoop::cancel(std::vector<RequestId> ids) {
  if (ids.empty()) return;
  std::ranges::sort(ids);
  if (texts_) return texts_->cancel(ids);
  for (const auto& sequence : sequences_)
    if (std::ranges::binary_search(ids, sequence->request->id)) admission_.drop(*sequence);
  remove_done();
}

std::vector<RequestId> EngineLoop::waiting() const {
  if (texts_) return texts_->waiting();
  std::vector<RequestId> ids;
  RequestId begun = 0;  // the last one; a request's sequences stand together
  for (const auto& sequence : sequences_) {
    const RequestId id = sequence->request->id;
    if (sequence->done) continue;
    if (sequence->has_begun()) {
      begun = id;
      if (!ids.empty() && ids.back() == id) ids.pop_back();
    } else if (id != begun && (ids.empty() || ids.back() != id)) {
      ids.push_back(id);
    }
  }
  return ids;
}

void EngineLoop::fail_all(const Error& error) noexcept {
  if (texts_) texts_->fail_all(error);
  for (const auto& sequence : sequences_)
    if (!sequence->done) fail(sequence->request, [&] { return error; });
  remove_done();
}

bool EngineLoop::step() {
  if (n_sequences() == 0) return false;
  FpStateGuard fp_state;
  const auto start = std::chrono::steady_clock::now();
  if (texts_) texts_->step();
  while (!texts_ && runner_.takes_more() && submit_next()) continue;
  const std::optional<SubmittedStep> finished = finish_next();
  remove_done();
  if (finished) runner_.observe(*finished);
  ++stats_.steps;
  stats_.step_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return true;
}

// False: there is no work for another step, or it failed.
bool EngineLoop::submit_next() {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Share> shares;
  return try_step(shares, [&] {
    shares = runner_.choose(sequences_);
    if (shares.empty()) return false;
    runner_.submit(shares, begin);
    return true;
  });
}

// Nothing if no step is in flight, or if the step failed.
std::optional<SubmittedStep> EngineLoop::finish_next() {
  if (runner_.n_in_flight() == 0) return std::nullopt;
  SubmittedStep step = runner_.next();
  const bool is_finished = try_step(step.shares, [&] {
    runner_.finish(step, sequences_,
                   [this](Sequence& sequence, ReadRow row) { take(sequence, std::move(row)); });
    return true;
  });
  return is_finished ? std::optional(std::move(step)) : std::nullopt;
}

// Returns the result of `run`, or false if it throws.
template <class Try>
bool EngineLoop::try_step(const std::vector<Share>& shares, const Try& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    fail_step(shares, [] { return no_memory(); });
  } catch (const std::exception& error) {
    fail_step(shares, [&] { return make_error(ErrorCode::kInternal, "{}", error.what()); });
  }
  return false;
}

// A bug or a lack of memory met by a step ends the requests that had a part in it, or the oldest
// one where it never got so far; the others go on, also those of later steps that failed with it.
void EngineLoop::fail_step(std::span<const Share> shares, const MakeError& reason) noexcept {
  runner_.abort();
  for (const Share& share : shares)
    if (!share.sequence->done) fail(share.sequence->request, reason);
  if (!shares.empty()) return;
  const auto oldest = std::ranges::find_if(sequences_, [](const auto& s) { return !s->done; });
  if (oldest != sequences_.end()) fail((*oldest)->request, reason);
}

void EngineLoop::take(Sequence& sequence, ReadRow row) {
  if (sequence.done) return;  // by a row before this one
  if (sequence.failure) return fail(sequence.request, [&] { return std::move(*sequence.failure); });
  const bool drawn = !sequence.scores_prompt();
  const Token token = row.next.token;
  Sequence::Taken taken = sequence.take(std::move(row));
  const size_t n_tokens = sequence.completion.tokens.size(), n_begun = sequence.begun().size();
  const bool is_other =
      drawn && n_tokens > 0 && n_tokens <= n_begun && sequence.begun()[n_tokens - 1] != token;
  if (is_other || (taken.finished && n_tokens < n_begun))
    return fail(sequence.request, [&] { return differs_from_begun(sequence); });
  if (taken.finished) return finish(sequence, std::move(taken));
  for (const Token next : taken.follow)
    sequence.tip = residency_.cache().extend(sequence.tip, next);
  const bool tells_logprob = drawn && sequence.sampling().logprobs;
  const bool is_first = drawn && n_tokens == 1;  // the first is always told
  if (!has_text(taken) && !tells_logprob && !is_first) return;
  Event event = event_of(sequence, std::move(taken), n_tokens);
  if (tells_logprob) event.logprob = sequence.completion.logprobs.back();
  outbox_.add(sequence.request, std::move(event));
}

Event EngineLoop::event_of(Sequence& sequence, Sequence::Taken taken, size_t n_tokens) {
  Event event{.request = sequence.request->id,
              .choice = sequence.choice,
              .text = std::move(taken.text),
              .reasoning = std::move(taken.reasoning),
              .calls = std::move(taken.calls),
              .n_tokens = n_tokens};
  if (sequence.request->request.tells_tokens && sequence.n_told < n_tokens) {
    const std::span<const Token> tokens = sequence.completion.tokens;
    const std::span<const Token> untold =
        tokens.subspan(sequence.n_told, n_tokens - sequence.n_told);
    event.tokens.assign(untold.begin(), untold.end());
    sequence.n_told = n_tokens;
  }
  return event;
}

void EngineLoop::finish(Sequence& sequence, Sequence::Taken last) {
  outbox_.make_room();  // first: a listener would wait forever for an event that is lost
  Event event = event_of(sequence, std::move(last), sequence.completion.tokens.size());
  admission_.ended(sequence);
  admission_.drop(sequence);
  if (--sequence.request->n_open == 0) ++stats_.requests;
  event.completion = std::move(sequence.completion);
  outbox_.add(sequence.request, std::move(event));
}

// Every sequence of the request goes; its listener hears of it once.
void EngineLoop::fail(const std::shared_ptr<ActiveRequest>& request,
                      const MakeError& reason) noexcept {
  request->error = made_or(reason, std::move(request->error));
  outbox_.add_failed(request);
  for (const auto& sequence : sequences_)
    if (sequence->request == request) admission_.drop(*sequence);
}

void EngineLoop::remove_done() {
  for (const auto& sequence : sequences_)
    if (sequence->done) admission_.let_go(*sequence);
  std::erase_if(sequences_,
                [](const auto& sequence) { return sequence->done && sequence->n_in_flight == 0; });
  admission_.recount(sequences_);
}

size_t EngineLoop::ready_bytes() const {
  const PagePool &pages = residency_.pages(), &window_pages = cache().windows().pool();
  const ExecutorFacts& facts = parts_.executor->facts();
  const auto free_again = [](const PagePool& pool, size_t bytes) {
    return (pool.n_touched() - pool.n_used()) * bytes;
  };
  return parts_.executor->ready_bytes(pages.n_touched(0), window_pages.n_touched()) +
         free_again(pages, facts.page_bytes) + free_again(window_pages, facts.window_page_bytes);
}

// An engine that is asked little takes little; at most as much again as it has had use for.
size_t EngineLoop::ahead_bytes() const {
  const size_t most = options().kv_ahead, first = options().kv_ahead_first;
  if (first == 0) return most;
  const ExecutorFacts& facts = parts_.executor->facts();
  const size_t used = residency_.pages().n_touched() * facts.page_bytes +
                      cache().windows().pool().n_touched() * facts.window_page_bytes;
  return std::min(most, std::max(first, used));
}

// A token of a running answer is due tpot_slo after the one before.
std::chrono::steady_clock::time_point EngineLoop::start_by(
    std::chrono::steady_clock::time_point since) const {
  using Clock = std::chrono::steady_clock;
  if (!parts_.timing) return since;
  constexpr double kLongest = 1e6;  // seconds; a deadline may be infinite
  const Clock::time_point now = Clock::now();
  Clock::time_point first = Clock::time_point::max();
  for (const auto& sequence : sequences_) {
    if (sequence->done) continue;
    const bool decodes = sequence->completion.tokens.size() > sequence->n_begun();
    const double slack =
        decodes ? sequence->scheduled.tpot_slo : parts_.timing->slack(sequence->scheduled);
    const std::chrono::duration<double> seconds(std::clamp(slack, -kLongest, kLongest));
    first = std::min(first,
                     (decodes ? since : now) + std::chrono::duration_cast<Clock::duration>(seconds));
  }
  return first;
}

bool EngineLoop::prepare() {
  return ready_bytes() < ahead_bytes() &&
         parts_.executor->prepare(residency_.pages().n_touched(0),
                                  cache().windows().pool().n_touched());
}

EngineStats EngineLoop::stats() const noexcept {
  EngineStats stats = stats_;
  stats.preemptions = residency_.n_preemptions();
  stats.evicted_pages = cache().n_evicted_pages() + cache().windows().n_evicted();
  stats.sampling_s = runner_.outputs().seconds();
  const PhaseTimes times = parts_.executor->times();
  stats.linear_s = times.linear_s;
  stats.attention_s = times.attention_s;
  stats.attention_bytes = times.attention_bytes;
  stats.row_ops_s = times.row_ops_s;
  stats.linear_flops = times.linear_flops;
  try {
    if (parts_.figures) stats.figures = parts_.figures();
  } catch (const std::bad_alloc&) {
  }
  stats.open_tokens = admission_.open_tokens() + (texts_ ? texts_->n_tokens() : 0);
  stats.open_answers = texts_ ? texts_->n_requests() : 0;
  stats.running_answers = texts_ ? texts_->n_running() : 0;
  for (const auto& sequence : sequences_) {
    if (sequence->done) continue;
    ++stats.open_answers;
    stats.running_answers += sequence->running;
    const Completion& completion = sequence->completion;
    const size_t n_begun = sequence->n_begun();
    if (completion.tokens.size() > n_begun) continue;
    stats.queued_tokens += n_begun + static_cast<uint64_t>(completion.prompt_tokens) -
                           static_cast<uint64_t>(completion.shared_tokens);
    if (parts_.timing) stats.queued_s += sequence->scheduled.left;
  }
  const ExecutorFacts& facts = parts_.executor->facts();
  stats.evicted_places = cache().places().n_evicted();
  stats.places = cache().places().n_used();
  stats.place_bytes = stats.places * facts.slot_bytes;
  stats.kv_bytes = runner_.kv_bytes();
  stats.kv_capacity_bytes = facts.n_pages * facts.page_bytes +
                            facts.n_window_pages * facts.window_page_bytes +
                            facts.n_slots * facts.slot_bytes;
  stats.kv_ready_bytes = ready_bytes();
  stats.tree_nodes = cache().tree().n_nodes();
  return stats;
}

}  // namespace pando
