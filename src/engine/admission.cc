#include "engine/admission.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/errors.h"
#include "engine/options.h"
#include "engine/pooling.h"
#include "engine/sampler.h"
#include "engine/work_view.h"
#include "text/reasoning_end.h"

namespace pando {
namespace {

constexpr double kForgets = 1.0 / 64;  // weight of the latest answer's length in the mean
constexpr double kLonger = 2;          // most times that an answer may be longer than the mean of
                                       // recent ones

// Number of leading tokens of a path that are cached or that others want too. Cached tokens that
// are computed again do not count: those from `first_output` on, for their outputs, and those from
// `first_row` on, for states, unless others pin their node too.
uint32_t shared_tokens(Node* tip, uint32_t first_output, uint32_t first_row) {
  uint32_t n = 0, position = 0;
  for (const Node* node : path_to(tip)) {
    const uint32_t n_shared = node->n_pins > 1 ? node->size() : node->n_committed;
    const uint32_t end_cached = position + node->n_committed;
    const uint32_t first_again =
        node->n_pins > 1 ? first_output : std::min(first_output, first_row);
    n += n_shared - (end_cached - std::clamp(first_again, position, end_cached));
    position += node->size();
    if (n_shared < node->size()) break;
  }
  return n;
}

}  // namespace

Admission::Admission(const AdmissionParts& parts)
    : options_(parts.options),
      limits_(parts.limits),
      shares_tokens_(parts.shares_tokens),
      tokenizer_(parts.tokenizer),
      of_tokenizer_(tokenizer_ == nullptr ? AnswerFormat()
                                          : AnswerFormat{find_channel_tokens(*tokenizer_)}),
      answers_(parts.answers == nullptr ? of_tokenizer_ : *parts.answers),
      forms_(parts.forms),
      forces_tokens_(parts.forces_tokens),
      timing_(parts.timing),
      residency_(parts.residency),
      stats_(parts.stats) {
  // It ends a message, whatever the model's files say.
  if (answers_.channels) std::erase(limits_.ends, answers_.channels->end);
}

// Tokens of prompt and answer at most.
size_t Admission::longest(const Request& request) const {
  return std::min<size_t>(request.tokens.size() + request.sampling.max_tokens, options_.context);
}

Status Admission::check(const Request& request) const {
  if (Status status = check_request(request, limits_.model, options_); !status) return status;
  if (limits_.one_pass && request.pooling == Pooling::kNone && request.sampling.max_tokens > 1)
    return blame("max_tokens",
                 invalid_argument("max_tokens is {}, expected 0 or 1, because sharing '{}' keeps "
                                  "no keys and values after a pass",
                                  request.sampling.max_tokens, options_.sharing));
  const std::optional<TextForm>& form = request.sampling.form;
  if (form)
    if (Status status = grammar::check_form(forms_, *form); !status)
      return blame("form", status.error());
  if (const std::optional<ChannelTokens>& channels = answers_.channels;
      channels && (form || request.calling.required) && divides_answer(request) &&
      std::ranges::find(request.sampling.stop_tokens, channels->end) !=
          request.sampling.stop_tokens.end())
    return blame(
        "stop_token_ids",
        invalid_argument("stop_token_ids has {}, which is <|end|>: the answer would stop "
                         "after its reasoning, before the {}",
                         channels->end, form ? "text of the required form" : "required call"));
  if (request.thinking_budget)
    if (const auto end = reasoning_end_of(request); !end)
      return blame("thinking_budget", end.error());
  if (tokenizer_ != nullptr) {
    if (const auto calls = call_form_of(answers_, request); !calls) return calls.error();
  } else if (request.calling.required) {
    return blame("tool_choice",
                 unsupported("the model has no tokenizer, so calls cannot be enforced"));
  }
  const size_t n_longest = longest(request), n_room = limits_.longest_path;
  if (n_longest <= n_room) return {};
  return blame(
      request.tokens.size() < n_room ? "max_tokens" : "prompt",
      make_error(
          ErrorCode::kTooLong,
          "prompt and answer take up to {} tokens, but the memory for keys and values has room "
          "for only {}, at {} bytes per token",
          n_longest, n_room, limits_.token_bytes));
}

Result<std::vector<Token>> Admission::reasoning_end_of(const Request& request) const {
  if (*request.thinking_budget < 0)
    return invalid_argument("thinking_budget is {}, expected 0 or more", *request.thinking_budget);
  if (tokenizer_ == nullptr || !divides_answer(request))
    return invalid_argument(
        "thinking_budget is given, but the answer's reasoning is not separated, expected a "
        "conversation with skip_special_tokens = true");
  const std::string_view text = reasoning_end(*tokenizer_, answers_, request);
  if (text.empty())
    return invalid_argument(
        "thinking_budget is given, but the model's chat template marks no reasoning");
  return tokenizer_->encode(text, /*add_bos=*/false);
}

Status Admission::submit(RequestId id, Request request, Listener listener, Sequences& open) {
  auto active = std::make_shared<ActiveRequest>();
  if (request.pooling != Pooling::kNone) request.sampling.max_tokens = 1;  // its last row too
  active->id = id;
  active->seed =
      request.sampling.seed ? *request.sampling.seed : derive_seed(options_.seed, request);
  active->request = std::move(request);
  if (active->request.sampling.repetition_penalty != 1) {
    std::vector<Token>& in_prompt = active->in_prompt = active->request.tokens;
    std::sort(in_prompt.begin(), in_prompt.end());
    in_prompt.erase(std::unique(in_prompt.begin(), in_prompt.end()), in_prompt.end());
  }
  if (tokenizer_ != nullptr) active->calls = call_form_of(answers_, active->request).value();
  if (active->request.thinking_budget)
    active->reasoning_end = reasoning_end_of(active->request).value();
  active->listener = std::move(listener);
  active->n_open = active->request.sampling.n;
  uint64_t n_shared = 0;
  Status status;
  std::exception_ptr thrown;
  try {
    for (int choice = 0; choice < active->n_open && status; ++choice) {
      const Result<uint64_t> added = add_sequence(active, choice, open);
      if (!added) status = blame("begun", added.error());
      n_shared += added ? *added : 0;
    }
    if (status) status = check_queue(open, active->n_open);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (thrown || !status) {
    for (const auto& sequence : open)
      if (sequence->request == active) drop(*sequence);
    if (thrown) std::rethrow_exception(thrown);
    return status;
  }
  stats_.arrived_tokens += active->request.tokens.size() * active->n_open;
  stats_.arrived_shared += n_shared;
  return {};
}

// Returns how many tokens of its prompt it shares.
Result<uint64_t> Admission::add_sequence(const std::shared_ptr<ActiveRequest>& active, int choice,
                                         Sequences& open) {
  const Request& request = active->request;
  const size_t n_prompt = request.tokens.size();
  // First of all, so that whatever fails behind this finds it to be dropped.
  open.push_back(std::make_unique<Sequence>(
      Sequence{.request = active,
               .choice = choice,
               .order = next_order_++,
               .max_tokens = static_cast<uint32_t>(longest(request) - n_prompt),
               .next_output = first_output(request),
               .ends = limits_.ends,
               .completion = {.choice = choice,
                              .prompt_tokens = static_cast<int>(n_prompt),
                              .cut_tokens = request.cut_tokens},
               .stops = StopMatcher(request.sampling.stop)}));
  Sequence& sequence = *open.back();
  if (tokenizer_ != nullptr)
    sequence.decoder.emplace(*tokenizer_, answers_, request, request.tokens, active->calls);
  sequence.forces_tokens = forces_tokens_;
  if (request.sampling.form) {
    sequence.filter.emplace(forms_->get(*request.sampling.form).value(), sequence.ends);
    if (sequence.decoder && sequence.decoder->may_call())
      sequence.filter->add(active->calls->masks);
  }
  if (request.calling.required) {
    sequence.filter.emplace(active->calls->masks, sequence.ends);
    // The prompt's end may begin the call; otherwise the filter stays at its beginning.
    sequence.filter->begin(sequence.decoder->begun_by_prompt(), {}, 0);
  }
  sequence.end_reasoning();
  const Result<std::vector<Token>> begun = take_begun(sequence);
  if (!begun) return begun.error();
  if (!sequence.begun_taken.empty() && sequence.begun_taken.back().finished) return 0;
  enter(sequence, *begun);
  n_to_come_ += tokens_to_come(sequence);
  return static_cast<uint64_t>(sequence.completion.shared_tokens);
}

Result<std::vector<Token>> Admission::take_begun(Sequence& sequence) const {
  std::vector<Token> path;
  const std::span<const Token> begun = sequence.begun();
  sequence.n_told = begun.size();
  if (draws_again(sequence.request->request)) return path;
  for (const Token token : begun) {
    std::vector<Sequence::Taken>& taken = sequence.begun_taken;
    if (!taken.empty() && taken.back().finished)
      return invalid_argument("the answer ends with its token {}, expected no more, found {}",
                              taken.size(), begun.size() - taken.size());
    Result<Sequence::Taken> next = sequence.take_begun(token);
    if (!next) return next.error();
    path.insert(path.end(), next->follow.begin(), next->follow.end());
    taken.push_back(std::move(*next));
  }
  return path;
}

// Its path is the prompt and the tokens that the answer begins with.
void Admission::enter(Sequence& sequence, std::span<const Token> begun) {
  const Request& request = sequence.request->request;
  const std::span<const Token> prompt = computed_prompt(request);
  const size_t n_public = shares_tokens_ ? std::min(request.n_public, prompt.size() - 1) : 0;
  const uint64_t key = shares_tokens_ ? request.isolation_key : sequence.order;
  std::vector<Token> path;
  if (!begun.empty()) {
    path.assign(prompt.begin(), prompt.end());
    path.insert(path.end(), begun.begin(), begun.end());
  }
  residency_.enter(sequence, key, begun.empty() ? prompt : path, static_cast<uint32_t>(n_public));
  const bool reads_prompt =
      request.prompt_logprobs_from || pools_many(request) || request.pooling == Pooling::kFirst;
  const bool may_recompute = residency_.cache().may_recompute();
  const uint32_t n_shared =
      shared_tokens(sequence.tip, reads_prompt ? sequence.next_output : UINT32_MAX,
                    may_recompute ? residency_.first_row(sequence) : UINT32_MAX);
  sequence.completion.shared_tokens =
      std::min(static_cast<int>(n_shared), sequence.completion.prompt_tokens);
  if (timing_)
    sequence.scheduled =
        timing_->scheduled_request(request, sequence.tip->end(), residency_.n_ready(sequence));
}

// Predicted tokens that its answer still gets. An answer is predicted to have at most kLonger times
// the mean length.
uint32_t Admission::tokens_to_come(const Sequence& sequence) const {
  const double n_most = std::min<double>(sequence.max_tokens, kLonger * answer_len_);
  return static_cast<uint32_t>(
      std::max(n_most - static_cast<double>(sequence.completion.tokens.size()), 0.0));
}

// kUnavailable where all open answers, the n_new last ones included, will come to more than they
// may. These alone are not too much.
Status Admission::check_queue(const Sequences& open, int n_new) const {
  const double n_most = options_.max_queue * static_cast<double>(limits_.kv_capacity);
  const auto n_open = std::ranges::count_if(
      open, [](const auto& sequence) { return !sequence->done; });  // others were cancelled
  if (n_most == 0 || n_open == n_new) return {};
  const size_t n_tokens = open_tokens();
  if (static_cast<double>(n_tokens) <= n_most) return {};
  return make_error(ErrorCode::kUnavailable,
                    "the open answers are predicted to need the keys and values of {} tokens, "
                    "expected at most {:.0f}",
                    n_tokens, n_most);
}

void Admission::ended(const Sequence& sequence) {
  stats_.prompt_tokens += sequence.completion.prompt_tokens;
  stats_.generated_tokens += sequence.completion.tokens.size();
  if (sequence.max_tokens > 1)
    answer_len_ +=
        kForgets * (static_cast<double>(sequence.completion.tokens.size()) - answer_len_);
}

void Admission::drop(Sequence& sequence) {
  if (sequence.done) return;
  sequence.done = true;
  let_go(sequence);
}

void Admission::let_go(Sequence& sequence) {
  if (sequence.n_in_flight > 0) return;
  residency_.leave(sequence, shares_tokens_ && sequence.request->request.cached);
}

void Admission::recount(const Sequences& open) {
  n_to_come_ = 0;
  for (const auto& sequence : open)
    if (!sequence->done) n_to_come_ += tokens_to_come(*sequence);
}

}  // namespace pando
