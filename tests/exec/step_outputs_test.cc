#include "exec/ranks/step_outputs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "comm/thread_comm.h"

namespace pando::exec {
namespace {

// Value of a column of a row of logits.
float value_of(size_t row, int column) { return static_cast<float>(100 * row + column); }

// Sends the rows' columns [begin, end) in blocks, and another message after them.
void send_rows(Comm& comm, std::pair<int, int> columns, size_t n_rows) {
  for (size_t first = 0; first < n_rows; first += kLogitBlock) {
    std::vector<float> block;
    for (size_t row = first; row < std::min(first + kLogitBlock, n_rows); ++row)
      for (int column = columns.first; column < columns.second; ++column)
        block.push_back(value_of(row, column));
    comm.send(0, std::as_bytes(std::span(block)));
  }
  const std::byte next{7};
  comm.send(0, std::span(&next, 1));
}

class StepOutputsTest : public ::testing::Test {
 protected:
  static constexpr size_t kRows = 70;

  StepOutputsTest() : comms_(3) {
    send_rows(comms_.of(1), {0, 3}, kRows);
    send_rows(comms_.of(2), {3, 5}, kRows);
    outputs_.streams.resize(1);
    outputs_.streams[0].emplace_back(comms_.of(0), 1, std::pair(0, 3), kRows);
    outputs_.streams[0].emplace_back(comms_.of(0), 2, std::pair(3, 5), kRows);
    for (uint32_t row = 0; row < kRows; ++row) {
      outputs_.places.push_back({0, row});
      outputs_.places.push_back({0, StepOutputs::kNotRead});
    }
  }
  // Of output 2 * row.
  void expect_row(size_t row) {
    std::vector<float> logits(2 * 5, -1.0f);
    outputs_.receive_logits(2 * row, 2, 5, logits.data());
    for (int column = 0; column < 5; ++column) {
      EXPECT_EQ(logits[column], value_of(row, column)) << row;
      EXPECT_EQ(logits[5 + column], -1.0f) << "a row that nobody reads";
    }
  }
  void expect_all_received() {
    for (const int rank : {1, 2}) {
      std::byte next{};
      comms_.of(0).receive(rank, std::span(&next, 1));
      EXPECT_EQ(next, std::byte{7});
    }
  }

  ThreadComms comms_;
  StepOutputs outputs_;
};

TEST_F(StepOutputsTest, JoinTheSlicesOfAllRanks) {
  for (size_t row = 0; row < kRows; ++row) expect_row(row);
  expect_all_received();
}

TEST_F(StepOutputsTest, PassOverRowsThatAreNotRead) {
  for (const size_t row : {1, 40, 64}) expect_row(row);
  outputs_.drop_rest();
  expect_all_received();
}

TEST_F(StepOutputsTest, KeepTheRestForLater) {
  expect_row(33);
  outputs_.receive_rest();
  expect_all_received();
  for (size_t row = 34; row < kRows; ++row) expect_row(row);
}

}  // namespace
}  // namespace pando::exec
