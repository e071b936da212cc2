// Limits of open requests for each client.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace pando::serve {

// Any thread.
class KeyLimits {
 public:
  explicit KeyLimits(int most_open) : most_open_(most_open) {}  // 0: no limit

  // An open request, while it exists.
  class Place {
   public:
    Place(KeyLimits* limits, uint64_t key) : limits_(limits), key_(key) {}
    Place(Place&& other) noexcept
        : limits_(std::exchange(other.limits_, nullptr)), key_(other.key_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (limits_ != nullptr) limits_->leave(key_);
    }

   private:
    KeyLimits* limits_;
    uint64_t key_;
  };
  // Nothing if the key has as many as it may.
  std::optional<Place> enter(uint64_t key) {
    const std::lock_guard lock(mutex_);
    int& n_open = n_open_[key];
    if (most_open_ > 0 && n_open >= most_open_) return std::nullopt;
    ++n_open;
    return std::optional<Place>(std::in_place, this, key);
  }
  int most_open() const { return most_open_; }

 private:
  void leave(uint64_t key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = n_open_.find(key); --found->second == 0) n_open_.erase(found);
  }

  const int most_open_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, int> n_open_;
};

}  // namespace pando::serve
