#include "lab/papers/serve_workload.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <random>
#include <string>

#include "base/errors.h"
#include "lab/experiment.h"

namespace pando::lab {
namespace {

// "2023-11-16 18:15:46.6805900,374,44"; false for another line. Seconds since 1970.
bool read_line(const std::string& line, TraceLine& read) {
  int year = 0, n_chars = 0;
  unsigned month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  if (std::sscanf(line.c_str(), "%d-%u-%u %u:%u:%lf,%u,%u%n", &year, &month, &day, &hour, &minute,
                  &second, &read.n_prompt, &read.n_answer, &n_chars) != 8 ||
      line.find_first_not_of("\r", static_cast<size_t>(n_chars)) != std::string::npos)
    return false;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return false;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  read.seconds = (days * 24.0 + hour) * 3600 + minute * 60 + second;
  return true;
}

}  // namespace

std::vector<TraceLine> read_trace(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw BenchmarkError(io_error("cannot read {}", path.string()));
  std::vector<TraceLine> lines;
  std::string line;
  std::getline(file, line);  // names of the columns
  for (size_t n = 2; std::getline(file, line); ++n) {
    TraceLine& read = lines.emplace_back();
    if (!read_line(line, read))
      throw BenchmarkError(bad_file(
          "{}, line {}: '{}', expected TIMESTAMP,ContextTokens,GeneratedTokens as in 2023-11-16 "
          "18:15:46.68,374,44",
          path.string(), n, line));
    if (n > 2 && read.seconds < lines[n - 3].seconds)
      throw BenchmarkError(
          bad_file("{}, line {}: comes before the line above it", path.string(), n));
  }
  for (size_t i = lines.size(); i-- > 0;) lines[i].seconds -= lines[0].seconds;
  return lines;
}

std::vector<TraceLine> poisson_trace(size_t n, uint64_t seed) {
  const ChatMix mix;
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(1);
  std::uniform_int_distribution<uint32_t> prompt(mix.least_prompt, mix.most_prompt),
      answer(mix.least_answer, mix.most_answer);
  std::vector<TraceLine> lines(n);
  double now = 0;
  for (TraceLine& line : lines) {
    line = {now, prompt(random) * mix.divisor, answer(random) * mix.divisor};
    now += gap(random);
  }
  return lines;
}

std::vector<ServedRequest> draw_requests(const std::vector<TraceLine>& trace, const ChatMix& mix,
                                         double rate, double seconds, uint64_t seed) {
  const auto n = static_cast<size_t>(std::max(1.0, std::round(rate * seconds)));
  if (n >= trace.size())
    throw BenchmarkError(
        invalid_argument("{} requests of a trace of {}, expected fewer: {} a "
                         "second are more than this benchmark is for",
                         n, trace.size(), rate));
  std::mt19937_64 random(seed);
  const size_t from = random() % (trace.size() - n);
  const double begin = trace[from].seconds, span = trace[from + n].seconds - begin;
  std::vector<ServedRequest> requests;
  for (size_t i = 0; i < n; ++i) {
    const TraceLine& line = trace[from + i];
    requests.push_back(
        {.arrival = span > 0 ? (line.seconds - begin) / span * seconds : 0,
         .n_prompt = std::clamp(line.n_prompt / mix.divisor, mix.least_prompt, mix.most_prompt),
         .n_answer = std::clamp(line.n_answer / mix.divisor, mix.least_answer, mix.most_answer)});
  }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  const double n_long = std::round(mix.long_share * static_cast<double>(n));
  order.resize(static_cast<size_t>(mix.long_share > 0 ? std::max(1.0, n_long) : 0));
  const double times = static_cast<double>(mix.most_long) / mix.least_long;
  for (size_t i = 0; i < order.size(); ++i) {
    const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(order.size());
    requests[order[i]].is_long = true;
    requests[order[i]].n_prompt =
        static_cast<uint32_t>(std::lround(mix.least_long * std::pow(times, part)));
  }
  return requests;
}

}  // namespace pando::lab
