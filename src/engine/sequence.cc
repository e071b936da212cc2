#include "engine/sequence.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/fault.h"
#include "engine/pooling.h"
#include "engine/sampler.h"

namespace pando {
namespace {

// True if the nth token of an answer, counted from 1, may end it as an end token or by its text.
bool may_end(const SamplingOptions& options, size_t n) {
  return n > static_cast<size_t>(options.min_tokens);
}

// Nine letters and digits, as some chat templates demand.
std::string call_id(const std::string& request, int choice, size_t index) {
  constexpr std::string_view kCharacters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const std::string of_call = fmt::format("{}/{}/{}", request, choice, index);
  uint64_t hash = XXH3_64bits(of_call.data(), of_call.size());
  std::string id(9, '0');
  for (char& c : id) {
    c = kCharacters[hash % kCharacters.size()];
    hash /= kCharacters.size();
  }
  return id;
}

}  // namespace

// The last token of a prompt that is only scored needs no row. A prompt of one token is computed
// even so: a sequence has at least one row.
std::span<const Token> computed_prompt(const Request& request) {
  const std::span<const Token> tokens = request.tokens;
  return request.sampling.max_tokens > 0 || tokens.size() == 1 ? tokens
                                                               : tokens.first(tokens.size() - 1);
}

uint32_t first_output(const Request& request) {
  const auto n_prompt = static_cast<uint32_t>(request.tokens.size());
  if (request.pooling != Pooling::kNone) return first_pooled(request);
  return static_cast<uint32_t>(request.prompt_logprobs_from.value_or(n_prompt)) - 1;
}

bool draws_again(const Request& request) {
  return request.sampling.logprobs || request.prompt_logprobs_from || request.logits_hash;
}

std::span<const Token> Sequence::begun() const {
  const std::vector<std::vector<Token>>& of_choices = request->request.begun;
  const auto index = static_cast<size_t>(choice);
  return index < of_choices.size() ? std::span<const Token>(of_choices[index])
                                   : std::span<const Token>();
}

size_t Sequence::n_begun() const { return draws_again(request->request) ? 0 : begun().size(); }

WaitingPrompt Sequence::as_waiting() const {
  return {computed_prompt(request->request), static_cast<uint32_t>(prompt().size()) + max_tokens,
          request->request.isolation_key};
}

uint32_t Sequence::next_wanted() const {
  return next_output + (fault_on(Fault::kAskedTwice) ? 0 : n_asked);
}

bool Sequence::has_begun() const {
  return request->n_open < sampling().n || !completion.tokens.empty() ||
         !completion.prompt_logprobs.empty() || (running && tip->n_submitted > 0);
}

TokenLogprob Sequence::read(std::span<const float> logits, uint32_t position) {
  const SamplingOptions& options = sampling();
  if (position + 2 == prompt().size() && !request->request.alternatives.empty()) {
    std::vector<Token> tokens = {prompt().back()};
    tokens.insert(tokens.end(), request->request.alternatives.begin(),
                  request->request.alternatives.end());
    const auto found = log_probabilities(logits, tokens, options.top_logprobs);
    completion.alternatives.assign(found.begin() + 1, found.end());
    return found[0];
  }
  if (position + 1 < prompt().size())
    return log_probability(logits, prompt()[position + 1], options.top_logprobs);
  if (options.max_tokens == 0) return {};  // a prompt of one token: nothing to score or to draw
  const size_t index = index_in_forced(position);
  const TokenLogprob next = index < forced.tokens.size()
                                ? TokenLogprob{.token = forced.tokens[index]}
                                : draw(logits, position);
  return options.logprobs ? log_probability(logits, next.token, options.top_logprobs) : next;
}

bool Sequence::reads_logits(uint32_t position) const {
  const SamplingOptions& options = sampling();
  if (request->request.logits_hash || position + 1 < prompt().size()) return true;
  if (options.max_tokens == 0) return false;
  if (options.logprobs) return true;
  if (index_in_forced(position) < forced.tokens.size()) return false;
  return filter || !may_end(options, position + 2 - prompt().size()) || !takes_largest(options);
}

TokenLogprob Sequence::read_largest(Token largest, uint32_t position) const {
  if (sampling().max_tokens == 0) return {};
  const size_t index = index_in_forced(position);
  return {.token = index < forced.tokens.size() ? forced.tokens[index] : largest};
}

size_t Sequence::index_in_forced(uint32_t position) const {
  return position + 1 - prompt().size() - completion.tokens.size();
}

TokenLogprob Sequence::draw(std::span<const float> logits, uint32_t position) {
  const SamplingOptions& options = sampling();
  std::vector<Token> with_forced;
  if (!forced.tokens.empty()) {
    with_forced = completion.tokens;
    with_forced.insert(with_forced.end(), forced.tokens.begin(), forced.tokens.end());
  }
  const std::span<const Token> answer = forced.tokens.empty() ? completion.tokens : with_forced;
  std::vector<Token> barred;
  // An answer does not end before what has a form.
  if (!may_end(options, answer.size() + 1) || (filter && !is_filtered())) {
    barred.assign(ends.begin(), ends.end());
    barred.insert(barred.end(), options.stop_tokens.begin(), options.stop_tokens.end());
  }
  TokenHistory history{request->in_prompt, answer, barred, {}};
  std::optional<Token> opening;
  std::vector<uint64_t> with_opening;
  if (is_filtered()) {
    const Result<std::span<const uint64_t>> allowed = filter->allowed();
    if (!allowed) fail_filter(allowed.error());
    if (failure) return {};
    if (allowed) history.allowed = *allowed;
    if (answer.empty()) opening = decoder->opening_of_reasoning();
    if (allowed && opening && static_cast<size_t>(*opening) / 64 < allowed->size()) {
      with_opening.assign(allowed->begin(), allowed->end());
      with_opening[static_cast<size_t>(*opening) / 64] |= uint64_t{1} << *opening % 64;
      history.allowed = with_opening;
    }
  }
  const Token token = sample_token(
      logits, options, {request->seed, static_cast<uint32_t>(choice), position + 1}, history);
  if (is_filtered() && token != opening) filter_next(token);
  return {.token = token};
}

// A form masks the token as in draw().
void Sequence::follow_begun(Token token) {
  if (!forced.tokens.empty()) {
    if (token != forced.tokens.front())
      failure = invalid_argument("token {} of the answer is {}, expected {}, which is forced",
                                 completion.tokens.size(), token, forced.tokens.front());
    return;
  }
  if (!is_filtered()) return;
  const Result<std::span<const uint64_t>> allowed = filter->allowed();
  if (!allowed) return fail_filter(allowed.error());
  if (completion.tokens.empty() && token == decoder->opening_of_reasoning()) return;
  const size_t word = static_cast<size_t>(token) / 64;
  if (word >= allowed->size() || ((*allowed)[word] >> token % 64 & 1) == 0) {
    failure = invalid_argument("token {} of the answer is {}, expected one that its form allows",
                               completion.tokens.size(), token);
    return;
  }
  if (!fault_on(Fault::kBegunNotFollowed)) filter_next(token);
}

// Follows the drawn token and the tokens that it forces. Other answers wait for that.
void Sequence::filter_next(Token drawn) {
  constexpr size_t kMostAtOnce = 256;
  next_forced = {};
  if (is_end(drawn)) return;
  const auto accept = [&](Token token) {
    Status status = filter->accept(token);
    if (!status) fail_filter(status.error());
    return status.ok();
  };
  if (!accept(drawn)) return;
  if (filter_is_done()) return end_filter();
  const size_t n_before = completion.tokens.size() + forced.tokens.size() + 1;
  const size_t n_most = std::min(max_tokens - std::min<size_t>(n_before, max_tokens), kMostAtOnce);
  while (forces_tokens && next_forced.tokens.size() < n_most && !filter->is_over()) {
    const Result<std::optional<Token>> only = filter->only();
    if (!only) return fail_filter(only.error());
    if (!only->has_value()) break;
    next_forced.tokens.push_back(**only);
    if (!fault_on(Fault::kForcedNotFollowed) && !accept(**only)) return;
    if (filter_is_done()) return end_filter();
  }
  next_forced.ends = filter->is_over();
}

void Sequence::end_reasoning() {
  const std::optional<int>& budget = request->request.thinking_budget;
  if (!budget || !decoder || !decoder->in_reasoning() || !forced.tokens.empty() ||
      n_reasoning < static_cast<uint32_t>(*budget))
    return;
  forced = {.tokens = request->reasoning_end, .ends_reasoning = true};
  const size_t n_left = max_tokens - std::min<size_t>(completion.tokens.size(), max_tokens);
  forced.tokens.resize(std::min(forced.tokens.size(), n_left));
}

void Sequence::filter_call() {
  if (filter || request->calls == nullptr || request->calls->masks == nullptr) return;
  if (!decoder->waits_for_call()) return tried_call.reset();
  if (tried_call == completion.calls.size()) return;
  const std::optional<calls::BegunCall> begun = decoder->begun_call();
  if (!begun) return;
  tried_call = completion.calls.size();
  filter.emplace(request->calls->masks, ends);
  filters_call = true;
  if (!filter->begin(begun->head, completion.tokens, begun->n_bytes) || filter->can_end())
    filter.reset();
}

void Sequence::fail_filter(const Error& error) {
  if (filters_call && !request->request.calling.strict)
    filter.reset();
  else
    failure = error;
}

void Sequence::end_filter() {
  filter.reset();
  call_ends = true;
}

bool Sequence::is_end(Token token) const { return std::ranges::find(ends, token) != ends.end(); }

void Sequence::pool(uint32_t position, std::span<const float> hidden) {
  pool_row(request->request, position, hidden, completion.embedding);
}

uint64_t Sequence::add_to_hash(std::span<const float> row) {
  if (request->request.logits_hash) logits_hash = chain_hash(logits_hash, row);
  return logits_hash;
}

Sequence::Taken Sequence::take(ReadRow row) {
  completion.logits_hash = row.logits_hash;
  if (sampling().max_tokens == 0 && !scores_prompt()) return finish(FinishReason::kLength);
  if (!scores_prompt()) return take_drawn(std::move(row.next));
  ++next_output;
  if (request->request.pooling != Pooling::kNone) return {};
  completion.prompt_logprobs.push_back(std::move(row.next));
  if (max_tokens == 0 && !scores_prompt()) return finish(FinishReason::kLength);
  return {};
}

Result<Sequence::Taken> Sequence::take_begun(Token token) {
  follow_begun(token);
  if (failure) return std::move(*failure);
  return take_drawn({.token = token});
}

Sequence::Taken Sequence::take_drawn(TokenLogprob drawn) {
  if (request->request.pooling != Pooling::kNone) return finish_embedding();
  const SamplingOptions& options = sampling();
  const Token token = drawn.token;
  const bool was_forced = !forced.tokens.empty(), was_on_path = forced.n_on_path > 0;
  ++next_output;
  completion.tokens.push_back(token);
  if (options.logprobs) completion.logprobs.push_back(std::move(drawn));

  const auto contains = [&](std::span<const Token> tokens) {
    return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
  };
  const bool may_end_here = may_end(options, completion.tokens.size());
  if (filter && is_end(token)) return finish(FinishReason::kStop);
  if (may_end_here && ((is_end(token) && !options.ignore_eos) || contains(options.stop_tokens)))
    return finish(FinishReason::kStop);
  if (was_forced) {
    forced.tokens.erase(forced.tokens.begin());
    if (was_on_path) --forced.n_on_path;
  } else {
    forced = std::exchange(next_forced, {});
  }

  if (call_ends && forced.tokens.empty()) {
    decoder->expect_end();
    call_ends = false;
  }
  if (decoder && decoder->in_reasoning()) ++n_reasoning;
  AnswerText pushed = decoder ? decoder->push(token) : AnswerText();
  const std::string text = stops.push(pushed.content, may_end_here);
  completion.text += text;
  completion.reasoning += pushed.reasoning;
  std::vector<ToolCall> calls = add_calls(std::move(pushed.calls));
  const bool has_its_call = !request->request.calling.parallel && !completion.calls.empty();
  if (forced.tokens.empty()) filter_call();
  Taken taken;
  if (stops.stopped() || has_its_call || (forced.ends && forced.tokens.empty())) {
    taken = finish(FinishReason::kStop);
  } else if (completion.tokens.size() >= max_tokens) {
    const bool asked_more = static_cast<int64_t>(max_tokens) < options.max_tokens;
    taken = finish(asked_more ? FinishReason::kContext : FinishReason::kLength);
  } else if (!was_on_path) {
    end_reasoning();
    taken.follow = {token};
    follow_forced(taken.follow);
  }
  taken.text.insert(0, text);
  taken.reasoning.insert(0, pushed.reasoning);
  taken.calls.insert(taken.calls.begin(), std::make_move_iterator(calls.begin()),
                     std::make_move_iterator(calls.end()));
  return taken;
}

// Puts forced tokens on the path. The last token of the answer needs no row. One that may end the
// reasoning, or begin it before a required call, has its row later, because the decoder must know
// it before a form restricts the next token.
void Sequence::follow_forced(std::vector<Token>& follow) {
  const size_t n = forced.tokens.size();
  if (!forces_tokens || n == 0) return;
  const bool is_late = forced.ends || forced.ends_reasoning || request->request.calling.required ||
                       completion.tokens.size() + n >= max_tokens;
  forced.n_on_path = is_late && !fault_on(Fault::kForcedRowTooMany) ? n - 1 : n;
  follow.insert(follow.end(), forced.tokens.begin(),
                forced.tokens.begin() + static_cast<std::ptrdiff_t>(forced.n_on_path));
}

std::vector<ToolCall> Sequence::add_calls(std::vector<ToolCall> calls) {
  const Request& asked = request->request;
  if (!asked.calling.parallel)
    calls.resize(std::min(calls.size(), size_t{1} - std::min<size_t>(completion.calls.size(), 1)));
  for (ToolCall& call : calls) {
    if (call.id.empty()) call.id = call_id(asked.id, choice, completion.calls.size());
    completion.calls.push_back(call);
  }
  return calls;
}

Sequence::Taken Sequence::finish_embedding() {
  finish_pooling(request->request, completion.embedding);
  return finish(FinishReason::kStop);
}

Sequence::Taken Sequence::finish(FinishReason reason) {
  std::string rest;
  AnswerText last;
  std::vector<ToolCall> calls;
  if (decoder && !stops.stopped()) {
    last = decoder->finish();
    rest = stops.push(last.content, may_end(sampling(), completion.tokens.size()));
    rest += stops.finish();
    calls = add_calls(std::move(last.calls));
    if (stops.stopped()) reason = FinishReason::kStop;
  }
  completion.finish_reason = reason;
  if (stops.stopped()) completion.stop_text = stops.match();
  completion.text += rest;
  completion.reasoning += last.reasoning;
  return {std::move(rest), std::move(last.reasoning), std::move(calls), reason};
}

}  // namespace pando
