#include "comm/group_comm.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "comm/thread_comm.h"

namespace pando {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// Ranks 2, 3 and 4 of five.
class GroupOfThree : public ::testing::Test {
 protected:
  ThreadComms all_{5};
  std::array<GroupComm, 3> group_{GroupComm(all_.of(2), 2, 3), GroupComm(all_.of(3), 2, 3),
                                  GroupComm(all_.of(4), 2, 3)};
};

TEST_F(GroupOfThree, CountsItsOwnRanks) {
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(group_[rank].rank(), rank);
    EXPECT_EQ(group_[rank].size(), 3);
  }
}

TEST_F(GroupOfThree, SpeaksToItsOwnRanks) {
  send_message(group_[0], 2, bytes_of("of the group"));
  send_message(all_.of(2), 2, bytes_of("of all"));
  EXPECT_EQ(receive_message(all_.of(4), 2), bytes_of("of the group"));
  EXPECT_EQ(receive_message(group_[0], 0), bytes_of("of all"));
}

TEST_F(GroupOfThree, ExchangesAmongItsOwnRanks) {
  std::vector<std::thread> threads;
  std::array<std::array<std::byte, 2>, 3> found{};
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      const std::array peers{(rank + 1) % 3, (rank + 2) % 3};
      const std::byte own{static_cast<unsigned char>(rank)};
      const std::array<std::span<std::byte>, 2> theirs{std::span(&found[rank][0], 1),
                                                       std::span(&found[rank][1], 1)};
      const std::array<std::span<const std::byte>, 2> to_each{std::span(&own, 1),
                                                              std::span(&own, 1)};
      group_[rank].exchange(peers, to_each, theirs);
    });
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(std::to_integer<int>(found[rank][0]), (rank + 1) % 3);
    EXPECT_EQ(std::to_integer<int>(found[rank][1]), (rank + 2) % 3);
  }
}

TEST_F(GroupOfThree, WhatIsPostedComesInOrderAndIsSeen) {
  EXPECT_FALSE(group_[1].has_message(0));
  post_message(group_[0], 1, bytes_of("first"));
  post_message(group_[0], 1, bytes_of(""));
  EXPECT_FALSE(group_[1].has_message(2));
  for (const char* text : {"first", ""}) {
    EXPECT_TRUE(group_[1].has_message(0));
    EXPECT_EQ(receive_message(group_[1], 0), bytes_of(text));
  }
  EXPECT_FALSE(group_[1].has_message(0));
}

TEST_F(GroupOfThree, WhoAsksARankThatFailedHearsOfIt) {
  post_message(group_[0], 1, bytes_of("last"));
  all_.fail();
  EXPECT_TRUE(group_[1].has_message(0));
  EXPECT_EQ(receive_message(group_[1], 0), bytes_of("last"));
  EXPECT_THROW(static_cast<void>(group_[1].has_message(0)), std::runtime_error);
}

}  // namespace
}  // namespace pando
