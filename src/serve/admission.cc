#include "serve/admission.h"

#include <algorithm>
#include <cmath>

#include "ask/body_checks.h"
#include "ask/sampling_fields.h"
#include "base/counted.h"
#include "base/errors.h"

namespace pando::serve {
namespace {

constexpr double kForgets = 1.0 / 16;  // weight of the latest job in the mean
constexpr size_t kBytesPerAnswer = 2048;
constexpr size_t kBytesPerLogprob = 128;  // measured, until its JSON is sent

}  // namespace

size_t bytes_of(const std::vector<Request>& requests) {
  size_t n_bytes = 0;
  for (const Request& request : requests) {
    for (const std::vector<Token>& begun : request.begun) n_bytes += begun.size() * sizeof(Token);
    n_bytes +=
        sizeof(Request) + request.prompt.size() +
        (request.tokens.size() + request.alternatives.size()) * sizeof(Token) +
        ask::list_bytes(request.sampling) +
        (static_cast<size_t>(request.sampling.n) + request.alternatives.size()) * kBytesPerAnswer +
        ask::logprob_count(request) * kBytesPerLogprob;
  }
  return n_bytes;
}

Result<Admission::Place> Admission::enter(size_t n_bytes, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (n_jobs_ > 0 && n_bytes_ + n_bytes > most_bytes_)
    return make_error(ErrorCode::kUnavailable,
                      "the server's memory for requests is full: this request needs {}, and {} "
                      "already {} {}; the limit is {} (hint: try again later)",
                      counted(n_bytes, "bytes"), counted(n_jobs_, "open requests"),
                      n_jobs_ == 1 ? "takes" : "take", n_bytes_, most_bytes_);
  ++n_jobs_;
  n_bytes_ += n_bytes;
  return Place(this, n_bytes, now);
}

void Admission::leave(const Place& place) {
  const std::chrono::duration<double> seconds = Clock::now() - place.since_;
  const std::lock_guard lock(mutex_);
  --n_jobs_;
  n_bytes_ -= place.n_bytes_;
  if (place.is_let_in_) job_seconds_ += kForgets * (seconds.count() - job_seconds_);
}

int Admission::retry_after() const {
  const std::lock_guard lock(mutex_);
  const double seconds = job_seconds_ / static_cast<double>(std::max<size_t>(n_jobs_, 1));
  return static_cast<int>(std::clamp(std::ceil(seconds), 1.0, 60.0));
}

}  // namespace pando::serve
