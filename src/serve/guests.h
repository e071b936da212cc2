// The connections that are open.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace pando::serve {

struct Guest {
  boost::asio::any_io_executor executor;
  // Used on the executor; empty while nobody serves it.
  std::function<void()> on_drain, on_cut;
};

// Any thread.
class Guests {
 public:
  // Counts a connection until this goes.
  class Visit {
   public:
    Visit(Guests* guests, std::shared_ptr<Guest> guest)
        : guests_(guests), guest_(std::move(guest)) {}
    Visit(Visit&&) noexcept = default;
    Visit& operator=(Visit&&) = delete;
    ~Visit() {
      if (guest_) guests_->leave(guest_);
    }
    Guest& guest() const { return *guest_; }

   private:
    Guests* guests_;
    std::shared_ptr<Guest> guest_;
  };
  Visit enter(boost::asio::any_io_executor executor) {
    auto guest = std::make_shared<Guest>();
    guest->executor = std::move(executor);
    const std::lock_guard lock(mutex_);
    guests_.insert(guest);
    return {this, guest};
  }
  // Tells each to go when it has what it asked for.
  void drain() { tell(&Guest::on_drain); }
  // Tells each to go.
  void cut() { tell(&Guest::on_cut); }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return guests_.size();
  }

 private:
  void leave(const std::shared_ptr<Guest>& guest) {
    const std::lock_guard lock(mutex_);
    guests_.erase(guest);
  }
  void tell(std::function<void()> Guest::*what) {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<Guest>& guest : guests_)
      boost::asio::post(guest->executor, [guest, what] {
        if (const auto& told = (*guest).*what) told();
      });
  }

  mutable std::mutex mutex_;
  std::set<std::shared_ptr<Guest>> guests_;
};

}  // namespace pando::serve
