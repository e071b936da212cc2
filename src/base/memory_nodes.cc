#include "base/memory_nodes.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/machine.h"

namespace pando {
namespace {

std::optional<cpu_set_t> own_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return std::nullopt;
  return set;
}

// The system may refuse; then only speed is lost.
void run_on(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Binds the calling thread to some processors while this object lives.
class Visit {
 public:
  explicit Visit(const std::vector<int>& processors) : before_(own_processors()) {
    if (before_) run_on(processors);
  }
  ~Visit() {
    if (before_) sched_setaffinity(0, sizeof *before_, &*before_);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  std::optional<cpu_set_t> before_;
};

}  // namespace

MemoryNodes::MemoryNodes(std::vector<std::vector<int>> processors)
    : processors_(std::move(processors)) {
  size_t end = 0;
  for (const std::vector<int>& node : processors_) ends_.push_back(end += node.size());
  PANDO_CHECK(end > 0);
}

MemoryNodes MemoryNodes::found(const std::filesystem::path& root) {
  const std::filesystem::path folder = root / "sys/devices/system/node";
  std::vector<std::vector<int>> nodes;
  if (const std::optional<cpu_set_t> own = own_processors())
    for (const int node : processors_in(folder / "online")) {
      std::vector<int> processors = processors_in(folder / fmt::format("node{}/cpulist", node));
      std::erase_if(processors, [&](int i) { return i >= CPU_SETSIZE || !CPU_ISSET(i, &*own); });
      if (!processors.empty()) nodes.push_back(std::move(processors));
    }
  if (nodes.empty()) nodes = {{0}};
  return MemoryNodes(std::move(nodes));
}

const MemoryNodes& MemoryNodes::here() {
  static const MemoryNodes nodes = found();
  return nodes;
}

size_t MemoryNodes::node_of(int thread, int n_threads) const {
  PANDO_CHECK(0 <= thread && thread < n_threads);
  const size_t processor =
      static_cast<size_t>(thread) * ends_.back() / static_cast<size_t>(n_threads);
  return static_cast<size_t>(std::ranges::upper_bound(ends_, processor) - ends_.begin());
}

void MemoryNodes::bind(int thread, int n_threads) const {
  if (count() > 1 && n_threads > 1) run_on(processors_[node_of(thread, n_threads)]);
}

void MemoryNodes::spread(const AlignedBuffer& buffer) const {
  if (count() == 1) return;
  size_t begin = 0;
  for (size_t node = 0; node < count(); ++node) {
    const size_t end = buffer.size() / ends_.back() * ends_[node];
    populate(buffer, begin, node + 1 < count() ? end : buffer.size(), node);
    begin = end;
  }
}

void MemoryNodes::populate(const AlignedBuffer& buffer, size_t begin, size_t end,
                           size_t index) const {
  if (count() == 1) return buffer.populate(begin, end);
  const Visit visit(processors_[index % count()]);
  buffer.populate(begin, end);
}

}  // namespace pando
