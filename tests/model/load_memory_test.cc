// What loading takes at its peak: the packed weights, and little beside them.
#include <gtest/gtest.h>

#include <fstream>

#include "model/make_model.h"
#include "model/test_files.h"
#include "model/weights.h"

namespace pando::model {
namespace {

// A line of /proc/self/status, in bytes; 0 where there is none.
size_t memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    size_t kib = 0;
    if (word == name && status >> kib) return kib << 10;
  }
  return 0;
}

TEST(LoadMemory, PeakIsNearThePackedWeights) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have memory of their own";
#endif
  const TemporaryFolder folder;
  // The embedding table is most of the file: 82 of 113 MB.
  ASSERT_TRUE(make_model({.shape = "qwen3-0.6b",
                          .out = folder.path(),
                          .n_layers = 1,
                          .vocab = 40'000,
                          .n_threads = 2})
                  .ok());
  const auto file_bytes = std::filesystem::file_size(folder.path() / "model.safetensors");
  const size_t before = memory("VmRSS:");
  if (before == 0) GTEST_SKIP() << "no /proc here";
  ThreadPool pool(2);
  for (const std::optional<DType> type :
       {std::optional(DType::kQ4_0), std::optional(DType::kI8), std::optional<DType>()}) {
    const Weights weights =
        Weights::load(folder.path(), type, kernel::best_kernels(), pool).value();
    constexpr size_t kScratch = size_t{16} << 20;
    EXPECT_LE(memory("VmHWM:"), before + weights.bytes() + kScratch);
    EXPECT_LE(weights.bytes(), 1.2 * static_cast<double>(file_bytes));
  }
}

}  // namespace
}  // namespace pando::model
