// Some ranks of a run by themselves.
#pragma once

#include "comm/comm.h"

namespace pando {

// The ranks from `first` on, `size` of them, numbered from 0. The end of one of these.
class GroupComm final : public Comm {
 public:
  // `all`, the end of the same rank, outlives it.
  GroupComm(Comm& all, int first, int size) : all_(all), first_(first), size_(size) {}
  int rank() const override { return all_.rank() - first_; }
  int size() const override { return size_; }

  void send(int to, std::span<const std::byte> bytes) override { all_.send(first_ + to, bytes); }
  void receive(int from, std::span<std::byte> bytes) override {
    all_.receive(first_ + from, bytes);
  }
  void exchange(std::span<const int> peers, std::span<const std::span<const std::byte>> own,
                std::span<const std::span<std::byte>> theirs) override;
  void post(int to, std::vector<std::byte> bytes) override;
  bool has_message(int from) override { return all_.has_message(first_ + from); }
  // Ends all ranks, not the group alone.
  void abort(std::string_view why) noexcept override { all_.abort(why); }
  void set_last_words(std::chrono::milliseconds time) override { all_.set_last_words(time); }

 private:
  Comm& all_;
  int first_, size_;
};

}  // namespace pando
