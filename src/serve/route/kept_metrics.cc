#include "serve/route/kept_metrics.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace pando::serve {
namespace {

// A text that stays the same while a process runs; empty if there is none.
std::string_view start_of_process(std::string_view text) {
  constexpr std::string_view kLine = "\nprocess_start_time_seconds ";
  const size_t at = text.find(kLine);
  if (at == text.npos) return {};
  text.remove_prefix(at + kLine.size());
  return text.substr(0, text.find('\n'));
}

}  // namespace

void KeptMetrics::keep(const std::string& replica, std::string text) {
  const std::lock_guard lock(mutex_);
  Kept& kept = kept_[replica];
  if (start_of_process(kept.text) != start_of_process(text))
    past_.add(kept.text, /*totals_only=*/true);
  kept = {std::move(text), ++n_turns_};
  if (kept_.size() <= most_) return;
  const auto oldest =
      std::ranges::min_element(kept_, {}, [](const auto& one) { return one.second.turn; });
  past_.add(oldest->second.text, /*totals_only=*/true);
  kept_.erase(oldest);
}

std::string KeptMetrics::text(const std::set<std::string>& present) const {
  const std::lock_guard lock(mutex_);
  MetricSums sums;
  for (const bool is_present : {true, false})
    for (const auto& [replica, kept] : kept_)
      if (present.contains(replica) == is_present) sums.add(kept.text, !is_present);
  sums.add(past_.text(), /*totals_only=*/true);
  return sums.text();
}

}  // namespace pando::serve
