#include "engine/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace pando {

std::string StopMatcher::push(const std::string& text, bool may_stop) {
  held_ += text;
  if (!may_stop) n_passed_ = held_.size();
  // The match that ends first, the longest of these: the same wherever the pieces were cut.
  size_t begin = 0, end = std::string::npos;
  const std::string* match = nullptr;
  for (const std::string& stop : *stops_) {
    const size_t first = n_passed_ + 1 - std::min(n_passed_ + 1, stop.size());
    const size_t at = held_.find(stop, first);
    if (at == std::string::npos || at + stop.size() > end) continue;
    if (at + stop.size() == end && begin <= at) continue;
    begin = at;
    end = at + stop.size();
    match = &stop;
  }
  if (match != nullptr) {
    match_ = match;
    held_.resize(begin);
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
  n_passed_ -= std::min(n_passed_, safe.size());
  return safe;
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

}  // namespace pando
