#include "bench/timing.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/machine.h"
#include "base/statistics.h"

namespace pando::bench {
namespace {

constexpr int kSamples = 11, kRounds = 9;

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds of n calls.
double timed(int n, FunctionRef<void()> call) {
  const double start = wall_seconds();
  for (int i = 0; i < n; ++i) call();
  return wall_seconds() - start;
}

// Number of calls that take about `seconds`. One call before does not count.
int calls_in(double seconds, FunctionRef<void()> call) {
  call();
  return static_cast<int>(std::clamp(seconds / std::max(timed(1, call), 1e-7), 1.0, 1e6));
}

double seconds_of_children() {
  rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::optional<double> seconds_of_others(const std::filesystem::path& root) {
  const std::optional<double> busy = busy_processor_seconds(root);
  if (!busy) return std::nullopt;
  return *busy - processor_seconds() - seconds_of_children();
}

}  // namespace

size_t bytes_beyond_caches() {
  constexpr long kLeast = 256L << 20;  // virtual machines may show smaller caches than there are
  return static_cast<size_t>(std::max(kLeast, 2 * sysconf(_SC_LEVEL3_CACHE_SIZE)));
}

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

OtherWork::OtherWork(std::filesystem::path root)
    : root_(std::move(root)),
      start_(std::chrono::steady_clock::now()),
      others_(seconds_of_others(root_)) {}

std::optional<double> OtherWork::share() const {
  const std::optional<double> others = seconds_of_others(root_);
  if (!others || !others_) return std::nullopt;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  const double all = elapsed.count() * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::clamp((*others - *others_) / all, 0.0, 1.0);
}

CallTime time_calls(double seconds, FunctionRef<void()> call) {
  const int n = calls_in(seconds / kSamples, call);
  std::vector<double> wall;
  const double busy = processor_seconds();
  for (int sample = 0; sample < kSamples; ++sample) wall.push_back(timed(n, call) / n);
  const double processor = (processor_seconds() - busy) / (kSamples * n);
  std::sort(wall.begin(), wall.end());
  const double middle = median(wall);
  return {middle, processor, (wall[kSamples * 3 / 4] - wall[kSamples / 4]) / middle};
}

std::vector<std::vector<double>> times_in_turn(double seconds,
                                               const std::vector<std::function<void()>>& calls) {
  std::vector<int> n;
  for (const auto& call : calls)
    n.push_back(calls_in(seconds / (kRounds * static_cast<double>(calls.size())), call));
  std::vector<std::vector<double>> times(calls.size());
  for (size_t round = 0; round < kRounds; ++round)
    for (size_t turn = 0; turn < calls.size(); ++turn) {
      const size_t i = (turn + round) % calls.size();
      times[i].push_back(timed(n[i], calls[i]) / n[i]);
    }
  return times;
}

double times_faster(const std::vector<double>& one, const std::vector<double>& other) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i)
    ratios.push_back(other[i] / one[i]);
  return median(std::move(ratios));
}

}  // namespace pando::bench
