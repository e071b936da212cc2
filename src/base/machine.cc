#include "base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <thread>
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

// The process's control group in version 2 and all above it, nearest first.
std::vector<fs::path> groups_v2(const fs::path& root) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::/")) continue;
    std::vector<fs::path> groups;
    for (fs::path at = line.substr(4);; at = at.parent_path()) {
      groups.push_back(root / "sys/fs/cgroup" / at);
      if (at.empty()) return groups;
    }
  }
  return {root / "sys/fs/cgroup"};
}

}  // namespace

int available_processors(const fs::path& root) {
  cpu_set_t set;
  double n = sched_getaffinity(0, sizeof set, &set) == 0  // fails on more than 1,024 processors
                 ? CPU_COUNT(&set)
                 : std::max(1u, std::thread::hardware_concurrency());
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

std::optional<uint64_t> total_memory(const fs::path& root) {
  double least = std::numeric_limits<double>::infinity();
  if (const auto all = field_in(root / "proc/meminfo", "MemTotal:")) least = *all * 1024;
  std::vector<fs::path> limits = {root / "sys/fs/cgroup/memory/memory.limit_in_bytes"};
  for (const fs::path& group : groups_v2(root)) limits.push_back(group / "memory.max");
  for (const fs::path& limit : limits)
    if (const auto most = number_in(limit)) least = std::min(least, *most);
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
  const fs::path v1 = root / "sys/fs/cgroup/memory";
  limit(v1 / "memory.limit_in_bytes", v1 / "memory.usage_in_bytes", v1 / "memory.stat", "total_");
  if (std::isinf(least)) return std::nullopt;
  return static_cast<uint64_t>(std::max(0.0, least));
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

}  // namespace pando
