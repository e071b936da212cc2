#include "batch/time_left.h"

#include <algorithm>

namespace pando {

std::optional<double> time_left(const BatchProgress& now, const Asked& asked) {
  const EngineStats& e = now.stats;
  const auto done = static_cast<double>(e.prefill_rows + e.decode_rows);
  const double share = asked.share_of_input - now.share_earlier;
  if (done == 0 || share <= 0 || asked.answers == 0) return std::nullopt;
  const double tokens_each =
      asked.answered > 0
          ? static_cast<double>(e.generated_tokens) / static_cast<double>(asked.answered)
          : static_cast<double>(asked.most_tokens) / static_cast<double>(asked.answers);
  const double expected = static_cast<double>(e.arrived_tokens - e.arrived_shared) +
                          static_cast<double>(asked.answers) * tokens_each;
  const double all = now.stopping ? expected : expected * (1 - now.share_earlier) / share;
  return now.seconds * std::max(0.0, all - done) / done;
}

}  // namespace pando
