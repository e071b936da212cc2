// Tests the kernels' functions, and the emulation's work groups.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "base/half.h"
#include "exec/gpu/kernels/emulate.h"
#include "exec/gpu_testing.h"
#include "exec/scalar/math.h"

namespace pando::exec::gpu {
namespace {

#include "exec/gpu/kernels/pieces.h"

// Finite values of every magnitude, zeros and infinities.
std::vector<float> all_magnitudes() {
  std::vector<float> values = {0.0f, -0.0f, INFINITY, -INFINITY, -125.0f, 127.5f, 0x1p-149f};
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int exponent = -148; exponent < 124; ++exponent)
    for (int i = 0; i < 20; ++i) values.push_back(std::ldexp(normal(random), exponent));
  for (float x = -130.0f; x < 130.0f; x += 0.0473f) values.push_back(x);
  return values;
}

// Different NaN bits count as equal.
bool same(float a, float b) {
  return std::bit_cast<u32>(a) == std::bit_cast<u32>(b) || (std::isnan(a) && std::isnan(b));
}

TEST(GpuPieces, HaveTheBitsOfPlainLoops) {
  const struct {
    const char* name;
    std::function<float(float)> piece, expected;
  } functions[] = {
      {"exp2", exp2_, scalar::exp2},
      {"sigmoid", sigmoid_, scalar::sigmoid},
      {"silu", silu_, scalar::silu},
      {"gelu", gelu_, scalar::gelu},
      {"gelu_erf", gelu_erf_, scalar::gelu_erf},
      {"soft_cap", [](float x) { return soft_cap_(x, 30.0f); },
       [](float x) { return scalar::soft_cap(x, 30.0f); }},
      {"clamped_swiglu", [](float x) { return clamped_swiglu_(x, x - 3.0f, 1.702f, 7.0f); },
       [](float x) { return scalar::clamped_swiglu(x, x - 3.0f, 1.702f, 7.0f); }},
      {"narrow f16", [](float x) { return static_cast<float>(NARROW_F16(x)); },
       [](float x) { return static_cast<float>(f32_to_f16(x)); }},
      {"narrow bf16", [](float x) { return static_cast<float>(NARROW_BF16(x)); },
       [](float x) { return static_cast<float>(f32_to_bf16(x)); }},
  };
  for (const auto& [name, piece, expected] : functions)
    for (const float x : all_magnitudes())
      EXPECT_TRUE(same(piece(x), expected(x))) << name << " " << x;
  EXPECT_TRUE(std::isnan(exp2_(NAN)));
}

TEST(GpuPieces, WidenEvery16Bits) {
  for (u32 bits = 0; bits < 65536; ++bits) {
    const auto value = static_cast<u16>(bits);
    EXPECT_TRUE(same(widen_f16(value), f16_to_f32(value)));
    EXPECT_TRUE(same(WIDEN_BF16(value), bf16_to_f32(value)));
  }
}

TEST(GpuPieces, AddSixteenLanesAsATree) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 100; ++i) {
    float lanes[16];
    for (float& lane : lanes) lane = std::ldexp(normal(random), i % 7);
    EXPECT_TRUE(same(sum16_(lanes), scalar::sum16(lanes)));
  }
}

TEST(GpuPieces, MultiplyAndChooseBytes) {
  EXPECT_EQ(dot4(0x80ff017fu, 0x7f027f80u, 5), 5 - 128 * 127 - 2 + 127 - 127 * 128);
  EXPECT_EQ(choose_bytes(0x33221100u, 0x77665544u, 0x0752u), 0x00775522u);
  EXPECT_EQ(choose_bytes(0x33221100u, 0x77665544u, 0x8fdau), 0x00775522u);
}

// Sums of byte products, at the positions that the dialect describes.
TEST(GpuPieces, SumProductsOfAWarp) {
  std::mt19937 random(3);
  constexpr int kStride = 9;
  u32 a[16 * kStride], b[8 * kStride];
  for (u32& word : a) word = random();
  for (u32& word : b) word = random();
  for (const int n_words : {8, 4})
    for (int lane = 0; lane < 32; ++lane) {
      s32 c[4] = {1, 2, 3, 4};
      (n_words == 8 ? mma_16x8x32 : mma_16x8x16)(c, a, b, kStride, lane);
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        s32 sum = i + 1;
        for (int word = 0; word < n_words; ++word)
          for (int shift = 0; shift < 32; shift += 8)
            sum += int{static_cast<s8>(a[row * kStride + word] >> shift)} *
                   int{static_cast<s8>(b[column * kStride + word] >> shift)};
        EXPECT_EQ(c[i], sum);
      }
    }
}

// Each thread gives its number to the next.
void pass_on(const s32* turn_of, s32* to, s32 n) {
  SHARED(s32, numbers, [8]);
  numbers[THREAD] = turn_of[THREAD];
  BARRIER();
  to[GROUP(0) * n + THREAD] = numbers[(THREAD + 1) % n];
}

TEST(GpuWorkGroup, ThreadsWaitForOneAnother) {
  const s32 from[] = {0, 10, 20, 30, 40, 50, 60, 70};
  for (const ThreadOrder order : kOrders)
    for (const int n : {1, 2, 8}) {
      s32 to[16] = {};
      run_work_groups({2}, n, [&] { pass_on(from, to, n); }, {.order = order});
      for (int i = 0; i < 2 * n; ++i) EXPECT_EQ(to[i], (i + 1) % n * 10);
    }
}

TEST(GpuWorkGroup, SharedMemoryBeginsAsNan) {
  const s32 from[] = {0, 10};
  s32 to[2] = {};
  take_barriers_met();
  run_work_groups({}, 2, [&] { pass_on(from, to, 2); }, {});
  const std::vector<int> barriers = take_barriers_met();
  ASSERT_EQ(barriers.size(), 1u);
  run_work_groups({}, 2, [&] { pass_on(from, to, 2); }, {.removed_barrier = barriers[0]});
  EXPECT_EQ(to[0], -1);
  EXPECT_EQ(to[1], 0);
}

// A barrier that only half of the threads meet.
void meet_half(s32 n) {
  if (THREAD < n / 2) BARRIER();
}

TEST(GpuWorkGroup, SaysThatThreadsDoNotMeet) {
  for (int i = 0; i < 2; ++i) {
    std::string text;
    try {
      run_work_groups({}, 4, [] { meet_half(4); }, {});
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    EXPECT_TRUE(text.starts_with("threads of a work group meet at the barrier of line ")) << text;
    EXPECT_TRUE(text.ends_with(" and at the end")) << text;
  }
  const s32 from[] = {0, 10};
  s32 to[2] = {};
  run_work_groups({}, 2, [&] { pass_on(from, to, 2); }, {});  // other groups run as before
  EXPECT_EQ(to[0], 10);
}

}  // namespace
}  // namespace pando::exec::gpu
