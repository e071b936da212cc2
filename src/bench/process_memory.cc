#include "bench/process_memory.h"

#include <fstream>
#include <string>

#include "base/errors.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace pando::bench {
namespace {

// Of a line "NAME:  1234 kB".
Result<uint64_t> status_bytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    uint64_t kilobytes = 0;
    if (word == name && file >> kilobytes) return kilobytes * 1024;
  }
  return io_error("/proc/self/status has no {}", name);
}

}  // namespace

Status restart_peak_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  if (!file) return io_error("cannot write /proc/self/clear_refs");
  return {};
}

Result<uint64_t> resident_bytes() { return status_bytes("VmRSS:"); }
Result<uint64_t> peak_resident_bytes() { return status_bytes("VmHWM:"); }

}  // namespace pando::bench
