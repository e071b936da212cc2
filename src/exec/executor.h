// The seam below the engine: an executor computes steps on some device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "step/step_plan.h"

namespace pando {

// Where the time of steps went, summed over all steps.
struct PhaseTimes {
  double linear_s = 0;      // matrix products, the LM head included
  double attention_s = 0;   // tiles of keys and values; recurrences and their convolutions
  double row_ops_s = 0;     // norms, rotation, page writes, activations and their packing
  double linear_flops = 0;  // 2 M N K of every matrix product
  // Sent to other ranks that have other positions, by the first of them.
  uint64_t attention_bytes = 0;
};

// What the engine knows of its executor. Fixed when the executor is made.
struct ExecutorFacts {
  int vocab = 0;       // logits of a row
  int d_model = 0;     // values of a hidden row
  int page_len = 0;    // positions of a page
  int tile_len = 0;    // positions of a tile of attention: whole pages
  size_t n_pages = 0;  // pages that may be in use at a time
  // Pages may be in parts of equal size, part after part, each in another memory. All pages of a
  // path's positions [i * part_positions, (i + 1) * part_positions) are to be in one part.
  uint32_t n_parts = 1;
  uint32_t part_positions = 0;  // 0 where there is one part
  size_t page_bytes = 0;        // bytes of one page
  size_t kv_capacity = 0;       // positions whose keys and values, of all layers, the memory holds
  size_t longest_path = 0;      // positions that one path can have
  // Layers with a sliding window may have pages of their own (StepPlan::windows).
  uint32_t window = 0;        // positions that the widest of them sees; 0: there are no such pages
  size_t n_window_pages = 0;  // of these pages that may be in use at a time
  size_t window_page_bytes = 0;  // bytes of one
  size_t n_slots = 0;     // slots of states that may be in use at a time; 0: the model has none
  size_t slot_bytes = 0;  // bytes of one slot
  // Of each mixture of experts; zeros where the model has none. A row has n_used_experts.
  int n_experts = 0, n_used_experts = 0;
  bool keeps_keys = true;  // false: keys and values are gone after a step
  int depth = 1;           // steps that may be submitted and not finished
  std::string name;        // the device and its arithmetic, as in "avx512"
};

// Has the weights as they lie on its device, owns the memory of keys and values, and computes every
// product of rows. The engine knows page numbers and slots only. Used by one thread.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const ExecutorFacts& facts() const = 0;

  // Accepts a step, and may begin with it. At most facts().depth steps may be submitted and not
  // finished. Copies and rows are carried out in the order of submission, so the next step may use
  // a page that was freed. Throws if the step cannot be accepted: it is dropped then, and those
  // before it are still to be finished.
  virtual void submit(StepPlan plan) = 0;
  // Returns when the oldest submitted step has ended. Throws if that step fails. It and all steps
  // submitted after it are then dropped. What they write is undefined, at the positions that they
  // write and at no others.
  virtual void finish() = 0;

  // hidden() and logits() read the step that was finished last, until the next call of finish().
  // The final hidden states of outputs [first, first + n), after the last norm: [n, d_model] f32.
  virtual const float* hidden(uint32_t first, uint32_t n) = 0;
  // The logits of outputs [first, first + n). out: [n, vocab] f32.
  virtual void logits(uint32_t first, uint32_t n, float* out) = 0;

  // For idle time: asks the system for memory behind a few MB more of the pages of the first part
  // that were never handed out, those from n_touched on, and of window pages. False where nothing
  // was left to do.
  virtual bool prepare(size_t n_touched, size_t n_windows_touched) = 0;
  // Bytes of these pages that have memory behind them.
  virtual size_t ready_bytes(size_t n_touched, size_t n_windows_touched) const = 0;

  // Bytes of keys and values, without those in window pages, while n_used pages are in use.
  virtual size_t kv_bytes(size_t n_used) const = 0;
  virtual PhaseTimes times() const = 0;
};

}  // namespace pando
