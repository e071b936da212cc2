#include "engine/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/errors.h"
#include "base/machine.h"
#include "cache/prefix_tree.h"
#include "pando/values/limits.h"
#include "pando/values/request_options.h"
#include "schedule/policy.h"
#include "text/stream_decoder.h"

namespace pando {
namespace {

constexpr int kMostNice = 19;
constexpr size_t kLeastMemory = size_t{64} << 20;
constexpr size_t kUnknownMemory = size_t{4} << 30;  // for keys and values, where nothing says
constexpr int kMostContext = 1 << 22;  // the table of rotations is made for all of it at once

// "'chat' or 'batch'".
std::string class_names(const std::map<std::string, DeadlineClass>& classes) {
  std::vector<std::string> names;
  for (const auto& [name, deadlines] : classes)
    if (!name.empty()) names.push_back(fmt::format("'{}'", name));
  return names.empty() ? "no deadline class, because none is defined"
                       : fmt::format("{}", fmt::join(names, " or "));
}

// "NAME is ..." of a request, with that field to blame.
template <class... Args>
Error wrong(const std::string& name, fmt::format_string<Args...> text, Args&&... args) {
  return blame(name,
               invalid_argument("{} {}", name, fmt::format(text, std::forward<Args>(args)...)));
}

// Checks the options of generation and of reports.
Status check_outputs(const Request& request) {
  const SamplingOptions& sampling = request.sampling;
  const int n_prompt = static_cast<int>(request.tokens.size());
  const std::optional<int>& from = request.prompt_logprobs_from;
  if (sampling.max_tokens < (from ? 0 : 1))
    return wrong("max_tokens", "is {}, expected {}", sampling.max_tokens,
                 find_option("max_tokens", kInLine)->expected);
  // A prompt of one token has no log-probability to report.
  const int last = sampling.max_tokens > 0 ? n_prompt : std::max(n_prompt - 1, 1);
  if (from && (*from < 1 || *from > last))
    return wrong("prompt_logprobs_from", "is {}, expected 1 to {} for a prompt of {}", *from, last,
                 counted(request.tokens.size(), "tokens"));
  if (!request.alternatives.empty() && (!from || sampling.max_tokens != 0 || n_prompt < 2))
    return wrong("alternatives",
                 "are {}, which need max_tokens 0, prompt_logprobs_from and a prompt of at least 2 "
                 "tokens",
                 request.alternatives.size());
  if (request.pooling != Pooling::kNone && (sampling.n != 1 || from))
    return invalid_argument(
        "the request asks for an embedding with n {} and {} log-probabilities of the prompt, "
        "expected n 1 and no log-probabilities",
        sampling.n, from ? "with" : "without");
  if (request.pooling != Pooling::kNone &&
      (request.pooled_from < 0 || request.pooled_from >= n_prompt))
    return blame("prompt", invalid_argument("the text has no token behind its prompt of {}, "
                                            "expected at least one, because the model's files "
                                            "leave the prompt out ('include_prompt' is false)",
                                            counted(request.pooled_from, "tokens")));
  if (sampling.top_logprobs > 0 && !sampling.logprobs && !from)
    return wrong("top_logprobs", "is {}, which needs logprobs or log-probabilities of the prompt",
                 sampling.top_logprobs);
  return {};
}

// A tokenizer may have tokens that the model lacks.
Status check_tokens(const char* name, const std::vector<Token>& tokens, const ModelLimits& model) {
  for (const Token token : tokens) {
    if (token >= 0 && token < model.vocab) continue;
    const std::string text =
        model.tokenizer == nullptr ? std::string() : decode_piece(*model.tokenizer, token);
    return blame(name, invalid_argument("token {}{} is outside the model's vocabulary of {}", token,
                                        text.empty() ? text : " ('" + text + "')", model.vocab));
  }
  return {};
}

Status check_text(const Request& request, const ModelLimits& model) {
  if (!model.gives_logits && request.pooling == Pooling::kNone)
    return unsupported(
        "the model has no logits, because its tokens see those behind them too: expected a request "
        "for an embedding");
  const size_t n_types = request.token_types.size();
  if (n_types != 0 && n_types != request.tokens.size())
    return wrong("token_types", "has {}, expected one for each of {}", counted(n_types, "types"),
                 counted(request.tokens.size(), "tokens"));
  const int n_known = std::max(model.n_token_types, 1);
  for (const uint8_t type : request.token_types)
    if (type >= n_known)
      return wrong("token_types", "has {}, expected types below {}", type, n_known);
  return {};
}

// Checks the lengths of answers that have begun elsewhere, and their tokens.
Status check_begun(const Request& request, const ModelLimits& model, size_t context) {
  const SamplingOptions& sampling = request.sampling;
  if (request.begun.size() > static_cast<size_t>(sampling.n))
    return wrong("begun", "has {}, expected at most n, which is {}",
                 counted(request.begun.size(), "answers"), sampling.n);
  const bool is_answered = request.pooling == Pooling::kNone;
  const size_t n_most = is_answered ? std::min(static_cast<size_t>(sampling.max_tokens),
                                               context - request.tokens.size())
                                    : 0;
  for (const std::vector<Token>& answer : request.begun) {
    if (answer.size() > n_most)
      return wrong("begun", "has an answer of {}, expected at most {}",
                   counted(answer.size(), "tokens"), n_most);
    if (Status status = check_tokens("begun", answer, model); !status) return status;
  }
  return {};
}

Status check_class(const std::string& name, const DeadlineClass& deadlines) {
  const auto& [ttft_slo, ttft_per_work, tpot_slo] = deadlines;
  for (const double value : {ttft_slo, tpot_slo})
    if (!(value > 0) || !std::isfinite(value))
      return invalid_argument("deadline class '{}' has {} seconds, expected more than 0", name,
                              value);
  if (!(ttft_per_work >= 0) || !std::isfinite(ttft_per_work))
    return invalid_argument("deadline class '{}': ttft_per_work is {}, expected 0 or more", name,
                            ttft_per_work);
  return {};
}

Status check_packing(const PackingOptions& packing) {
  for (const auto& [name, value] :
       {std::pair{"rho_max", packing.rho_max}, {"least_share", packing.least_share}})
    if (!(value >= 0 && value <= 1))
      return invalid_argument("{} is {}, expected a share from 0 to 1", name, value);
  for (const auto& [name, value] :
       {std::pair{"long_factor", packing.long_factor}, {"aging", packing.aging}})
    if (!(value > 0)) return invalid_argument("{} is {}, expected more than 0", name, value);
  return {};
}

// Fills in and checks the memory of keys and values.
Status fill_in_memory(size_t& kv_memory, const std::optional<DeviceMemory>& of_device) {
  if (kv_memory == 0) {
    const std::optional<uint64_t> free =
        of_device ? std::optional(of_device->free) : available_memory();
    kv_memory = free ? std::max<size_t>(*free / 2, kLeastMemory) : kUnknownMemory;
  }
  const std::optional<uint64_t> all = of_device ? std::optional(of_device->all) : total_memory();
  if (!all || kv_memory <= *all) return {};
  return invalid_option("kv_memory", "is {}, expected at most the {} that the {}",
                        bytes_text(kv_memory), bytes_text(*all),
                        of_device ? "device has" : "machine has or lets this process use");
}

}  // namespace

DType kv_dtype(KvType type) {
  switch (type) {
    case KvType::kF32:
      return DType::kF32;
    case KvType::kF16:
      return DType::kF16;
    case KvType::kBF16:
      return DType::kBF16;
    case KvType::kInt8:
      return DType::kI8;
  }
  return DType::kF16;
}

Status fill_in_threads(int& threads) {
  if (threads < 0 || threads > kMostThreads)
    return invalid_option("threads", "is {}, expected 0 (one per fast processor) to {}", threads,
                          kMostThreads);
  if (threads == 0) threads = std::min(fast_processors(), kMostThreads);
  return {};
}

Status fill_in(EngineOptions& options, int max_positions,
               const std::optional<DeviceMemory>& memory) {
  if (Status status = fill_in_threads(options.threads); !status) return status;
  if (options.nice < 0 || options.nice > kMostNice)
    return invalid_option("nice", "is {}, expected 0 to {}", options.nice, kMostNice);
  if (options.context < 0 || options.context > max_positions)
    return invalid_option("context", "is {}, expected at most the model's {} positions",
                          options.context, max_positions);
  if (options.step_rows < 1)
    return invalid_option("step_rows", "is {}, expected at least 1", options.step_rows);
  if (options.place_every < 1)
    return invalid_option("place_every", "is {}, expected at least 1", options.place_every);
  if (const auto policy = policy_named(options.policy); !policy) return policy.error();
  if (!(options.step_budget >= 0) || !std::isfinite(options.step_budget))
    return invalid_option("step_budget", "is {}, expected 0 (no budget) or more seconds",
                          options.step_budget);
  if (Status status = check_packing(options.packing); !status) return status;
  options.deadline_classes.try_emplace("");
  for (const auto& [name, deadlines] : options.deadline_classes)
    if (Status status = check_class(name, deadlines); !status) return status;
  if (options.max_running < 1)
    return invalid_option("max_running", "is {}, expected at least 1", options.max_running);
  if (!(options.max_queue >= 0) || !std::isfinite(options.max_queue))
    return invalid_option("max_queue", "is {}, expected 0 (no limit) or more", options.max_queue);
  if (options.max_open < 1)
    return invalid_option("max_open", "is {}, expected at least 1", options.max_open);
  if (Status status = fill_in_memory(options.kv_memory, memory); !status) return status;
  const bool is_default = options.context == 0;
  if (is_default) options.context = max_positions;
  if (options.context > kMostContext)
    return of_option("context",
                     make_error(is_default ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument,
                                "is {}, expected at most {}", options.context, kMostContext));
  return {};
}

std::string context_limit(int context, int max_positions) {
  return fmt::format("this model's maximum context length is {} tokens{}", context,
                     context < max_positions
                         ? fmt::format(", as context sets it (its own is {})", max_positions)
                         : "");
}

Status check_request(const Request& request, const ModelLimits& model,
                     const EngineOptions& options) {
  const SamplingOptions& sampling = request.sampling;
  if (request.tokens.empty())
    return blame("prompt", invalid_argument("the prompt is empty, expected at least one token"));
  for (const auto& [name, tokens] :
       {std::pair{"prompt", &request.tokens}, {"alternatives", &request.alternatives}})
    if (Status status = check_tokens(name, *tokens, model); !status) return status;
  if (request.isolation_key == kPublicOwner)
    return wrong("isolation_key", "is 2^64 - 1, expected less");
  const size_t n_prompt = request.tokens.size(), context = static_cast<size_t>(options.context);
  const bool is_answered = request.pooling == Pooling::kNone && sampling.max_tokens > 0;
  if (n_prompt > context || (n_prompt == context && is_answered))
    return blame("prompt", make_error(ErrorCode::kTooLong, "the prompt has {}{}; {}",
                                      counted(n_prompt, "tokens"),
                                      is_answered ? " and needs room for an answer" : "",
                                      context_limit(options.context, model.max_positions)));
  if (Status status = check_text(request, model); !status) return status;
  if (Status status = check_outputs(request); !status) return status;
  if (Status status = check_options(sampling); !status) return status;
  if (Status status = check_begun(request, model, context); !status) return status;
  for (const auto& [name, value] :
       {std::pair{"ttft_slo", request.ttft_slo}, {"tpot_slo", request.tpot_slo}})
    if (!(value >= 0) || !std::isfinite(value))
      return wrong(name, "is {}, expected 0 (the default) or more seconds", value);
  if (!request.deadline_class.empty() && !options.deadline_classes.contains(request.deadline_class))
    return wrong("deadline_class", "is '{}', expected {}", request.deadline_class,
                 class_names(options.deadline_classes));
  for (const auto& [token, bias] : sampling.logit_bias)
    if (token < 0 || token >= model.vocab || !std::isfinite(bias))
      return wrong("logit_bias",
                   "has {} for token {}, expected numbers for tokens below the vocabulary size {}",
                   bias, token, model.vocab);
  for (const std::string& stop : sampling.stop)
    if (stop.empty())
      return blame("stop",
                   invalid_argument("a stop string is empty, expected at least one character"));
  return {};
}

}  // namespace pando
