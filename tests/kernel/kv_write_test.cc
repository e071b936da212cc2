#include "kernel/kv_write.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/half.h"

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
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
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

TEST(WriteKv, EveryByteOfThePool) {
  constexpr int kPages = 24, kLayer = 1, kRows = 37;
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16})
    for (const auto& [head_dim, page_len] : {std::pair{4, 4}, {20, 4}, {36, 8}, {64, 32}}) {
      const KvShape shape = small_shape(type, head_dim, page_len);
      const int64_t stride = shape.n_kv_heads * head_dim + 12;
      std::mt19937 random(head_dim);
      std::vector<float> k(kRows * stride), v(kRows * stride);
      for (float& x : k) x = std::normal_distribution<float>()(random) * 100;
      for (float& x : v) x = std::normal_distribution<float>()(random);
      k[0] = 1e6f, v[1] = -std::numeric_limits<float>::infinity(), k[stride] = 3e-7f;

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
          for (int head = 0; head < shape.n_kv_heads; ++head)
            for (int d = 0; d < head_dim; ++d) {
              std::byte* page = expected.data() + slots[s].page * shape.page_bytes();
              const int64_t from = row * stride + head * head_dim + d;
              put(type, page + shape.key_offset(kLayer, head), d * page_len + slots[s].offset,
                  k[from]);
              put(type, page + shape.value_offset(kLayer, head), slots[s].offset * head_dim + d,
                  v[from]);
            }

      for (const Kernels* kernels : all_kernels())
        for (const int n_threads : {1, 2}) {
          ThreadPool pool(n_threads);
          std::vector<std::byte> memory = before;
          write_kv(*kernels, pool, {memory.data(), shape}, kLayer, k.data(), v.data(), stride,
                   slot_begin, slots);
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
    // The second copy reads what the first wrote; the third copies nothing, the last a whole page.
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

}  // namespace
}  // namespace pando::kernel
