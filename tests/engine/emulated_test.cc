// GPU kernels on the processor, by the device "emulated" and by PoCL, with the bits of the CPU and
// of the reference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/case_sets.h"
#include "engine/golden_hashes.h"
#include "exec/gpu/gpu_device.h"
#include "exec/gpu/gpu_devices.h"
#include "model/make_model.h"

namespace pando::testing {
namespace {

bool is_slow() { return std::getenv("PANDO_SLOW_TESTS") != nullptr; }

std::vector<CaseDevice> emulated_orders() {
  if (!is_slow()) return {CaseDevice::kEmulated};
  return {CaseDevice::kEmulated, CaseDevice::kEmulatedBackward, CaseDevice::kEmulatedShuffled};
}

std::string order_name(CaseDevice device) {
  constexpr const char* kNames[] = {"Forward", "Backward", "Shuffled"};
  return kNames[static_cast<int>(device) - static_cast<int>(CaseDevice::kEmulated)];
}

class EmulatedGolden : public ::testing::TestWithParam<std::tuple<GoldenHash, CaseDevice>> {};

TEST_P(EmulatedGolden, IsTheHash) {
  const auto& [golden, device] = GetParam();
  EXPECT_EQ(hash_of_cases(golden, device), golden.hash);
}

INSTANTIATE_TEST_SUITE_P(Types, EmulatedGolden,
                         ::testing::Combine(::testing::ValuesIn(kGoldenHashes),
                                            ::testing::ValuesIn(emulated_orders())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name +
                                  order_name(std::get<1>(info.param));
                         });

// The sets with models that GPUs compute.
std::vector<CaseSet> emulated_sets() {
  std::vector<CaseSet> sets;
  for (const CaseSet& set : kCaseSets)
    if (set.name != std::string_view("Recurrent") && set.name != std::string_view("Latents"))
      sets.push_back(set);
  return sets;
}

class EmulatedExactness : public ::testing::TestWithParam<CaseSet> {};

// Weight types share the cases of a set, because these devices are slow.
void expect_bits_of_set(const CaseSet& set, CaseDevice device, int n_cases) {
  const int n_types = static_cast<int>(set.weights.size());
  expect_bits_of_reference(set, device, (n_cases + n_types - 1) / n_types);
}

TEST_P(EmulatedExactness, HasTheBitsOfTheReference) {
  expect_bits_of_set(GetParam(), CaseDevice::kEmulated, is_slow() ? 120 : 12);
}

TEST_P(EmulatedExactness, HasTheBitsOfTheReferenceOnOpenCl) {
  if (!is_slow()) GTEST_SKIP() << "PANDO_SLOW_TESTS is not set";
  if (const std::string refusal = exec::opencl_device().refusal(); !refusal.empty())
    GTEST_SKIP() << refusal;
  expect_bits_of_set(GetParam(), CaseDevice::kOpenCl, 12);
}

INSTANTIATE_TEST_SUITE_P(Sets, EmulatedExactness, ::testing::ValuesIn(emulated_sets()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(EmulatedRefusals, NameTheLayers) {
  const std::pair<const char*, std::string_view> kRefused[] = {
      {"tiny-qwen3.5", "recurrent layers"}, {"tiny-deepseek-v3", "latent attention"}};
  for (const auto& [shape, what] : kRefused) {
    const Status status = exec::check_gpu_model(model::named_shape(shape).value(), "emulated");
    ASSERT_FALSE(status.ok()) << shape;
    EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(status.error().found.find(what), std::string::npos) << status.error().message();
  }
  model::ModelSpec spec = model::named_shape("tiny-llama").value();
  EXPECT_TRUE(exec::check_gpu_model(spec, "emulated").ok());
  spec.layers.back().values_are_keys = true;
  EXPECT_TRUE(exec::check_gpu_model(spec, "emulated").ok());
  spec.qk_norm = model::QkNorm::kFullWidth;
  EXPECT_EQ(exec::check_gpu_model(spec, "emulated").error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace pando::testing
