// What an engine is opened with.
#pragma once

#include "pando/engine.h"

namespace pando {

// What the public options leave to the engine; tests run these tiny.
struct LoopOptions {
  EngineOptions engine;
  int page_len = 32;          // positions of a page
  int tile_len = 64;          // of a tile of attention
  int span_len = 2048;        // of a span
  bool poison_pages = false;  // fill fresh pages with NaN
  bool all_rows = false;      // exec::TransformerOptions
  bool many_prefills = true;  // PackerOptions
};

}  // namespace pando
