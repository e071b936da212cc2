// The replicas that have stored responses.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

namespace pando::serve {

// Keeps the latest ones. For others the replicas are asked one after the other. Any thread.
class ResponsePlaces {
 public:
  explicit ResponsePlaces(size_t most) : most_(most) {}

  void add(const std::string& response, const std::string& replica) {
    const std::lock_guard lock(mutex_);
    if (!places_.insert_or_assign(response, replica).second) return;
    order_.push_back(response);
    if (order_.size() <= most_) return;
    places_.erase(order_.front());
    order_.pop_front();
  }
  // The replica's name; empty: not known.
  std::string find(const std::string& response) const {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(response);
    return found == places_.end() ? std::string() : found->second;
  }

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::string> places_;
  std::deque<std::string> order_;  // the oldest first
};

}  // namespace pando::serve
