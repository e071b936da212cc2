// Memory nodes of a machine whose sockets have their own memory (NUMA). Linux places a page on the
// node of the thread that touches it first. So each thread stays on one node, and memory is first
// touched from the node whose threads read it. On machines with one node nothing changes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "base/aligned_buffer.h"

namespace pando {

class MemoryNodes {
 public:
  // processors: those of each node. There is at least one node; each has at least one processor.
  explicit MemoryNodes(std::vector<std::vector<int>> processors);
  // Finds the nodes with processors that the calling thread may use; one node if the system lists
  // none. `root` has the folder sys.
  static MemoryNodes found(const std::filesystem::path& root = "/");
  // The nodes of this machine, found at the first call. Any thread.
  static const MemoryNodes& here();

  size_t count() const { return processors_.size(); }
  // The node of one of n_threads threads. Nodes have threads in proportion to their processors. A
  // node's threads have consecutive numbers.
  size_t node_of(int thread, int n_threads) const;
  // Binds the calling thread to its node, if there are several nodes and several threads.
  void bind(int thread, int n_threads) const;

  // The next two put fresh memory on nodes before other code touches it (AlignedBuffer::populate).
  // They keep contents. The system may refuse.
  // Divides a buffer over the nodes, as ThreadPool::parallel_runs divides loops over threads. Does
  // nothing with one node.
  void spread(const AlignedBuffer& buffer) const;
  // Puts bytes [begin, end) on node index % count().
  void populate(const AlignedBuffer& buffer, size_t begin, size_t end, size_t index) const;

 private:
  std::vector<std::vector<int>> processors_;
  std::vector<size_t> ends_;  // number of processors of each node and the nodes before it
};

}  // namespace pando
