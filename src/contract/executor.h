// An executor computes steps on some device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "contract/step_plan.h"

namespace pando {

// The memory for keys, values and states, and how it is divided. A plain value.
struct KvOptions {
  DType type = DType::kF16;                           // f32, f16, bf16 or int8
  size_t memory = 0;                                  // bytes for keys, values and states
  int context = 0;                                    // positions of the longest sequence
  int page_len = 32, tile_len = 64, span_len = 2048;  // positions
  bool window_pages = false;  // layers with a window have pages of their own
  size_t n_window_pages = 0;  // of these; 0: a share of the memory
  size_t n_slots = 0;         // of states; 0: half of the memory
};

// The numbers of pages and slots that fit into that memory.
struct KvRoom {
  size_t n_pages = 0, n_window_pages = 0, n_slots = 0;
  size_t page_bytes = 0, window_page_bytes = 0, slot_bytes = 0;  // of one
  int page_len = 0;                                              // positions of a page
  uint32_t window = 0;     // positions of the widest window with pages of its own; 0: there is none
  size_t kv_capacity = 0;  // positions with keys and values in all layers at a time

  // Positions that one path can have.
  size_t longest_path() const { return n_pages * static_cast<size_t>(page_len); }
};

struct ExecutorOptions {
  std::string isa = {};  // as Device::isa_name gives it
  KvOptions kv = {};
  // The last layer computes all rows, as earlier layers do, though most are never read: for timing
  // a model of few layers in place of one of many. No output changes.
  bool all_rows = false;
  bool poison_pages = false;  // fill fresh pages and slots with NaN: a test then sees reads of them
};

// Time of each phase, summed over all steps.
struct PhaseTimes {
  double linear_s = 0;      // matrix products, the LM head included
  double attention_s = 0;   // tiles of keys and values; recurrences and their convolutions
  double row_ops_s = 0;     // norms, rotation, page writes, activations and their packing
  double linear_flops = 0;  // 2 M N K of every matrix product
  // Bytes that the first rank sent to ranks that hold other positions.
  uint64_t attention_bytes = 0;
};

// Facts that the engine knows of its executor. Fixed when the executor is made.
struct ExecutorFacts {
  int vocab = 0;       // logits of a row
  int d_model = 0;     // values of a hidden row
  int page_len = 0;    // positions of a page
  int tile_len = 0;    // positions of a tile of attention: whole pages
  size_t n_pages = 0;  // pages that may be in use at a time
  // Pages may be in parts of equal size, part after part, each in another memory. All pages of a
  // path's positions [i * part_positions, (i + 1) * part_positions) are to be in one part.
  uint32_t n_parts = 1;
  uint32_t part_positions = 0;  // 0 if there is one part
  size_t page_bytes = 0;        // bytes of one page
  size_t kv_capacity = 0;       // positions that the memory holds, with keys and values of all
                                // layers
  size_t longest_path = 0;      // positions that one path can have
  // Layers with a sliding window may have pages of their own (StepPlan::windows).
  uint32_t window = 0;        // positions that the widest of them sees; 0: there are no such pages
  size_t n_window_pages = 0;  // of these pages that may be in use at a time
  size_t window_page_bytes = 0;  // bytes of one
  size_t n_slots = 0;     // slots of states that may be in use at a time; 0: the model has none
  size_t slot_bytes = 0;  // bytes of one slot
  // Experts of each mixture, and the number that a row uses; zeros for a model without mixtures.
  int n_experts = 0, n_used_experts = 0;
  bool keeps_keys = true;  // false: keys and values are gone after a step
  // Counts the passes of a text whose rows see both ways (TextPasses); 0: rows see what is before
  // them.
  uint32_t n_passes = 0;
  int depth = 1;     // steps that may be submitted and not finished
  std::string name;  // the device and its arithmetic, as in "avx512"
};

// Computes steps on a device: holds the weights in the device's layout and owns the memory of keys
// and values. The engine knows page numbers and slots only. Used by one thread.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const ExecutorFacts& facts() const = 0;

  // Accepts a step, and may begin with it. At most facts().depth steps may be submitted and not
  // finished. Copies and rows are carried out in the order of submission, so the next step may use
  // a page, a window page or a state slot that was freed. Throws if the step cannot be accepted: it
  // is dropped then, and those before it are still to be finished.
  virtual void submit(StepPlan plan) = 0;
  // Returns when the oldest submitted step has ended. If that step fails, throws and drops it and
  // all steps submitted after it. The positions and states that these steps write are undefined
  // then, and no others.
  virtual void finish() = 0;

  // hidden(), logits() and logits_or_largest() read the step that was finished last, until the next
  // call of finish().
  // The final hidden states of outputs [first, first + n), after the last norm: [n, d_model] f32.
  virtual const float* hidden(uint32_t first, uint32_t n) = 0;
  // The logits of outputs [first, first + n). out: [n, vocab] f32; rows of the plan's hidden_only
  // are undefined. Each call of a step begins behind the outputs of the call before.
  virtual void logits(uint32_t first, uint32_t n, float* out) = 0;
  // As logits(), for outputs [first, first + is_wanted.size()). For rows that are not wanted, an
  // executor may give the id of the largest logit in place of the row: the lowest id among equals.
  // NaN is never larger, and a row that begins with NaN gives 0. Returns true if it gave ids: `out`
  // then has only the wanted rows, and `largest` only the ids of the other rows. Returns false if
  // `out` has all rows. largest: [is_wanted.size()].
  virtual bool logits_or_largest(uint32_t first, const std::vector<bool>& is_wanted, float* out,
                                 Token* /*largest*/) {
    logits(first, static_cast<uint32_t>(is_wanted.size()), out);
    return false;
  }

  // For idle time: asks the system for memory behind a few MB more of the pages of the first part
  // from n_touched on, which were never handed out, and of window pages. False if nothing was left
  // to do.
  virtual bool prepare(size_t n_touched, size_t n_windows_touched) = 0;
  // Bytes of these pages that have memory behind them.
  virtual size_t ready_bytes(size_t n_touched, size_t n_windows_touched) const = 0;

  // Bytes of keys and values, without those in window pages, while n_used pages are in use.
  virtual size_t kv_bytes(size_t n_used) const = 0;
  virtual PhaseTimes times() const = 0;
};

// Rows [begin, end) of a step.
struct RowRange {
  uint32_t begin = 0, end = 0;
  uint32_t size() const { return end - begin; }
};

// An executor whose model may be one stage of a larger one.
class StageExecutor : public Executor {
 public:
  // Computes rows of a step at once, without submit. before: [own rows, d_model] f32, as the stage
  // before returned them; null for the first stage. Returns the hidden states of those of the
  // plan's outputs that are among the rows, after the last norm, [n_outputs, d_model] f32; or of a
  // stage that is not the last, all these rows. Of texts (TextPasses) `before` has the rows that
  // the step takes through the pass between both stages, and so has the result. Valid until the
  // next call.
  virtual const float* compute(const StepPlan& plan, RowRange own, const float* before) = 0;
  // The logits of final hidden states: [n, d_model] f32 -> [n, vocab] f32, or the slice of these
  // logits that the stage has.
  virtual void logits_of(const float* hidden, uint32_t n, float* out) = 0;
};

}  // namespace pando
