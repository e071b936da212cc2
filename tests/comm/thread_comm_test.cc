#include "comm/thread_comm.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace pando {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST(ThreadComm, MessagesKeepTheirOrder) {
  ThreadComms comms(2);
  std::thread sender([&] {
    for (const char* text : {"first", "", "third"}) send_message(comms.of(1), 0, bytes_of(text));
  });
  for (const char* text : {"first", "", "third"})
    EXPECT_EQ(receive_message(comms.of(0), 1), bytes_of(text));
  sender.join();
}

TEST(ThreadComm, RanksExchangeAtTheSameTime) {
  ThreadComms comms(3);
  std::vector<std::thread> threads;
  std::array<std::array<std::byte, 2>, 3> found{};
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      const std::array peers{(rank + 1) % 3, (rank + 2) % 3};
      const std::byte own{static_cast<unsigned char>(rank)};
      const std::array<std::span<const std::byte>, 2> to_each{std::span(&own, 1),
                                                              std::span(&own, 1)};
      const std::array<std::span<std::byte>, 2> theirs{std::span(&found[rank][0], 1),
                                                       std::span(&found[rank][1], 1)};
      comms.of(rank).exchange(peers, to_each, theirs);
    });
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(std::to_integer<int>(found[rank][0]), (rank + 1) % 3);
    EXPECT_EQ(std::to_integer<int>(found[rank][1]), (rank + 2) % 3);
  }
}

TEST(ThreadComm, WhoWaitsForARankThatFailsHearsOfIt) {
  ThreadComms comms(2);
  std::thread other([&] { comms.fail(); });
  EXPECT_THROW(receive_message(comms.of(0), 1), std::runtime_error);
  other.join();
}

}  // namespace
}  // namespace pando
