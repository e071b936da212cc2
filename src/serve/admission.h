// Whether there is room for what a request will need.
#pragma once

#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "pando/request.h"
#include "pando/result.h"

namespace pando::serve {

// What a job is predicted to take.
struct Demand {
  size_t kv_tokens = 0;  // of keys and values
  size_t bytes = 0;      // of the server's own memory
};

// Counts what the requests that are open will need. Any thread.
class Admission {
 public:
  using Clock = std::chrono::steady_clock;

  // Room for so much at a time, but always for one job.
  explicit Admission(Demand most) : most_(most) {}

  // As though nothing of the prompts were cached; what one begins with like the one before it
  // counts once. How long answers get is predicted from those that have ended, up to max_tokens.
  Demand demand_of(const std::vector<Request>& requests) const;

  // A job that was let in, until this goes.
  class Place {
   public:
    Place(Admission* admission, Demand demand) : admission_(admission), demand_(demand) {}
    Place(Place&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)), demand_(other.demand_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (admission_ != nullptr) admission_->leave(demand_, Clock::now());
    }

   private:
    Admission* admission_;
    Demand demand_;
  };
  // Errors: kUnavailable.
  Result<Place> enter(Demand demand);

  // An answer has ended after so many tokens.
  void learn(size_t n_tokens);
  // Seconds until there will be room for this much, as things went lately; 1 to 60.
  int retry_after(Demand demand, Clock::time_point now = Clock::now()) const;

  Demand taken() const;
  Demand most() const { return most_; }

 private:
  void leave(Demand demand, Clock::time_point now);
  double rate_at(Clock::time_point now) const;

  const Demand most_;
  mutable std::mutex mutex_;
  Demand taken_;
  size_t n_jobs_ = 0;
  double answer_len_ = 128;  // mean, the latest ones count most
  double rate_ = 0;          // tokens of keys and values that become free each second
  Clock::time_point rate_as_of_;
};

}  // namespace pando::serve
