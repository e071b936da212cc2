// The memory that the bodies of requests take together, and its limit.
#pragma once

#include <atomic>
#include <cstddef>

namespace pando::serve {

// From their first byte until what they ask for is known. Any thread.
class BodyMemory {
 public:
  // Room for so many bytes at a time, but always for one body.
  explicit BodyMemory(size_t most_bytes) : most_bytes_(most_bytes) {}

  size_t n_bytes() const { return n_bytes_; }  // of all

  // Holds the share of one body.
  class Share {
   public:
    explicit Share(BodyMemory& memory) : memory_(memory) {}
    ~Share() { memory_.n_bytes_ -= n_bytes_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // So many bytes have come, no fewer than before. False where that is too much.
    bool grow_to(size_t n_bytes) {
      const size_t n_all = memory_.n_bytes_ += n_bytes - n_bytes_;
      n_bytes_ = n_bytes;
      return n_all <= memory_.most_bytes_ || n_all == n_bytes_;
    }

   private:
    BodyMemory& memory_;
    size_t n_bytes_ = 0;
  };

 private:
  const size_t most_bytes_;
  std::atomic<size_t> n_bytes_{0};
};

}  // namespace pando::serve
