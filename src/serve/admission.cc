#include "serve/admission.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"

namespace pando::serve {
namespace {

constexpr double kForgets = 1.0 / 64;  // weight of an answer's length in the mean
constexpr double kLonger = 2;          // answers are predicted to be so many times the mean
constexpr double kRateSeconds = 10;    // the rate is that of about so many seconds
constexpr size_t kBytesPerAnswer = 2048;

size_t n_in_common(const std::vector<Token>& a, const std::vector<Token>& b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

}  // namespace

Demand Admission::demand_of(const std::vector<Request>& requests) const {
  double answer_len;
  {
    const std::lock_guard lock(mutex_);
    answer_len = kLonger * answer_len_;
  }
  Demand demand;
  for (size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    const auto n = static_cast<size_t>(request.sampling.n);
    const double len = std::min<double>(request.sampling.max_tokens, answer_len);
    const size_t n_shared = i == 0 ? 0 : n_in_common(requests[i - 1].tokens, request.tokens);
    demand.kv_tokens +=
        request.tokens.size() - n_shared + n * static_cast<size_t>(std::max(len, 0.0));
    demand.bytes += sizeof(Request) + request.prompt.size() +
                    request.tokens.size() * sizeof(Token) + n * kBytesPerAnswer;
  }
  return demand;
}

Result<Admission::Place> Admission::enter(Demand demand) {
  const std::lock_guard lock(mutex_);
  const bool fits = taken_.kv_tokens + demand.kv_tokens <= most_.kv_tokens &&
                    taken_.bytes + demand.bytes <= most_.bytes;
  if (n_jobs_ > 0 && !fits)
    return make_error(ErrorCode::kUnavailable,
                      "{} requests are open, with {} tokens of keys and values; there is no room "
                      "for {} more (hint: try again later)",
                      n_jobs_, taken_.kv_tokens, demand.kv_tokens);
  ++n_jobs_;
  taken_.kv_tokens += demand.kv_tokens;
  taken_.bytes += demand.bytes;
  return Place(this, demand);
}

void Admission::leave(Demand demand, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  --n_jobs_;
  taken_.kv_tokens -= demand.kv_tokens;
  taken_.bytes -= demand.bytes;
  rate_ = rate_at(now) + static_cast<double>(demand.kv_tokens) / kRateSeconds;
  rate_as_of_ = now;
}

void Admission::learn(size_t n_tokens) {
  const std::lock_guard lock(mutex_);
  answer_len_ += kForgets * (static_cast<double>(n_tokens) - answer_len_);
}

double Admission::rate_at(Clock::time_point now) const {
  const std::chrono::duration<double> passed = now - rate_as_of_;
  return rate_ * std::exp(-std::max(passed.count(), 0.0) / kRateSeconds);
}

int Admission::retry_after(Demand demand, Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  const double wanted = static_cast<double>(taken_.kv_tokens + demand.kv_tokens);
  const double too_much = wanted - static_cast<double>(most_.kv_tokens);
  const double seconds = too_much > 0 ? too_much / std::max(rate_at(now), 1e-9) : 1;
  return static_cast<int>(std::clamp(std::ceil(seconds), 1.0, 60.0));
}

Demand Admission::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

}  // namespace pando::serve
