// The options of an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "pando/values/request.h"
#include "pando/values/scheduling.h"

namespace pando {

// The type that keys and values are stored in.
enum class KvType { kF32, kF16, kBF16, kInt8 };

// Options that are fixed when an engine is opened.
struct EngineOptions {
  std::string sharing = "tree";   // planner and its options: see sharing.h
  int threads = 0;                // 0: one for each fast processor that may be used
  int nice = 0;                   // added to the niceness of the thread that opens the engine, 0 to
                                  // 19: above 0, other threads of the process go first (Linux)
  size_t kv_memory = 0;           // budget for keys and values, bytes; 0: half of the free memory,
                                  // within the limits of a container; on a device with memory of
                                  // its own, half of what the weights leave
  size_t kv_ahead = 0;            // bytes of it that have memory behind them before they are
                                  // used, as far as the engine has idle time for that
  size_t kv_ahead_first = 0;      // of these, bytes ready at the start; more only up to the bytes
                                  // that were ever in use; 0: kv_ahead from the start
  KvType kv_type = KvType::kF16;  // type that keys and values are stored in
  int context = 0;                // longest sequence in tokens; 0: the model's. Rotation
                                  // of type longrope is fixed by it (docs/models.md)
  uint64_t seed = 0;              // of requests that bring none
  // Models with recurrent layers: states of cached prompts are kept at least every place_every
  // tokens, as far as the memory for states allows (docs/memory.md).
  int place_every = 2048;
  int step_rows = 1024;  // rows of a forward pass at most; running answers take one
                         // each, and prompts what they leave
  // Order of prefills: fcfs, edf, lrs or lars (docs/scheduling.md). All but fcfs need step_costs.
  std::string policy = "fcfs";
  double step_budget = 0;  // predicted seconds of a step at most, which needs step_costs; 0: under
                           // fcfs rows alone limit it, otherwise the least tpot_slo of a class
  std::string step_costs;  // how long steps take: JSON (step_costs.h)
  PackingOptions packing;  // of steps that go by time
  // By name; "" is the class of requests that name none.
  std::map<std::string, DeadlineClass> deadline_classes;
  int max_running = 256;  // sequences that hold keys and values at a time
  int max_open = 4096;    // answers waiting or under way; more are refused
  // Upper bound of keys and values of all open answers, as a multiple of kv_memory. Shared tokens
  // count once; answers are predicted to be at most twice as long as recent ones. The listener of a
  // request above the bound gets kUnavailable. 0: no limit.
  double max_queue = 0;
  // portable, avx2, avxvnni, avx512, avx512bf16 or amx; empty: the best there is
  std::string isa;
};

// Names a request of one engine.
using RequestId = uint64_t;
// Called from the engine's thread; must not throw and must not block.
using Listener = std::function<void(Event)>;

}  // namespace pando
