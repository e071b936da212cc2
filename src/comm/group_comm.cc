#include "comm/group_comm.h"

#include <utility>

namespace pando {

void GroupComm::exchange(std::span<const int> peers,
                         std::span<const std::span<const std::byte>> own,
                         std::span<const std::span<std::byte>> theirs) {
  std::vector<int> of_all(peers.begin(), peers.end());
  for (int& peer : of_all) peer += first_;
  all_.exchange(of_all, own, theirs);
}

void GroupComm::post(int to, std::vector<std::byte> bytes) {
  all_.post(first_ + to, std::move(bytes));
}

}  // namespace pando
