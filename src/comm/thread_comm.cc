#include "comm/thread_comm.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/check.h"

namespace pando {

class ThreadComms::End final : public Comm {
 public:
  End(ThreadComms& all, int rank, int size) : all_(all), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::span<const std::byte> bytes) override {
    post(to, {bytes.begin(), bytes.end()});
  }

  void post(int to, std::vector<std::byte> bytes) override {
    const std::scoped_lock lock(all_.mutex_);
    all_.boxes_[to * size_ + rank_].messages.push_back(std::move(bytes));
    all_.arrived_.notify_all();
  }

  bool has_message(int from) override {
    const std::scoped_lock lock(all_.mutex_);
    const bool is_empty = all_.boxes_[rank_ * size_ + from].messages.empty();
    if (is_empty && all_.failed_) throw std::runtime_error("another rank has failed");
    return !is_empty;
  }

  void receive(int from, std::span<std::byte> bytes) override {
    std::unique_lock lock(all_.mutex_);
    std::deque<std::vector<std::byte>>& messages = all_.boxes_[rank_ * size_ + from].messages;
    all_.arrived_.wait(lock, [&] { return !messages.empty() || all_.failed_; });
    if (messages.empty()) throw std::runtime_error("another rank has failed");
    const std::vector<std::byte> message = std::move(messages.front());
    messages.pop_front();
    lock.unlock();
    PANDO_CHECK(message.size() == bytes.size());
    std::ranges::copy(message, bytes.begin());
  }

  void exchange(std::span<const int> peers, std::span<const std::span<const std::byte>> own,
                std::span<const std::span<std::byte>> theirs) override {
    for (size_t i = 0; i < peers.size(); ++i) send(peers[i], own[i]);
    for (size_t i = 0; i < peers.size(); ++i) receive(peers[i], theirs[i]);
  }

  void abort(std::string_view) noexcept override { all_.fail(); }

 private:
  ThreadComms& all_;
  int rank_, size_;
};

ThreadComms::ThreadComms(int n_ranks) : boxes_(n_ranks * n_ranks) {
  for (int rank = 0; rank < n_ranks; ++rank)
    ends_.push_back(std::make_unique<End>(*this, rank, n_ranks));
}

ThreadComms::~ThreadComms() = default;

Comm& ThreadComms::of(int rank) { return *ends_[rank]; }

void ThreadComms::fail() {
  const std::scoped_lock lock(mutex_);
  failed_ = true;
  arrived_.notify_all();
}

}  // namespace pando
