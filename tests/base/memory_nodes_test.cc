// Memory nodes from files in the kernel's format, and threads that stay on their nodes.
#include "base/memory_nodes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/machine.h"
#include "model/test_files.h"

namespace pando::testing {
namespace {

using Threads = std::vector<size_t>;

std::vector<int> own_processors() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> own;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) own.push_back(i);
  return own;
}

Threads nodes_of_threads(const MemoryNodes& nodes, int n_threads) {
  Threads each;
  for (int thread = 0; thread < n_threads; ++thread)
    each.push_back(nodes.node_of(thread, n_threads));
  return each;
}

void write_list(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(MemoryNodes, ListsOfProcessors) {
  const TemporaryFolder folder;
  EXPECT_EQ(processors_in(folder.path() / "none"), std::vector<int>());
  write_list(folder.path() / "list", "0-2,5,7-8\n");
  EXPECT_EQ(processors_in(folder.path() / "list"), (std::vector<int>{0, 1, 2, 5, 7, 8}));
  write_list(folder.path() / "list", "\n");
  EXPECT_EQ(processors_in(folder.path() / "list"), std::vector<int>());
}

TEST(MemoryNodes, ThreadsFollowProcessors) {
  const MemoryNodes equal({{0, 1}, {2, 3}});
  EXPECT_EQ(nodes_of_threads(equal, 1), (Threads{0}));
  EXPECT_EQ(nodes_of_threads(equal, 2), (Threads{0, 1}));
  EXPECT_EQ(nodes_of_threads(equal, 3), (Threads{0, 0, 1}));
  EXPECT_EQ(nodes_of_threads(equal, 8), (Threads{0, 0, 0, 0, 1, 1, 1, 1}));
  const MemoryNodes unequal({{0, 2, 4}, {1}});
  EXPECT_EQ(nodes_of_threads(unequal, 4), (Threads{0, 0, 0, 1}));
}

TEST(MemoryNodes, AreThoseThatTheProcessMayUse) {
  const TemporaryFolder folder;
  const std::filesystem::path system = folder.path() / "sys/devices/system/node";
  EXPECT_EQ(MemoryNodes::found(folder.path()).count(), 1u);
  const std::vector<int> own = own_processors();
  write_list(system / "online", "0-2\n");
  write_list(system / "node0/cpulist", "2000-2003\n");
  write_list(system / "node1/cpulist", "\n");  // a node with memory but no processor
  write_list(system / "node2/cpulist", fmt::format("{}-{}\n", own.front(), own.back()));
  EXPECT_EQ(MemoryNodes::found(folder.path()).count(), 1u);
  if (own.size() < 2) GTEST_SKIP() << "one processor";
  write_list(system / "node1/cpulist", fmt::format("{}\n", own.front()));
  write_list(system / "node2/cpulist", fmt::format("{}-{}\n", own[1], own.back()));
  const MemoryNodes nodes = MemoryNodes::found(folder.path());
  ASSERT_EQ(nodes.count(), 2u);
  std::vector<int> first, last;
  std::thread([&] {
    nodes.bind(0, 1);  // a single thread is not bound
    EXPECT_EQ(own_processors(), own);
    nodes.bind(0, 100);
    first = own_processors();
    nodes.bind(99, 100);
    last = own_processors();
  }).join();
  EXPECT_EQ(first, std::vector<int>{own.front()});
  EXPECT_EQ(last, std::vector<int>(own.begin() + 1, own.end()));
  EXPECT_EQ(own_processors(), own);
}

TEST(MemoryNodes, PlacingMemoryChangesNothingElse) {
  const std::vector<int> own = own_processors();
  const MemoryNodes nodes({{own.front()}, {own.back()}});
  const AlignedBuffer buffer((size_t{5} << 20) + 100);
  buffer.data()[3 << 20] = std::byte{7};
  nodes.spread(buffer);
  nodes.populate(buffer, 0, size_t{1} << 20, 3);
  EXPECT_EQ(own_processors(), own);
  EXPECT_EQ(std::count(buffer.data(), buffer.data() + buffer.size(), std::byte{0}),
            static_cast<ptrdiff_t>(buffer.size()) - 1);
  EXPECT_EQ(buffer.data()[3 << 20], std::byte{7});
}

}  // namespace
}  // namespace pando::testing
