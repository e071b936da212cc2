#include "engine/options.h"

#include <sched.h>

#include <cmath>
#include <thread>

#include "base/errors.h"

namespace pando {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostChoices = 4096;

}  // namespace

const char* finish_reason_name(FinishReason reason) {
  return reason == FinishReason::kStop ? "stop" : "length";
}

DType kv_dtype(KvType type) {
  switch (type) {
    case KvType::kF32:
      return DType::kF32;
    case KvType::kF16:
      return DType::kF16;
    case KvType::kBF16:
      return DType::kBF16;
  }
  return DType::kF16;
}

Status fill_in_threads(int& threads) {
  if (threads < 0 || threads > kMostThreads)
    return invalid_argument("threads is {}, expected 0 (all processors) to {}", threads,
                            kMostThreads);
  if (threads > 0) return {};
  cpu_set_t allowed;
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0;
  threads = known ? CPU_COUNT(&allowed)
                  : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return {};
}

Status fill_in(EngineOptions& options, const model::ModelConfig& config) {
  if (Status status = fill_in_threads(options.threads); !status) return status;
  if (options.context < 0 || options.context > config.max_positions)
    return invalid_argument("context is {}, expected at most the model's {} positions",
                            options.context, config.max_positions);
  if (options.step_rows < 1)
    return invalid_argument("step_rows is {}, expected at least 1", options.step_rows);
  if (options.max_running < 1)
    return invalid_argument("max_running is {}, expected at least 1", options.max_running);
  if (options.max_open < 1)
    return invalid_argument("max_open is {}, expected at least 1", options.max_open);
  if (options.context == 0) options.context = config.max_positions;
  return {};
}

Status check_request(const Request& request, const model::ModelConfig& config,
                     const EngineOptions& options) {
  const SamplingOptions& sampling = request.sampling;
  if (request.tokens.empty())
    return invalid_argument("the prompt is empty, expected at least one token");
  for (const Token token : request.tokens)
    if (token < 0 || token >= config.vocab)
      return invalid_argument("token {} is outside the model's vocabulary of {}", token,
                              config.vocab);
  if (request.tokens.size() >= static_cast<size_t>(options.context))
    return make_error(ErrorCode::kTooLong,
                      "the prompt has {} tokens; the context of {} leaves no room for an answer",
                      request.tokens.size(), options.context);
  if (sampling.max_tokens < 1)
    return invalid_argument("max_tokens is {}, expected at least 1", sampling.max_tokens);
  if (!(sampling.temperature >= 0) || !std::isfinite(sampling.temperature))
    return invalid_argument("temperature is {}, expected 0 or more", sampling.temperature);
  if (sampling.top_k < 0)
    return invalid_argument("top_k is {}, expected 0 (off) or more", sampling.top_k);
  if (!(sampling.top_p > 0 && sampling.top_p <= 1))
    return invalid_argument("top_p is {}, expected more than 0 and at most 1", sampling.top_p);
  if (sampling.n < 1 || sampling.n > kMostChoices)
    return invalid_argument("n is {}, expected 1 to {}", sampling.n, kMostChoices);
  for (const std::string& stop : sampling.stop)
    if (stop.empty())
      return invalid_argument("a stop string is empty, expected at least one character");
  return {};
}

Result<const kernel::Kernels*> kernels_by_name(std::string_view name) {
  if (name.empty()) return &kernel::best_kernels();
  for (const kernel::Isa isa : {kernel::Isa::kPortable, kernel::Isa::kAvx2, kernel::Isa::kAvx512}) {
    const kernel::Kernels* kernels = kernel::kernels_for(isa);
    if (kernels != nullptr && kernels->name == name) return kernels;
  }
  return invalid_argument(
      "instruction set '{}' is not available here: expected portable, avx2 or avx512, as far as "
      "this processor has them",
      name);
}

}  // namespace pando
