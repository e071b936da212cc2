#include "serve/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "serve/single_metric.h"

namespace pando::serve {
namespace {

using prometheus::MetricType;

// Holds fields of proc_pid_stat(5); times in ticks of the system's clock.
struct ProcessStat {
  double user_ticks = 0, system_ticks = 0, n_threads = 0, start_ticks = 0, virtual_bytes = 0,
         resident_pages = 0;
};

std::optional<ProcessStat> process_stat() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // Field 2 is the program's name in parentheses, with whatever is in it; field 3 follows.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(name_end + 1));
  constexpr size_t kFirst = 3, kLast = 24;
  std::vector<std::string> fields(kFirst);
  for (std::string field; fields.size() <= kLast && rest >> field;)
    fields.push_back(std::move(field));
  if (fields.size() <= kLast) return std::nullopt;
  const auto number = [&](size_t i) { return std::strtod(fields[i].c_str(), nullptr); };
  return ProcessStat{.user_ticks = number(14),
                     .system_ticks = number(15),
                     .n_threads = number(20),
                     .start_ticks = number(22),
                     .virtual_bytes = number(23),
                     .resident_pages = number(24)};
}

// Seconds since 1970.
std::optional<double> machine_start() {
  std::ifstream file("/proc/stat");
  for (std::string name, rest; file >> name; std::getline(file, rest))
    if (double seconds = 0; name == "btime" && file >> seconds) return seconds;
  return std::nullopt;
}

// Without the one that it takes to count them.
std::optional<double> open_files() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return std::nullopt;
  return static_cast<double>(std::distance(begin(files), end(files)) - 1);
}

}  // namespace

std::vector<prometheus::MetricFamily> process_metrics() {
  std::vector<prometheus::MetricFamily> families;
  const auto gauge = [&](const char* name, const char* help, double value) {
    families.push_back(single_metric(name, help, MetricType::Gauge, value));
  };
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (const std::optional<ProcessStat> stat = process_stat()) {
    families.push_back(single_metric(
        "process_cpu_seconds_total", "User and system CPU time of the process, in seconds",
        MetricType::Counter, (stat->user_ticks + stat->system_ticks) / ticks));
    gauge("process_resident_memory_bytes", "Resident memory of the process",
          stat->resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE)));
    gauge("process_virtual_memory_bytes", "Virtual memory of the process", stat->virtual_bytes);
    gauge("process_threads", "Threads of the process", stat->n_threads);
    if (const std::optional<double> start = machine_start())
      gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970",
            *start + stat->start_ticks / ticks);
  }
  if (const std::optional<double> n_open = open_files())
    gauge("process_open_fds", "Open file descriptors", *n_open);
  if (rlimit limit{}; getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    gauge("process_max_fds", "Maximum open file descriptors", static_cast<double>(limit.rlim_cur));
  return families;
}

}  // namespace pando::serve
