#include "cli/line_writer.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

namespace pando::cli {
namespace {

// Reads once; false where nothing comes for a minute.
bool read_more(int file, std::string& all) {
  pollfd ready{.fd = file, .events = POLLIN, .revents = 0};
  char part[1 << 16];
  if (::poll(&ready, 1, /*timeout=*/60'000) != 1) return false;
  const ssize_t n = ::read(file, part, sizeof part);
  if (n > 0) all.append(part, static_cast<size_t>(n));
  return n > 0;
}

// The writer's thread may write on after its end, so the pipe stays open until all has come.
TEST(LineWriter, WritesWhatIsPutInOrder) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  {
    LineWriter writer(ends[1]);
    for (int i = 0; i < 100; ++i) writer.put(std::to_string(i) + "\n");
  }
  std::string expected, all;
  for (int i = 0; i < 100; ++i) expected += std::to_string(i) + "\n";
  while (all.size() < expected.size() && read_more(ends[0], all)) {
  }
  ::close(ends[1]);
  EXPECT_FALSE(read_more(ends[0], all)) << "nothing follows";
  EXPECT_EQ(all, expected);
  ::close(ends[0]);
}

// Lines that came, and those that were said to be dropped.
int64_t n_accounted(const std::string& text) {
  const std::string said = "log lines dropped, because nothing read them in time: ";
  int64_t n = std::count(text.begin(), text.end(), '\n');
  for (size_t at = 0; (at = text.find(said, at)) != std::string::npos; at += said.size()) {
    if (text.find('\n', at) == std::string::npos) return 0;  // half of a message
    n += std::stoll(text.substr(at + said.size(), 20)) - 1;
  }
  return n;
}

TEST(LineWriter, WaitsForNobodyWhoDoesNotRead) {
  constexpr int kLines = 5000;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string line = std::string(999, 'x') + "\n";
  auto writer = std::make_unique<LineWriter>(ends[1]);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLines; ++i) writer->put(line);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  writer.reset();  // does not hang either
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  std::string all;
  while (n_accounted(all) < kLines && read_more(ends[0], all)) {
  }
  EXPECT_EQ(n_accounted(all), kLines);
  EXPECT_NE(all.find("log lines dropped, because nothing read them in time: "), std::string::npos);
  EXPECT_LT(all.size(), size_t{3} << 20);
  ::close(ends[1]);
  ::close(ends[0]);
}

}  // namespace
}  // namespace pando::cli
