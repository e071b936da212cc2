#include "exec/cpu/kernel/kv_write.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/half.h"
#include "base/numbers/weight_types.h"

namespace pando::kernel {
namespace {

KvShape small_shape(DType type, int head_dim, int page_len) {
  return {.type = type,
          .n_layers = 3,
          .n_kv_heads = 2,
          .head_dim = head_dim,
          .page_len = page_len,
          .tile_len = 2 * page_len,
          .span_len = 4 * page_len};
}

std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> all;
  for (const Isa isa : {Isa::kPortable, Isa::kNeon, Isa::kAvx2, Isa::kAvxVnni, Isa::kAvx512})
    if (const Kernels* kernels = kernels_for(isa)) all.push_back(kernels);
  return all;
}

// The element type's bits of x, as docs/arithmetic.md narrows it.
uint32_t narrowed(DType type, float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if (type == DType::kBF16) return f32_to_bf16(x);
  if (type == DType::kF16)
    return f32_to_f16(x > 65504.0f ? 65504.0f : x < -65504.0f ? -65504.0f : x);
  return bits;
}

void put(DType type, std::byte* chunk, size_t i, float x) {
  const uint32_t bits = narrowed(type, x);  // little endian: the low bytes are the element
  std::memcpy(chunk + i * dtype_size(type), &bits, dtype_size(type));
}

// Key or value x [head_dim] of position `offset` to an int8 chunk; exec/cpu/kernel/kv_layout.h.
void put_int8(const KvShape& shape, bool is_key, const float* x, uint32_t offset,
              std::byte* chunk) {
  float amax = 0;
  for (int d = 0; d < shape.head_dim; ++d) amax = std::max(amax, std::fabs(x[d]));
  if (amax < 0x1p-100f) amax = 0;
  const float scale = amax / 127.0f;
  const int dim = (shape.head_dim + 15) / 16 * 16;
  for (int d = 0; d < shape.head_dim; ++d) {
    const int q =
        amax == 0
            ? 0
            : static_cast<int>(std::clamp(std::nearbyint(x[d] * (127.0f / amax)), -127.0f, 127.0f));
    if (is_key) {
      chunk[d / 4 * 4 * shape.page_len + 4 * offset + d % 4] = static_cast<std::byte>(q + 128);
    } else {
      chunk[offset / 4 * 4 * dim + 4 * d + offset % 4] = static_cast<std::byte>(q);
    }
  }
  std::memcpy(chunk + int8_element_bytes(shape.page_len, shape.head_dim) + 4 * offset, &scale, 4);
}

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kI8};

TEST(WriteKv, EveryByteOfThePool) {
  constexpr int kPages = 24, kLayer = 1, kRows = 37;
  for (const DType type : kTypes)
    for (const auto& [head_dim, page_len] :
         {std::pair{4, 4}, {20, 4}, {36, 8}, {64, 32}, {516, 4}}) {
      const KvShape shape = small_shape(type, head_dim, page_len);
      const int64_t stride = shape.n_kv_heads * head_dim + 12;
      std::mt19937 random(head_dim);
      std::vector<float> k(kRows * stride), v(kRows * stride);
      for (float& x : k) x = std::normal_distribution<float>()(random) * 100;
      for (float& x : v) x = std::normal_distribution<float>()(random);
      if (type != DType::kI8)
        k[0] = 1e6f, v[1] = -std::numeric_limits<float>::infinity(), k[stride] = 3e-7f;
      std::fill_n(&v[3 * stride], head_dim, 1e-35f);  // too small for a scale

      // Rows have none to three slots, all different.
      std::vector<uint32_t> free(kPages * page_len), slot_begin{0};
      for (size_t i = 0; i < free.size(); ++i) free[i] = static_cast<uint32_t>(i);
      std::shuffle(free.begin(), free.end(), random);
      std::vector<KvSlot> slots;
      for (int row = 0; row < kRows; ++row) {
        for (int n = row % 4; n > 0 && !free.empty(); --n, free.pop_back())
          slots.push_back({free.back() / page_len, free.back() % page_len});
        slot_begin.push_back(static_cast<uint32_t>(slots.size()));
      }

      const std::vector<std::byte> before(kPages * shape.page_bytes(), std::byte{0x5a});
      std::vector<std::byte> expected = before;
      for (int row = 0; row < kRows; ++row)
        for (uint32_t s = slot_begin[row]; s < slot_begin[row + 1]; ++s)
          for (int head = 0; head < shape.n_kv_heads; ++head) {
            std::byte* page = expected.data() + slots[s].page * shape.page_bytes();
            if (type == DType::kI8) {
              const int64_t from = row * stride + head * head_dim;
              put_int8(shape, true, &k[from], slots[s].offset,
                       page + shape.key_offset(kLayer, head));
              put_int8(shape, false, &v[from], slots[s].offset,
                       page + shape.value_offset(kLayer, head));
              continue;
            }
            for (int d = 0; d < head_dim; ++d) {
              const int64_t from = row * stride + head * head_dim + d;
              put(type, page + shape.key_offset(kLayer, head), d * page_len + slots[s].offset,
                  k[from]);
              put(type, page + shape.value_offset(kLayer, head), slots[s].offset * head_dim + d,
                  v[from]);
            }
          }

      for (const Kernels* kernels : all_kernels())
        for (const int n_threads : {1, 2}) {
          ThreadPool pool(n_threads);
          std::vector<std::byte> memory = before;
          write_kv(
              *kernels, pool,
              {{memory.data(), shape}, kLayer, {k.data(), v.data(), stride}, slot_begin, slots});
          EXPECT_EQ(memory, expected)
              << kernels->name << " " << dtype_name(type) << " " << head_dim;
        }
    }
}

TEST(CopyPages, FirstPositionsOfAllLayersInOrder) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    const KvShape shape = small_shape(type, 12, 8);
    std::mt19937 random(1);
    std::vector<std::byte> memory(5 * shape.page_bytes());
    for (std::byte& x : memory) x = static_cast<std::byte>(random());
    std::vector<std::byte> expected = memory;
    // The second copy reads the page that the first wrote; the third copies nothing, the last a
    // whole page.
    const std::vector<PageCopy> copies{{0, 1, 5}, {1, 2, 7}, {0, 3, 0}, {2, 4, 8}};
    const size_t size = dtype_size(type);
    for (const PageCopy& copy : copies)
      for (int layer = 0; layer < shape.n_layers; ++layer)
        for (int head = 0; head < shape.n_kv_heads; ++head)
          for (uint32_t j = 0; j < copy.n_positions; ++j)
            for (int d = 0; d < shape.head_dim; ++d) {
              const size_t at[] = {
                  shape.key_offset(layer, head) + (d * shape.page_len + j) * size,
                  shape.value_offset(layer, head) + (j * shape.head_dim + d) * size};
              for (const size_t offset : at)
                std::memcpy(expected.data() + copy.to * shape.page_bytes() + offset,
                            expected.data() + copy.from * shape.page_bytes() + offset, size);
            }
    copy_pages({memory.data(), shape}, copies);
    EXPECT_EQ(memory, expected);
  }
}

// Also for int8, whose positions lie byte by byte.
TEST(CopyPages, ACopyIsWhatWritingGives) {
  for (const DType type : kTypes) {
    const KvShape shape = small_shape(type, 20, 8);
    std::vector<float> kv(int64_t{8} * shape.n_kv_heads * shape.head_dim);
    std::mt19937 random(1);
    for (float& x : kv) x = std::normal_distribution<float>()(random);
    ThreadPool pool(1);
    for (uint32_t n = 1; n <= 8; ++n) {
      std::vector<KvSlot> slots;
      std::vector<uint32_t> slot_begin{0};
      for (uint32_t i = 0; i < 8; ++i) {
        slots.push_back({0, i});
        if (i < n) slots.push_back({2, i});
        slot_begin.push_back(static_cast<uint32_t>(slots.size()));
      }
      std::vector<std::byte> memory(3 * shape.page_bytes(), std::byte{0x5a});
      for (int layer = 0; layer < shape.n_layers; ++layer)
        write_kv(best_kernels(), pool,
                 {{memory.data(), shape},
                  layer,
                  {kv.data(), kv.data(), shape.n_kv_heads * shape.head_dim},
                  slot_begin,
                  slots});
      copy_pages({memory.data(), shape}, std::vector<PageCopy>{{0, 1, n}});
      EXPECT_EQ(std::memcmp(memory.data() + shape.page_bytes(),
                            memory.data() + 2 * shape.page_bytes(), shape.page_bytes()),
                0)
          << dtype_name(type) << " " << n;
    }
  }
}

}  // namespace
}  // namespace pando::kernel
