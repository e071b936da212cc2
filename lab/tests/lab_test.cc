// The laboratory adds these to `pando bench`.
#include "lab/lab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "bench/inputs.h"

namespace pando::lab {
namespace {

TEST(LabTest, AddsItsBenchmarksOnceAndBehindTheProducts) {
  open();
  open();
  std::vector<std::string> names;
  for (const bench::BenchmarkInfo& info : bench::benchmarks()) names.emplace_back(info.name);
  const auto first = std::ranges::find(names, "ippd-table-5");
  ASSERT_NE(first, names.end());
  ASSERT_NE(first, names.begin());
  EXPECT_EQ(*(first - 1), "gpu");
  EXPECT_EQ(names.back(), "planners-texts");
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
}

TEST(LabTest, SaysWhatItsBenchmarksTake) {
  open();
  const auto takes = [](const char* name) { return in_words(bench::inputs_of(name).value()); };
  EXPECT_EQ(takes("hydragen-figure-4"), "");
  EXPECT_EQ(takes("hydragen-figure-5"), "needs --data, takes --model");
  EXPECT_EQ(takes("prepacking-table-1"), "needs --data");
  EXPECT_EQ(takes("needles"), "takes --data, takes --model");
  EXPECT_EQ(bench::check_inputs("hydragen-figure-5", {}).error().message(),
            "hydragen-figure-5 needs tokenizers/qwen2.5, war-and-peace.txt: expected --data "
            "DIRECTORY with published data sets");
}

}  // namespace
}  // namespace pando::lab
