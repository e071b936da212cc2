// A CUDA stream that launches repeated calls as one graph.
//
// The calls between two waits are a list, such as the calls of a model's step. Lists of 16 calls or
// more are kept until the next such list. While a list is like the kept one, its calls are held
// back. A list that is alike to its end is launched at the wait as a graph, which is new, updated,
// or the same as before. The calls of any other list are made one by one from its first difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/gpu/cuda_api.h"
#include "exec/gpu/cuda_calls.h"

namespace pando::exec::gpu::cuda {

// Its context is current when it is called. If the device fails, calls throw std::runtime_error.
class Queue {
 public:
  // device: its name in messages; must outlive this.
  explicit Queue(const std::string& device) : device_(device) {}
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void open();  // once, before all other calls
  void set_functions(std::vector<Function*> functions) { functions_ = std::move(functions); }

  // from: pinned memory, which keeps its bytes until the next wait.
  void write(DevicePointer to, const void* from, size_t n);
  void fill(DevicePointer to, uint8_t value, size_t n);
  void launch(Kernel kernel, Groups groups, std::span<const Arg> args);
  // Waits for all calls, and copies these bytes to the host.
  void read(DevicePointer from, void* to, size_t n);
  void wait();
  // True if there was no call since the last wait.
  bool is_idle() const { return calls_.size() == 0; }

 private:
  void check(int code, const char* call) const;
  void take_last();    // makes the last call of calls_, or holds it back
  void make_held();    // one by one
  void launch_held();  // as a graph, if it can be made
  bool make_graph();
  void drop_graph();

  const std::string& device_;
  Stream* stream_ = nullptr;
  std::vector<Function*> functions_;  // by Kernel
  Calls calls_;                       // since the last wait
  Calls before_;                      // the list that was kept
  bool is_held_ = false;              // no call of calls_ is made yet
  bool is_graph_ = false;             // calls_ were launched as graph_
  size_t n_changed_ = 0;              // calls that are not equal to those of before_
  Executable* graph_ = nullptr;       // of before_, or null
};

}  // namespace pando::exec::gpu::cuda
