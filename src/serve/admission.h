// Admission says whether the server has room for a request, and when to ask again.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "pando/values/request.h"
#include "pando/values/result.h"

namespace pando::serve {

// The server's own memory that requests and their answers take, until they are over.
size_t bytes_of(const std::vector<Request>& requests);

// Counts the memory of open jobs, and how long jobs take. The memory for keys and values is the
// engine's affair. Any thread.
class Admission {
 public:
  using Clock = std::chrono::steady_clock;

  // Room for so many bytes at a time, but always for one job.
  explicit Admission(size_t most_bytes) : most_bytes_(most_bytes) {}

  // A job's bytes, until this goes.
  class Place {
   public:
    Place(Admission* admission, size_t n_bytes, Clock::time_point since)
        : admission_(admission), n_bytes_(n_bytes), since_(since) {}
    Place(Place&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)),
          n_bytes_(other.n_bytes_),
          since_(other.since_),
          is_let_in_(other.is_let_in_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (admission_ != nullptr) admission_->leave(*this);
    }
    // The engine has taken it up too.
    void let_in() { is_let_in_ = true; }

   private:
    friend class Admission;
    Admission* admission_;
    size_t n_bytes_;
    Clock::time_point since_;
    bool is_let_in_ = false;
  };
  // Errors: kUnavailable.
  Result<Place> enter(size_t n_bytes, Clock::time_point now = Clock::now());

  // Seconds until one of the open jobs ends, where they take as long as jobs did lately; 1 to 60.
  int retry_after() const;

 private:
  void leave(const Place& place);

  const size_t most_bytes_;
  mutable std::mutex mutex_;
  size_t n_bytes_ = 0, n_jobs_ = 0;
  double job_seconds_ = 1;  // mean of those that the engine took up, the latest ones count most
};

}  // namespace pando::serve
