#include "lab/papers/process_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "base/errors.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace pando::lab {
namespace {

// Reads a line "NAME:  1234 kB".
Result<uint64_t> status_bytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    uint64_t kilobytes = 0;
    if (word == name && file >> kilobytes) return kilobytes * 1024;
  }
  return io_error("/proc/self/status has no {}", name);
}

// Gives free memory of the allocator back, and makes what is resident now the peak.
Status restart_peak() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  if (!file) return io_error("cannot write /proc/self/clear_refs");
  return {};
}

}  // namespace

Result<uint64_t> peak_memory_of(FunctionRef<void()> work) {
  work();
  if (Status status = restart_peak(); !status) return status.error();
  const Result<uint64_t> before = status_bytes("VmRSS:");
  if (!before) return before.error();
  work();
  const Result<uint64_t> peak = status_bytes("VmHWM:");
  if (!peak) return peak.error();
  return *peak - std::min(*peak, *before);
}

}  // namespace pando::lab
