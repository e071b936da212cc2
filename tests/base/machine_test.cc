// Limits of machines and containers, from files as the kernel writes them.
#include "base/machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "model/test_files.h"

namespace pando::testing {
namespace {

class MachineTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::optional<uint64_t> memory() const { return available_memory(folder_.path()); }

  TemporaryFolder folder_;
};

TEST_F(MachineTest, ThisMachineHasSome) {
  EXPECT_GE(available_processors(), 1);
  EXPECT_GT(available_memory().value(), uint64_t{1} << 20);
}

TEST_F(MachineTest, NothingSaysAnything) {
  EXPECT_FALSE(memory());
  EXPECT_GE(available_processors(folder_.path()), 1);
}

TEST_F(MachineTest, TheLeastLimitCounts) {
  write("proc/meminfo", "MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:    8000 kB\n");
  EXPECT_EQ(memory(), 8000u * 1024);
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  write("sys/fs/cgroup/a/b/memory.current", "1000\n");
  EXPECT_EQ(memory(), 8000u * 1024);
  write("sys/fs/cgroup/a/memory.max", "5000000\n");
  write("sys/fs/cgroup/a/memory.current", "2000000\n");
  write("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 600000\nactive_file 400000\n");
  EXPECT_EQ(memory(), 4000000u);
  write("sys/fs/cgroup/a/memory.current", "9000000\n");
  EXPECT_EQ(memory(), 0u);
}

TEST_F(MachineTest, AllThatThereIs) {
  const auto all = [&] { return total_memory(folder_.path()); };
  EXPECT_FALSE(all());
  write("proc/meminfo", "MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:    8000 kB\n");
  EXPECT_EQ(all(), 9000u * 1024);
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  write("sys/fs/cgroup/a/memory.max", "5000000\n");
  EXPECT_EQ(all(), 5000000u);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000\n");
  EXPECT_EQ(all(), 3000000u);
  EXPECT_GE(total_memory().value(), available_memory().value());
}

TEST_F(MachineTest, LimitsOfTheProcess) {
  const auto all = [&] { return total_memory(folder_.path()); };
  write("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    8000 kB\n");
  const auto limit = [&](const std::string& addresses, const std::string& data) {
    write("proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units     \n"
          "Max data size             " +
              data +
              "            unlimited            bytes     \n"
              "Max address space         " +
              addresses + "            unlimited            bytes     \n");
  };
  write("proc/self/status", "VmPeak:\t 900 kB\nVmSize:\t    500 kB\nVmData:\t 100 kB\n");
  limit("unlimited", "unlimited");
  EXPECT_EQ(memory(), 8000u * 1024);
  limit("2048000", "unlimited");
  EXPECT_EQ(memory(), 1500u * 1024);
  EXPECT_EQ(all(), 2000u * 1024);
  limit("2048000", "1024000");
  EXPECT_EQ(memory(), 900u * 1024);
  limit("204800", "unlimited");
  EXPECT_EQ(memory(), 0u);
}

TEST_F(MachineTest, ShortagesInWords) {
  EXPECT_EQ(bytes_text(uint64_t{3} << 29), "1610612736 bytes (1.5 GiB)");
  EXPECT_EQ(bytes_text(uint64_t{1} << 30), "1073741824 bytes (1.0 GiB)");
  EXPECT_EQ(bytes_text(5 << 19), "2621440 bytes (2.5 MiB)");
  EXPECT_EQ(bytes_text(1536), "1536 bytes (1.5 KiB)");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(64 << 20), "64.0 MiB");
  EXPECT_EQ(size_text((1 << 20) - 1), "1.0 MiB");  // not 1024.0 KiB
  EXPECT_EQ(size_text((1 << 30) - 1), "1.0 GiB");
  const std::string text = shortage_text(5);
  EXPECT_TRUE(text.starts_with("5 bytes are needed, and ")) << text;
  EXPECT_TRUE(text.ends_with(" GiB) are available")) << text;
}

TEST_F(MachineTest, OlderControlGroups) {
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000\n");
  EXPECT_EQ(memory(), 2000000u);
  write("proc/self/cgroup", "5:cpu:/c\n9:memory:/a/b\n0::/\n");
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2500000\n");
  write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1000000\n");
  EXPECT_EQ(memory(), 1500000u);
  EXPECT_EQ(total_memory(folder_.path()), 2500000u);
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(available_processors(folder_.path()), 1);
}

TEST_F(MachineTest, AQuotaOfProcessors) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(available_processors(folder_.path()), available_processors());
  write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(available_processors(folder_.path()), 1);
}

TEST_F(MachineTest, SlowProcessorsDoNotCount) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const int n = CPU_COUNT(&allowed);
  int first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  const auto fast = [&] { return fast_processors(folder_.path()); };
  EXPECT_EQ(fast(), n);
  write("sys/devices/cpu_atom/cpus", fmt::format("{0}-{0},1500\n", first));
  EXPECT_EQ(fast(), std::max(1, n - 1));
  write("sys/devices/cpu_atom/cpus", "0-2000\n");
  EXPECT_EQ(fast(), n) << "there are no others";
  write("sys/devices/cpu_atom/cpus", "\n");
  write(fmt::format("sys/devices/system/cpu/cpu{}/cpu_capacity", first), "381\n");
  EXPECT_EQ(fast(), std::max(1, n - 1));
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(fast(), 1);
}

TEST_F(MachineTest, ProcessorsThatWereAtWork) {
  const auto busy = [&] { return busy_processor_seconds(folder_.path()); };
  EXPECT_FALSE(busy());
  write("proc/stat", "cpu  100 20 30 9000 800 4 6 40 90 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
  EXPECT_DOUBLE_EQ(busy().value(), 200.0 / static_cast<double>(sysconf(_SC_CLK_TCK)));
  write("proc/stat", "cpu  100 20\n");
  EXPECT_FALSE(busy());
  EXPECT_GE(busy_processor_seconds().value_or(0), 0);
}

}  // namespace
}  // namespace pando::testing
