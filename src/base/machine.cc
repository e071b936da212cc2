#include "base/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace pando {
namespace {

namespace fs = std::filesystem;

std::optional<double> number_in(const fs::path& path) {
  std::ifstream file(path);
  double value = 0;
  if (file >> value) return value;  // "max" is none
  return std::nullopt;
}

// The value of "name: 123 kB" or "name 123" in a file of such lines.
std::optional<double> field_in(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string word; file >> word;)
    if (double value = 0; word == name && file >> value) return value;
  return std::nullopt;
}

// Folders of the process's control group and of all above it, nearest first. `mark` stands before
// its path in the list of groups.
std::vector<fs::path> groups_of(const fs::path& root, const fs::path& folder,
                                const std::string& mark) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t at_mark = line.find(mark);
    if (at_mark == std::string::npos) continue;
    std::vector<fs::path> groups;
    for (fs::path at = line.substr(at_mark + mark.size());; at = at.parent_path()) {
      groups.push_back(root / folder / at);
      if (at.empty()) return groups;
    }
  }
  return {root / folder};
}

std::vector<fs::path> groups_v2(const fs::path& root) {
  return groups_of(root, "sys/fs/cgroup", "0::/");
}
std::vector<fs::path> memory_groups_v1(const fs::path& root) {
  return groups_of(root, "sys/fs/cgroup/memory", ":memory:/");
}

// Nothing on more than 1,024 processors.
std::optional<cpu_set_t> allowed_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return std::nullopt;
  return set;
}

// n, or fewer where a control group limits the processors' time.
int limited(const fs::path& root, double n) {
  for (const fs::path& group : groups_v2(root)) {
    std::ifstream file(group / "cpu.max");
    double quota = 0, period = 0;
    if (file >> quota >> period && period > 0) n = std::min(n, quota / period);
  }
  const auto quota = number_in(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
             period = number_in(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (quota && period && *quota > 0 && *period > 0) n = std::min(n, *quota / *period);
  return std::max(1, static_cast<int>(std::ceil(n)));
}

// Linux lists Intel's slow processors as cpu_atom. Elsewhere it gives capacities, 1,024 to the
// fastest.
bool is_fast(const fs::path& root, int processor) {
  constexpr double kLeastCapacity = 512;
  const auto capacity =
      number_in(root / fmt::format("sys/devices/system/cpu/cpu{}/cpu_capacity", processor));
  const std::vector<int> slow = processors_in(root / "sys/devices/cpu_atom/cpus");
  return std::ranges::find(slow, processor) == slow.end() &&
         capacity.value_or(kLeastCapacity) >= kLeastCapacity;
}

// Limits of the process itself, each with the field that holds its use, in kB.
constexpr std::pair<const char*, const char*> kProcessLimits[] = {{"Max address space", "VmSize:"},
                                                                  {"Max data size", "VmData:"}};

// Bytes; nothing if there is no such limit.
std::optional<double> process_limit(const fs::path& root, std::string_view name) {
  std::ifstream file(root / "proc/self/limits");
  for (std::string line; std::getline(file, line);)
    if (double value = 0;
        line.starts_with(name) && std::istringstream(line.substr(name.size())) >> value)
      return value;
  return std::nullopt;
}

}  // namespace

std::vector<int> processors_in(const fs::path& path) {
  std::vector<int> processors;
  std::ifstream file(path);
  for (std::string range; std::getline(file, range, ',');) {
    std::istringstream words(range);
    int first = 0, last = 0;
    char dash = 0;
    if (!(words >> first)) continue;
    if (!(words >> dash >> last)) last = first;
    for (int i = first; i <= last; ++i) processors.push_back(i);
  }
  return processors;
}

int available_processors(const fs::path& root) {
  const std::optional<cpu_set_t> allowed = allowed_processors();
  return limited(
      root, allowed ? CPU_COUNT(&*allowed) : static_cast<int>(std::thread::hardware_concurrency()));
}

int fast_processors(const fs::path& root) {
  int n = 0;
  if (const std::optional<cpu_set_t> allowed = allowed_processors())
    for (int i = 0; i < CPU_SETSIZE; ++i) n += CPU_ISSET(i, &*allowed) && is_fast(root, i);
  return n > 0 ? limited(root, n) : available_processors(root);
}

std::optional<uint64_t> total_memory(const fs::path& root) {
  double least = std::numeric_limits<double>::infinity();
  if (const auto all = field_in(root / "proc/meminfo", "MemTotal:")) least = *all * 1024;
  std::vector<fs::path> limits;
  for (const fs::path& group : memory_groups_v1(root))
    limits.push_back(group / "memory.limit_in_bytes");
  for (const fs::path& group : groups_v2(root)) limits.push_back(group / "memory.max");
  for (const fs::path& limit : limits)
    if (const auto most = number_in(limit)) least = std::min(least, *most);
  for (const auto& [name, used] : kProcessLimits)
    if (const auto most = process_limit(root, name)) least = std::min(least, *most);
  if (std::isinf(least)) return std::nullopt;
  return static_cast<uint64_t>(least);
}

std::optional<uint64_t> available_memory(const fs::path& root) {
  double least = std::numeric_limits<double>::infinity();
  if (const auto free = field_in(root / "proc/meminfo", "MemAvailable:")) least = *free * 1024;
  const auto limit = [&](const fs::path& most, const fs::path& used, const fs::path& stat,
                         const std::string& prefix) {
    const auto n_most = number_in(most), n_used = number_in(used);
    if (!n_most || !n_used) return;
    // Pages of files would be given up.
    const double of_files = field_in(stat, prefix + "inactive_file").value_or(0) +
                            field_in(stat, prefix + "active_file").value_or(0);
    least = std::min(least, *n_most - *n_used + of_files);
  };
  for (const fs::path& group : groups_v2(root))
    limit(group / "memory.max", group / "memory.current", group / "memory.stat", "");
  for (const fs::path& group : memory_groups_v1(root))
    limit(group / "memory.limit_in_bytes", group / "memory.usage_in_bytes", group / "memory.stat",
          "total_");
  for (const auto& [name, used] : kProcessLimits)
    if (const auto most = process_limit(root, name))
      least = std::min(least, *most - 1024 * field_in(root / "proc/self/status", used).value_or(0));
  if (std::isinf(least)) return std::nullopt;
  return static_cast<uint64_t>(std::max(0.0, least));
}

std::string size_text(uint64_t n_bytes) {
  const auto n = static_cast<double>(n_bytes);
  constexpr double kMost = 1023.95;  // of a unit: more is written as 1024.0
  return n < 0x1p10           ? fmt::format("{} bytes", n_bytes)
         : n < kMost * 0x1p10 ? fmt::format("{:.1f} KiB", n * 0x1p-10)
         : n < kMost * 0x1p20 ? fmt::format("{:.1f} MiB", n * 0x1p-20)
                              : fmt::format("{:.1f} GiB", n * 0x1p-30);
}

std::string bytes_text(uint64_t n_bytes) {
  const std::string size = size_text(n_bytes);
  return n_bytes < 1024 ? size : fmt::format("{} bytes ({})", n_bytes, size);
}

std::string free_text() {
  const std::optional<uint64_t> free = available_memory();
  return free ? fmt::format("{} are available", bytes_text(*free))
              : std::string("how much is available is unknown");
}

std::string shortage_text(uint64_t n_needed) {
  return fmt::format("{} are needed, and {}", bytes_text(n_needed), free_text());
}

std::optional<double> busy_processor_seconds(const fs::path& root) {
  std::ifstream file(root / "proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0, stolen = 0;
  if (!(file >> name >> user >> nice >> system >> idle >> waiting >> irq >> soft_irq >> stolen) ||
      name != "cpu")
    return std::nullopt;
  return (user + nice + system + irq + soft_irq + stolen) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

}  // namespace pando
