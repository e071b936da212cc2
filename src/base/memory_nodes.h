// Nodes of a machine whose sockets have memory of their own (NUMA). Linux places a page on the node
// of the thread that touches it first: so threads stay on a node, and memory is touched from the
// node whose threads read it. Machines with one node are left alone.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "base/aligned_buffer.h"

namespace pando {

class MemoryNodes {
 public:
  // Processors of each node, at least one node with at least one.
  explicit MemoryNodes(std::vector<std::vector<int>> processors);
  // Nodes with processors that the calling thread may use; one node if the system lists none.
  // `root` is where /sys is.
  static MemoryNodes found(const std::filesystem::path& root = "/");
  // The nodes of this machine, as they were found first. Any thread.
  static const MemoryNodes& here();

  size_t count() const { return processors_.size(); }
  // The node of one of n threads. Each node has threads in proportion to its processors,
  // neighbours side by side.
  size_t node_of(int thread, int n_threads) const;
  // Keeps the calling thread on its node, if there are several nodes and threads.
  void bind(int thread, int n_threads) const;

  // Both put fresh memory on nodes before anything else touches it, as far as the system can
  // (AlignedBuffer::populate). Contents stay.
  // Divides a buffer over the nodes as loops over it are divided over threads
  // (ThreadPool::parallel_runs). Does nothing with one node.
  void spread(const AlignedBuffer& buffer) const;
  // Puts bytes [begin, end) on node `index` modulo the number of nodes.
  void populate(const AlignedBuffer& buffer, size_t begin, size_t end, size_t index) const;

 private:
  std::vector<std::vector<int>> processors_;
  std::vector<size_t> ends_;  // processors of each node and those before it
};

}  // namespace pando
