// Members of requests, answers and engines that are sent to another process (bytes.h). A member
// that is added to one of these types does not compile until it is listed here.
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>

#include "api/bytes.h"
#include "pando/engine.h"

namespace pando {

template <class T, class Of>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Of>;

template <MaybeConst<ErrorPlace> T>
auto members(T& value) {
  auto& [file, field, option, tensor] = value;
  return std::tie(file, field, option, tensor);
}

template <MaybeConst<Error> T>
auto members(T& value) {
  auto& [code, found, expected, hint, place, subject] = value;
  return std::tie(code, found, expected, hint, place, subject);
}

template <MaybeConst<JsonValue::Digits> T>
auto members(T& value) {
  return std::tie(value.text);
}

template <MaybeConst<JsonValue> T>
auto members(T& value) {
  return std::tie(value.value);
}

template <MaybeConst<ChatMessage> T>
auto members(T& value) {
  auto& [role, content, fields] = value;
  return std::tie(role, content, fields);
}

template <MaybeConst<LocalTime> T>
auto members(T& value) {
  auto& [year, month, day, hour, minute, second] = value;
  return std::tie(year, month, day, hour, minute, second);
}

template <MaybeConst<ChatOptions> T>
auto members(T& value) {
  auto& [thinking, add_generation_prompt, continue_final_message, tools, documents, template_kwargs,
         now] = value;
  return std::tie(thinking, add_generation_prompt, continue_final_message, tools, documents,
                  template_kwargs, now);
}

template <MaybeConst<TextForm> T>
auto members(T& value) {
  auto& [kind, text, choices, schema] = value;
  return std::tie(kind, text, choices, schema);
}

template <MaybeConst<CallOptions> T>
auto members(T& value) {
  auto& [required, parallel, allowed, strict] = value;
  return std::tie(required, parallel, allowed, strict);
}

template <MaybeConst<SamplingOptions> T>
auto members(T& value) {
  auto& [max_tokens, min_tokens, temperature, top_k, top_p, min_p, logit_bias, repetition_penalty,
         presence_penalty, frequency_penalty, seed, n, stop, stop_tokens, ignore_eos,
         skip_special_tokens, logprobs, top_logprobs, form] = value;
  return std::tie(max_tokens, min_tokens, temperature, top_k, top_p, min_p, logit_bias,
                  repetition_penalty, presence_penalty, frequency_penalty, seed, n, stop,
                  stop_tokens, ignore_eos, skip_special_tokens, logprobs, top_logprobs, form);
}

// Without `sent`, which is a time of this process's clock.
template <MaybeConst<Request> T>
auto members(T& value) {
  auto& [id, prompt, messages, tokens, token_types, chat, add_special_tokens, separate_reasoning,
         calling, thinking_budget, truncate_prompt_tokens, truncate_at_end, sampling,
         prompt_logprobs_from, alternatives, pooling, unpooled, pooled_from, cut_tokens,
         isolation_key, n_public, cached, ttft_slo, tpot_slo, deadline_class, tokens_beside,
         tokens_behind, sent, logits_hash, begun, tells_tokens] = value;
  return std::tie(id, prompt, messages, tokens, token_types, chat, add_special_tokens,
                  separate_reasoning, calling, thinking_budget, truncate_prompt_tokens,
                  truncate_at_end, sampling, prompt_logprobs_from, alternatives, pooling, unpooled,
                  pooled_from, cut_tokens, isolation_key, n_public, cached, ttft_slo, tpot_slo,
                  deadline_class, tokens_beside, tokens_behind, logits_hash, begun, tells_tokens);
}

template <MaybeConst<TokenLogprob> T>
auto members(T& value) {
  auto& [token, logprob, likeliest, top] = value;
  return std::tie(token, logprob, likeliest, top);
}

template <MaybeConst<ToolCall> T>
auto members(T& value) {
  auto& [id, name, arguments] = value;
  return std::tie(id, name, arguments);
}

template <MaybeConst<Completion> T>
auto members(T& value) {
  auto& [choice, text, reasoning, calls, tokens, logprobs, prompt_logprobs, alternatives,
         finish_reason, stop_text, embedding, prompt_tokens, cut_tokens, shared_tokens, logits_hash,
         choice_logprobs] = value;
  return std::tie(choice, text, reasoning, calls, tokens, logprobs, prompt_logprobs, alternatives,
                  finish_reason, stop_text, embedding, prompt_tokens, cut_tokens, shared_tokens,
                  logits_hash, choice_logprobs);
}

template <MaybeConst<PackingOptions> T>
auto members(T& value) {
  auto& [whole_prompts, rho_max, long_factor, least_share, aging] = value;
  return std::tie(whole_prompts, rho_max, long_factor, least_share, aging);
}

template <MaybeConst<DeadlineClass> T>
auto members(T& value) {
  auto& [ttft_slo, ttft_per_work, tpot_slo] = value;
  return std::tie(ttft_slo, ttft_per_work, tpot_slo);
}

template <MaybeConst<EngineOptions> T>
auto members(T& value) {
  auto& [sharing, threads, nice, kv_memory, kv_ahead, kv_ahead_first, kv_type, context, seed,
         place_every, step_rows, policy, step_budget, step_costs, packing, deadline_classes,
         max_running, max_open, max_queue, isa] = value;
  return std::tie(sharing, threads, nice, kv_memory, kv_ahead, kv_ahead_first, kv_type, context,
                  seed, place_every, step_rows, policy, step_budget, step_costs, packing,
                  deadline_classes, max_running, max_open, max_queue, isa);
}

template <MaybeConst<Figure> T>
auto members(T& value) {
  auto& [name, number] = value;
  return std::tie(name, number);
}

template <MaybeConst<EngineStats> T>
auto members(T& value) {
  auto& [arrived_tokens, arrived_shared, requests, prompt_tokens, generated_tokens, prefill_rows,
         decode_rows, recomputed_rows, pad_rows, steps, preemptions, evicted_pages, evicted_places,
         kv_bytes_peak, step_s, linear_s, attention_s, row_ops_s, sampling_s, planning_s,
         attention_bytes, linear_flops, predicted_s, timed_s, prediction_error_s, budget_s, figures,
         open_answers, running_answers, open_tokens, queued_s, queued_tokens, kv_bytes,
         kv_capacity_bytes, places, place_bytes, kv_ready_bytes, tree_nodes] = value;
  return std::tie(arrived_tokens, arrived_shared, requests, prompt_tokens, generated_tokens,
                  prefill_rows, decode_rows, recomputed_rows, pad_rows, steps, preemptions,
                  evicted_pages, evicted_places, kv_bytes_peak, step_s, linear_s, attention_s,
                  row_ops_s, sampling_s, planning_s, attention_bytes, linear_flops, predicted_s,
                  timed_s, prediction_error_s, budget_s, figures, open_answers, running_answers,
                  open_tokens, queued_s, queued_tokens, kv_bytes, kv_capacity_bytes, places,
                  place_bytes, kv_ready_bytes, tree_nodes);
}

}  // namespace pando
