// Requests come and go, and how much of them may be open.
#include <algorithm>
#include <exception>
#include <utility>

#include "base/errors.h"
#include "engine/engine_loop.h"
#include "engine/options.h"
#include "engine/sampler.h"

namespace pando {
namespace {

constexpr double kLonger = 2;  // answers may get so many times as long as late ones

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

size_t EngineLoop::longest(const Request& request) const {
  return std::min<size_t>(request.tokens.size() + request.sampling.max_tokens,
                          options_.engine.context);
}

Status EngineLoop::check(const Request& request) const {
  if (Status status = check_request(request, weights_.config, options_.engine); !status)
    return status;
  if (planner_->stateless() && request.pooling == Pooling::kNone && request.sampling.max_tokens > 1)
    return blame(
        "max_tokens",
        invalid_argument("max_tokens is {}, expected 0 or 1: stateless, '{}' keeps no keys and "
                         "values after a pass",
                         request.sampling.max_tokens, options_.engine.sharing));
  const size_t n_longest = longest(request), n_room = n_kv_pages_ * options_.page_len;
  if (n_longest <= n_room) return {};
  const bool prompt_fits = request.tokens.size() < n_room;
  return blame(
      prompt_fits ? "max_tokens" : "prompt",
      make_error(ErrorCode::kTooLong,
                 "prompt and answer take up to {} tokens of keys and values; the memory for them "
                 "holds {} (hint: a larger kv_memory{})",
                 n_longest, n_room, prompt_fits ? ", or fewer max_tokens" : ""));
}

Status EngineLoop::submit(RequestId id, Request request, Listener listener) {
  if (Status status = check(request); !status) return status;
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
  Status status;
  std::exception_ptr thrown;
  try {
    for (int choice = 0; choice < active->n_open; ++choice)
      n_shared += add_sequence(active, choice);
    status = check_queue(active->n_open);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (thrown || !status) {
    drop_all(*active);
    remove_done();
    if (thrown) std::rethrow_exception(thrown);
    return status;
  }
  stats_.arrived_tokens += active->request.tokens.size() * active->n_open;
  stats_.arrived_shared += n_shared;
  return {};
}

// Returns how many tokens of its prompt it shares.
uint64_t EngineLoop::add_sequence(const std::shared_ptr<ActiveRequest>& active, int choice) {
  const Request& request = active->request;
  const std::span<const Token> prompt = computed_prompt(request);
  const bool shares = planner_->shares_tokens();
  const size_t n_public = shares ? std::min(request.n_public, prompt.size() - 1) : 0;
  const size_t n_prompt = request.tokens.size();
  // First of all, so that whatever fails behind this finds it to be dropped.
  sequences_.push_back(std::make_unique<Sequence>(
      Sequence{.request = active,
               .choice = choice,
               .order = next_order_++,
               .max_tokens = static_cast<uint32_t>(longest(request) - n_prompt),
               .next_output = first_output(request),
               .completion = {.choice = choice, .prompt_tokens = static_cast<int>(n_prompt)},
               .stops = StopMatcher(request.sampling.stop)}));
  Sequence& sequence = *sequences_.back();
  sequence.tip = cache_.acquire(shares ? request.isolation_key : sequence.order, prompt,
                                static_cast<uint32_t>(n_public));
  sequence.completion.shared_tokens = static_cast<int>(shared_tokens(sequence.tip));
  if (timing_)
    sequence.job = timing_->new_job(request, sequence.tip->end(),
                                    path_count(sequence.tip, &Node::n_committed));
  if (tokenizer_ != nullptr) sequence.decoder.emplace(*tokenizer_, /*first_in_text=*/false);
  n_to_come_ += tokens_to_come(sequence);
  return static_cast<uint64_t>(sequence.completion.shared_tokens);
}

// What is left of its answer, as predicted: answers get at most kLonger times the mean.
uint32_t EngineLoop::tokens_to_come(const Sequence& sequence) const {
  const double n_most = std::min<double>(sequence.max_tokens, kLonger * answer_len_);
  return static_cast<uint32_t>(
      std::max(n_most - static_cast<double>(sequence.completion.tokens.size()), 0.0));
}

// kUnavailable where all open answers, the n_new last ones included, will come to more than they
// may. These alone are not too much.
Status EngineLoop::check_queue(int n_new) const {
  const double n_most = options_.engine.max_queue * static_cast<double>(kv_capacity());
  if (n_most == 0 || sequences_.size() == static_cast<size_t>(n_new)) return {};
  const size_t n_tokens = open_tokens();
  if (static_cast<double>(n_tokens) <= n_most) return {};
  return make_error(ErrorCode::kUnavailable,
                    "open answers would come to {} tokens of keys and values, as predicted; "
                    "expected at most {:.0f} (hint: try again later)",
                    n_tokens, n_most);
}

void EngineLoop::cancel(std::vector<RequestId> ids) {
  if (ids.empty()) return;
  std::ranges::sort(ids);
  for (const auto& sequence : sequences_)
    if (std::ranges::binary_search(ids, sequence->request->id)) drop(*sequence);
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
    if (!sequence->done) fail(sequence->request, error);
  remove_done();
}

// Every sequence of the request goes; its listener hears of it once.
void EngineLoop::fail(const std::shared_ptr<ActiveRequest>& request, const Error& error) {
  outbox_.push_back({request, Event{.request = request->id, .error = error}});
  drop_all(*request);
}

void EngineLoop::make_room_to_tell() {
  if (outbox_.size() == outbox_.capacity()) outbox_.reserve(2 * outbox_.size() + 16);
}

void EngineLoop::deliver_events() {
  for (Delivery& delivery : std::exchange(outbox_, {}))
    delivery.request->listener(std::move(delivery.event));
}

// Gives back what a sequence holds; the sequence itself goes with remove_done().
void EngineLoop::drop(Sequence& sequence) {
  if (sequence.done) return;
  sequence.done = true;
  // What only waits makes no room.
  if (sequence.running || &sequence == did_not_fit_) memory_tight_ = false;
  if (&sequence == did_not_fit_) did_not_fit_ = nullptr;
  if (sequence.tip == nullptr) return;  // nothing yet
  if (sequence.running) cache_.unlock(sequence.tip);
  sequence.running = false;
  if (planner_->shares_tokens() && sequence.request->request.cached) {
    cache_.release(sequence.tip);
  } else {
    cache_.release_and_drop(sequence.tip);
  }
}

void EngineLoop::drop_all(const ActiveRequest& request) {
  for (const auto& sequence : sequences_)
    if (sequence->request.get() == &request) drop(*sequence);
}

void EngineLoop::remove_done() {
  std::erase_if(sequences_, [](const auto& sequence) { return sequence->done; });
  n_to_come_ = 0;
  for (const auto& sequence : sequences_) n_to_come_ += tokens_to_come(*sequence);
}

}  // namespace pando
