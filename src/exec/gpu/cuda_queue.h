// A CUDA stream that launches repeated calls as one graph.
//
// The calls between two waits are a list; those of a step of a model are one. While a list goes on
// like the list before, its calls are held back. A list that is alike to its end becomes a graph,
// or updates the graph of the list before, and is launched at the wait. Any other list is made call
// by call, as soon as it differs.
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
  // device: the name in messages. It outlives this.
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
  void take_last();    // of calls_
  void make_held();    // call by call
  void launch_held();  // as a graph, if it can be made
  bool make_graph();
  void drop_graph();

  const std::string& device_;
  Stream* stream_ = nullptr;
  std::vector<Function*> functions_;  // by Kernel
  Calls calls_;                       // since the last wait
  Calls before_;                      // the list before
  bool is_held_ = false;              // no call of calls_ is made yet
  bool is_graph_ = false;             // calls_ were launched as graph_
  size_t n_changed_ = 0;              // calls that are not equal to those of before_
  Executable* graph_ = nullptr;       // of before_, or null
};

}  // namespace pando::exec::gpu::cuda
