// Defaults and checks of the options of engines and requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "pando/values/engine_options.h"

namespace pando {

class Tokenizer;

inline constexpr int kMostChoices = 4096;  // SamplingOptions::n

DType kv_dtype(KvType type);

// Memory of a device, in bytes.
struct DeviceMemory {
  uint64_t all, free;
};

// Replaces zeros by defaults. max_positions: of the model. memory: for keys and values; absent: the
// machine's. kInvalidArgument for options that cannot work, kUnsupported for a model whose own
// context is too long.
Status fill_in(EngineOptions& options, int max_positions,
               const std::optional<DeviceMemory>& memory = {});

// Properties of a model that requests are checked against.
struct ModelLimits {
  int vocab = 0;
  int max_positions = 0;                 // longest sequence, in tokens
  int n_token_types = 0;                 // of pairs; 0: the model has none
  bool gives_logits = true;              // false: it gives embeddings alone
  const Tokenizer* tokenizer = nullptr;  // may be null; for messages
};

// kInvalidArgument or kTooLong for a request of tokens that can never be answered.
Status check_request(const Request& request, const ModelLimits& model,
                     const EngineOptions& options);

// "this model's maximum context length is 512 tokens", a text that clients recognise, and the
// source of the limit.
std::string context_limit(int context, int max_positions);

// Replaces 0 by one thread for each fast processor this process may use; kInvalidArgument for a
// number that cannot be.
Status fill_in_threads(int& threads);

}  // namespace pando
