// Options with which an engine loop is opened.
#pragma once

#include <memory>

#include "pando/values/engine_options.h"

namespace pando {

struct RankGroup;
class StepTurns;

// The public options, and sizes that they leave to the engine; tests make these sizes tiny.
struct LoopOptions {
  EngineOptions engine;
  int page_len = 32;          // positions of a page
  int tile_len = 64;          // positions of a tile of attention
  int span_len = 2048;        // positions of a span
  size_t n_slots = 0;         // of states; 0: as many as kv_memory has room for
  size_t n_window_pages = 0;  // of layers with a window; 0: a share of kv_memory
  const RankGroup* ranks =
      nullptr;                // the ranks that share the model; null: this process has all of it
  int depth = 0;              // steps in flight at most; 0: as many as the executor takes
  size_t least_answers = 16;  // of a step, where answers divide among the steps in flight
  std::shared_ptr<StepTurns> turns = nullptr;  // of the engines that share processors; null: none
  bool poison_pages = false;  // fill fresh pages with NaN
  bool all_rows = false;      // see ExecutorOptions
  bool many_prefills = true;  // see PackerOptions
  bool forces_tokens = true;  // tokens that a form forces go through the model together
};

}  // namespace pando
