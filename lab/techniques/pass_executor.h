// The executor of the published techniques: the processor's forward pass, with parts replaced.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/technique.h"
#include "exec/cpu/kernel/kv_layout.h"
#include "exec/cpu/layers/layer_attention.h"

namespace pando::lab {

// The model whose keys and values a technique keeps.
struct StoredModel {
  kernel::KvShape shape;
  int n_heads;          // query heads
  int n_threads;        // compute threads
  double row_products;  // cost of a row's products with all weights, in multiply-adds of f32
};

// Keys and values that a technique keeps itself. The engine's pages are numbers only then.
class KvStore {
 public:
  virtual ~KvStore() = default;
  // Called once, before the first step. n_bytes: room for keys and values.
  virtual void open(const StoredModel& model, size_t n_bytes) = 0;
  virtual size_t n_bytes() const = 0;  // in use
};

// The parts of the forward pass that a technique replaces, and the limits of its attention.
struct PassParts {
  exec::LayerAttention attention = {};  // empty: kernel::attention
  KvStore* store = nullptr;             // outlives the executor; null: pages hold keys and values
  bool one_layer = false;               // pages have one layer, which all layers write in turn
  bool takes_int8 = true;               // keys and values may be int8
  bool caps_scores = true;              // the attention knows soft caps of scores
  bool takes_sinks = true;              // the attention knows sinks
};

std::unique_ptr<ExecutorMaker> pass_executor(PassParts parts);

}  // namespace pando::lab
