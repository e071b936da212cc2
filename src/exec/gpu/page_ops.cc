#include "exec/gpu/page_ops.h"

#include <utility>

#include "base/check.h"
#include "exec/cpu/kv_memory.h"

namespace pando::exec::gpu {
namespace {

struct PageKernels {
  Kernel write, copy;
};

PageKernels page_kernels(DType type) {
  if (type == DType::kF32) return {Kernel::page_write_f32, Kernel::page_copy_32};
  if (type == DType::kF16) return {Kernel::page_write_f16, Kernel::page_copy_16};
  if (type == DType::kBF16) return {Kernel::page_write_bf16, Kernel::page_copy_16};
  PANDO_CHECK(type == DType::kI8);
  return {Kernel::page_write_int8, Kernel::page_copy_int8};
}

uint64_t group_offset(const PagePool& pool, int group) {
  return page_bytes(std::span(pool.groups).first(group));
}

// Elements of a chunk, as the copy kernels count them. An int8 chunk counts bytes, scales included.
size_t n_chunk_elements(const kernel::KvShape& shape) {
  if (shape.type == DType::kI8)
    return kernel::int8_element_bytes(shape.page_len, shape.head_dim) + 4 * shape.page_len;
  return static_cast<size_t>(shape.page_len) * shape.head_dim;
}

// The number of copies, from `first` on, that may run in any order: none reads or writes a page
// that another one writes. At least 1.
size_t n_independent(std::span<const PageCopy> copies, size_t first) {
  constexpr size_t kMost = 1024;
  size_t end = first + 1;
  for (; end < copies.size() && end < first + kMost; ++end)
    for (size_t i = first; i < end; ++i) {
      const PageCopy &before = copies[i], &copy = copies[end];
      if (before.to == copy.from || before.to == copy.to || before.from == copy.to)
        return end - first;
    }
  return end - first;
}

void copy_group(Host& host, const PagePool& pool, int group, uint32_t first, uint32_t n) {
  const kernel::KvShape& shape = pool.groups[group];
  const Arg args[] = {&pool.memory,
                      &pool.copies.buffer(),
                      first,
                      uint64_t{pool.page_bytes},
                      group_offset(pool, group),
                      uint64_t{shape.chunk_bytes()},
                      shape.n_kv_heads,
                      shape.page_len,
                      shape.head_dim,
                      static_cast<int32_t>(n_chunk_elements(shape))};
  const auto n_chunks = static_cast<uint32_t>(2 * shape.n_layers * shape.n_kv_heads);
  host.launch(page_kernels(shape.type).copy, {n_chunks, n}, args);
}

}  // namespace

PagePool::PagePool(Host& host, std::vector<kernel::KvShape> groups_of_page, size_t n_pages)
    : memory(host, exec::page_bytes(groups_of_page) * n_pages),
      groups(std::move(groups_of_page)),
      page_bytes(exec::page_bytes(groups)) {}

uint64_t PagePool::key_offset(int group, int layer) const {
  return group_offset(*this, group) + groups[group].key_offset(layer, 0);
}

uint64_t PagePool::value_offset(int group, int layer) const {
  return group_offset(*this, group) + groups[group].value_offset(layer, 0);
}

void write_rows(Host& host, const PagePool& pool, int group, int layer, const SlotLists& lists,
                const KeysAndValues& rows) {
  if (rows.keys.empty()) return;
  const kernel::KvShape& shape = pool.groups[group];
  PANDO_CHECK(rows.keys.n == static_cast<size_t>(shape.n_kv_heads) * shape.head_dim);
  PANDO_CHECK(rows.values.n == rows.keys.n && rows.values.rows->n == rows.keys.rows->n);
  const Arg args[] = {&pool.memory,
                      &lists.slot_begin,
                      &lists.slots,
                      &rows.keys.rows->values,
                      uint64_t{rows.keys.rows->width},
                      uint64_t{rows.keys.first},
                      &rows.values.rows->values,
                      uint64_t{rows.values.rows->width},
                      uint64_t{rows.values.first},
                      uint64_t{pool.page_bytes},
                      uint64_t{shape.chunk_bytes()},
                      pool.key_offset(group, layer),
                      pool.value_offset(group, layer),
                      shape.page_len,
                      shape.head_dim};
  const auto n_heads = static_cast<uint32_t>(shape.n_kv_heads);
  host.launch(page_kernels(shape.type).write, {rows.keys.rows->n, n_heads}, args);
}

void copy_pages(Host& host, PagePool& pool, std::span<const PageCopy> copies) {
  std::vector<PageCopy> real;
  std::vector<uint32_t> numbers;
  for (const PageCopy& copy : copies) {
    if (copy.from == copy.to || copy.n_positions == 0) continue;
    real.push_back(copy);
    numbers.insert(numbers.end(), {copy.from, copy.to, copy.n_positions});
  }
  pool.copies.set(host, numbers);
  for (size_t first = 0, n = 0; first < real.size(); first += n) {
    n = n_independent(real, first);
    for (size_t group = 0; group < pool.groups.size(); ++group)
      copy_group(host, pool, static_cast<int>(group), static_cast<uint32_t>(first),
                 static_cast<uint32_t>(n));
  }
}

void poison(Host& host, const PagePool& pool, std::span<const PageCopy> copies,
            std::span<const KvSlot> slots) {
  for (const PageId page : fresh_pages(copies, slots))
    host.fill(pool.memory, page * pool.page_bytes, 0xff, pool.page_bytes);
}

}  // namespace pando::exec::gpu
