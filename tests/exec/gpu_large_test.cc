// Kernels reach memory beyond 4 GiB. Most of that memory is address space that nothing touches.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <new>
#include <vector>

#include "exec/gpu/attention.h"
#include "exec/gpu/page_ops.h"
#include "exec/gpu/row_ops.h"
#include "exec/gpu_testing.h"

namespace pando::exec::gpu {
namespace {

constexpr size_t kLarge = (size_t{9} << 30) / 2;  // bytes

// New memory holds zeros.
class SparseHost final : public EmulatedHost {
 private:
  uint64_t allocate(size_t n) override {
    void* const at = mmap(nullptr, n, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    const auto handle = reinterpret_cast<uint64_t>(at);
    sizes_[handle] = n;
    return handle;
  }
  void release(uint64_t handle) override {
    munmap(reinterpret_cast<void*>(handle), sizes_[handle]);
    sizes_.erase(handle);
  }

  std::map<uint64_t, size_t> sizes_;
};

struct PageResults {
  std::vector<uint8_t> page;
  std::vector<float> attended;
};

// Writes keys and values to page n_pages - 1, copies it to page n_pages - 2, and reads the copy.
PageResults use_last_pages(Host& host, const kernel::KvShape& shape, size_t n_pages) {
  PagePool pool(host, {shape}, n_pages);
  const auto last = static_cast<PageId>(n_pages - 1);
  const model::Heads heads{2 * shape.n_kv_heads, shape.n_kv_heads, shape.head_dim};
  const auto n = static_cast<uint32_t>(shape.page_len);
  const auto width = static_cast<size_t>(heads.kv_dim());
  const int layer = shape.n_layers - 1;
  std::vector<uint32_t> begins;
  std::vector<KvSlot> slots;
  for (uint32_t i = 0; i < n; ++i) {
    begins.push_back(i);
    slots.push_back({last, i});
  }
  begins.push_back(n);
  const Buffer slot_begin = upload(host, begins), slot_list = upload(host, slots);
  const Rows rows = upload(host, random_rows(n, 2 * width, 1));
  write_rows(host, pool, 0, layer, {slot_begin, slot_list},
             {{&rows, 0, width}, {&rows, width, width}});
  const PageCopy copy{last, last - 1, n};
  copy_pages(host, pool, std::span(&copy, 1));

  StepPlan plan;
  plan.tokens = {0};
  plan.positions = {n - 1};
  plan.slot_begin = {0, 0};
  plan.task_pages = {last - 1};
  plan.tasks = {{0, 0, 1, 0, 1}};
  Attention attention(host);
  attention.set_plan(plan);
  const Rows q = upload(host, random_rows(1, static_cast<size_t>(heads.q_dim()), 2));
  const Values no_sinks;
  Rows out;
  attention.attend({.pool = pool,
                    .group = 0,
                    .layer = layer,
                    .in_windows = false,
                    .heads = heads,
                    .scale = 0.25f,
                    .score_cap = 0.0f,
                    .window = 0,
                    .sinks = no_sinks},
                   q, out);
  PageResults results{std::vector<uint8_t>(pool.page_bytes), download(host, out)};
  host.read(pool.memory, (n_pages - 2) * pool.page_bytes, results.page.data(), pool.page_bytes);
  return results;
}

TEST(GpuLarge, PagesBeyondFourGigabytes) {
  SparseHost host;
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    const kernel::KvShape shape{.type = type, .n_layers = 8, .n_kv_heads = 4, .head_dim = 64};
    const PageResults expected = use_last_pages(host, shape, 2);
    const PageResults found = use_last_pages(host, shape, kLarge / shape.page_bytes());
    EXPECT_NE(expected.attended[0], 0.0f);
    EXPECT_TRUE(same_bits(found.page, expected.page));
    EXPECT_TRUE(same_bits(found.attended, expected.attended));
  }
}

TEST(GpuLarge, RowsBeyondFourGigabytes) {
  constexpr size_t kWidth = 4096;
  SparseHost host;
  Rows rows, out;
  rows.resize(host, kLarge / (kWidth * sizeof(float)), kWidth);
  const scalar::Rows last = random_rows(1, kWidth, 1);
  host.write(rows.values, (rows.n - 1) * kWidth * sizeof(float), last.values.data(),
             kWidth * sizeof(float));
  gather_rows(host, rows, upload(host, std::vector<uint32_t>{rows.n - 1}), 1, out);
  EXPECT_TRUE(same_bits(download(host, out), last.values));
}

}  // namespace
}  // namespace pando::exec::gpu
