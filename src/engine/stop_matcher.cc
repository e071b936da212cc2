#include "engine/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace pando {

std::string StopMatcher::push(const std::string& text) {
  held_ += text;
  size_t match = std::string::npos;
  for (const std::string& stop : *stops_) match = std::min(match, held_.find(stop));
  if (match != std::string::npos) {
    stopped_ = true;
    held_.resize(match);
    return finish();
  }
  size_t n_held = 0;  // the longest end of the text that begins a stop string
  for (const std::string& stop : *stops_) {
    size_t n = std::min(stop.size() - 1, held_.size());
    while (n > n_held && held_.compare(held_.size() - n, n, stop, 0, n) != 0) --n;
    n_held = std::max(n_held, n);
  }
  std::string safe = held_.substr(0, held_.size() - n_held);
  held_.erase(0, safe.size());
  return safe;
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

}  // namespace pando
