// Sequences that share a prefix and decode a token each, as calls of the attention kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "exec/cpu/kernel/attention.h"

namespace pando::bench {

struct AttentionCase {
  DType type = DType::kF16;
  int batch = 1;    // sequences, of one row each
  int prefix = 0;   // positions that all share; whole tiles where there is a suffix
  int suffix = 0;   // positions of each sequence alone
  int n_heads = 1;  // of queries
  int n_kv_heads = 1;
  int head_dim = 128;
  bool own_copies = false;  // each sequence has the prefix in pages of its own
  // Positions of a tile and a span (docs/arithmetic.md); the engine's.
  int tile_len = 64, span_len = 2048;

  int n_keys() const { return prefix + suffix; }
  double flops() const { return 4.0 * batch * n_heads * n_keys() * head_dim; }
  // Bytes of the keys and values of one layer.
  double bytes() const;
};

// Every call works on the next layer. There are 2 to 64 layers, enough for n_bytes.
class AttentionWork {
 public:
  AttentionWork(const AttentionCase& shape, size_t n_bytes);

  // The prefix's tiles meet all rows at once, as under `tree`.
  void shared(ThreadPool& pool);
  // Each row meets its whole path by itself, as under `prefix_cached`, or under `packed` where
  // copies are its own.
  void per_sequence(ThreadPool& pool);
  // Another operator over the same keys and values.
  void run(FunctionRef<void(const kernel::AttentionArgs&, kernel::AttentionScratch&)> attend);

  int n_layers() const { return args_.kv.shape.n_layers; }
  // [batch] where each one's path, prefix and suffix, begins in the arguments' task_pages.
  const std::vector<uint32_t>& paths() const { return paths_; }
  const kernel::AttentionArgs& args() const { return args_; }
  const std::vector<float>& out() const { return out_; }  // [batch, n_heads, head_dim] of a call

 private:
  void fill();
  void list_pages();
  void add_tasks(std::vector<AttentionTask>& tasks, int end, bool for_each_row) const;
  void next_layer();

  AttentionCase case_;
  AlignedBuffer memory_;
  std::vector<float> q_, out_;
  std::vector<uint32_t> positions_;
  std::vector<PageId> pages_;    // of tasks: path after path
  std::vector<uint32_t> paths_;  // [batch] index into pages_ of each one's path
  std::vector<AttentionTask> tasks_, tasks_each_;
  kernel::AttentionArgs args_{};
  kernel::AttentionScratch scratch_;
};

}  // namespace pando::bench
