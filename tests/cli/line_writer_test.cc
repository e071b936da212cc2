#include "cli/line_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

namespace pando::cli {
namespace {

std::string read_all(int file) {
  std::string all;
  char part[4096];
  for (ssize_t n; (n = ::read(file, part, sizeof part)) > 0;)
    all.append(part, static_cast<size_t>(n));
  return all;
}

TEST(LineWriter, WritesWhatIsPutInOrder) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  {
    LineWriter writer(ends[1]);
    for (int i = 0; i < 100; ++i) writer.put(std::to_string(i) + "\n");
  }
  ::close(ends[1]);
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(read_all(ends[0]), expected);
  ::close(ends[0]);
}

TEST(LineWriter, WaitsForNobodyWhoDoesNotRead) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string line = std::string(999, 'x') + "\n";
  auto writer = std::make_unique<LineWriter>(ends[1]);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 5000; ++i) writer->put(line);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  writer.reset();  // does not hang either
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  std::string all;
  std::thread reader([&] { all = read_all(ends[0]); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::close(ends[1]);
  reader.join();
  EXPECT_NE(all.find("log lines dropped, because nothing read them in time: "), std::string::npos);
  EXPECT_LT(all.size(), size_t{3} << 20);
  ::close(ends[0]);
}

}  // namespace
}  // namespace pando::cli
