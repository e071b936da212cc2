#include "batch/time_left.h"

#include <algorithm>

namespace pando {

std::optional<double> time_left(const BatchProgress& now, const SubmittedWork& submitted) {
  const EngineStats& e = now.stats;
  const auto done = static_cast<double>(e.prefill_rows + e.decode_rows);
  const double share = submitted.share_of_input - now.share_earlier;
  if (done == 0 || share <= 0 || submitted.answers == 0) return std::nullopt;
  // Tokens of all answers for each that has ended: those that end first are the short ones.
  const double most_each =
      static_cast<double>(submitted.most_tokens) / static_cast<double>(submitted.answers);
  const double tokens_each = submitted.answered > 0
                                 ? std::min(most_each, static_cast<double>(e.decode_rows) /
                                                           static_cast<double>(submitted.answered))
                                 : most_each;
  const double expected = static_cast<double>(e.arrived_tokens - e.arrived_shared) +
                          static_cast<double>(submitted.answers) * tokens_each;
  const double all = now.stopping ? expected : expected * (1 - now.share_earlier) / share;
  return now.seconds * std::max(0.0, all - done) / done;
}

}  // namespace pando
