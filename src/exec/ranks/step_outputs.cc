#include "exec/ranks/step_outputs.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "base/fault.h"

namespace pando::exec {

void LogitStream::receive_block() {
  const size_t n = std::min(kLogitBlock, n_rows_ - n_received_), n_kept = kept_.size();
  kept_.resize(n_kept + n * width());
  comm_->receive(rank_, std::as_writable_bytes(std::span(kept_).subspan(n_kept)));
  n_received_ += n;
}

const float* LogitStream::row(size_t i) {
  PANDO_CHECK(i < n_rows_ && i + kept_.size() / width() >= n_received_);
  while (i >= n_received_) {
    kept_.clear();
    receive_block();
  }
  return kept_.data() + kept_.size() - (n_received_ - i) * width();
}

void LogitStream::receive_rest() {
  while (n_received_ < n_rows_) receive_block();
}

void LogitStream::drop_rest() {
  while (n_received_ < n_rows_) {
    kept_.clear();
    receive_block();
  }
}

void StepOutputs::receive_logits(size_t first, size_t n, size_t vocab, float* out) {
  for (size_t i = 0; i < n; ++i, out += vocab) {
    const Place place = places[first + i];
    if (place.row == kNotRead) continue;
    for (LogitStream& stream : streams[place.part]) {
      const auto [begin, end] = stream.columns();
      const bool is_early = begin > 0 && fault_on(Fault::kLogitSliceEarly);
      std::copy_n(stream.row(place.row), end - begin, out + begin - (is_early ? 1 : 0));
    }
  }
}

void StepOutputs::receive_rest() {
  for (std::vector<LogitStream>& of_part : streams)
    for (LogitStream& stream : of_part) stream.receive_rest();
}

void StepOutputs::drop_rest() {
  for (std::vector<LogitStream>& of_part : streams)
    for (LogitStream& stream : of_part) stream.drop_rest();
}

}  // namespace pando::exec
