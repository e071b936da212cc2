// A GPU's pages equal those of plain loops, in the layout of kernel/kv_layout.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/numbers/weight_types.h"
#include "exec/cpu/kv_memory.h"
#include "exec/gpu/page_ops.h"
#include "exec/gpu_testing.h"
#include "exec/scalar/pages.h"

namespace pando::exec::gpu {
namespace {

using kernel::KvShape;
using kernel::KvView;

constexpr size_t kPages = 7;
constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kI8};

// Two groups, of odd sizes.
std::vector<KvShape> groups_of(DType type) {
  return {{.type = type, .n_layers = 2, .n_kv_heads = 3, .head_dim = 20, .page_len = 8},
          {.type = type, .n_layers = 1, .n_kv_heads = 2, .head_dim = 256, .page_len = 8}};
}

// Offset in a chunk of byte i of a position's channel c. Channel head_dim is the scale.
using ByteOffset = size_t (*)(const KvShape& shape, bool is_value, int position, int c, int i);

size_t plain_offset(const KvShape& shape, bool, int position, int c, int i) {
  const int element = shape.type == DType::kF32 ? 4 : shape.type == DType::kI8 ? 1 : 2;
  if (c == shape.head_dim) return shape.page_len * shape.head_dim + 4 * position + i;
  return (position * shape.head_dim + c) * element + i;
}

size_t device_offset(const KvShape& shape, bool is_value, int position, int c, int i) {
  const int page_len = shape.page_len, head_dim = shape.head_dim;
  if (shape.type == DType::kI8) {
    if (c == head_dim) return kernel::int8_element_bytes(page_len, head_dim) + 4 * position + i;
    const int dim = (head_dim + 15) / 16 * 16;
    return is_value ? (position / 4 * dim + c) * 4 + position % 4
                    : (c / 4 * page_len + position) * 4 + c % 4;
  }
  const int element = shape.type == DType::kF32 ? 4 : 2;
  return (is_value ? position * head_dim + c : c * page_len + position) * element + i;
}

// Converts a page from one layout to the other. Bytes that no element uses are 0xff.
std::vector<uint8_t> laid_out(const std::vector<KvShape>& groups, const uint8_t* from,
                              ByteOffset from_offset, ByteOffset to_offset) {
  std::vector<uint8_t> to(kPages * page_bytes(groups), 0xff);
  size_t at = 0;
  for (size_t page = 0; page < kPages; ++page)
    for (const KvShape& shape : groups)
      for (int chunk = 0; chunk < 2 * shape.n_layers * shape.n_kv_heads; ++chunk) {
        const bool is_value = chunk / shape.n_kv_heads % 2 == 1, is_int8 = shape.type == DType::kI8;
        const int element = shape.type == DType::kF32 ? 4 : is_int8 ? 1 : 2;
        for (int position = 0; position < shape.page_len; ++position)
          for (int c = 0; c < shape.head_dim + (is_int8 ? 1 : 0); ++c)
            for (int i = 0; i < (c == shape.head_dim ? 4 : element); ++i)
              to[at + to_offset(shape, is_value, position, c, i)] =
                  from[at + from_offset(shape, is_value, position, c, i)];
        at += shape.chunk_bytes();
      }
  return to;
}

// Pages for plain loops, filled with NaN.
struct PlainPages {
  explicit PlainPages(DType type) : groups(groups_of(type)), memory(groups, kPages) {
    std::memset(base(), 0xff, kPages * page_bytes(groups));
  }
  std::byte* base() const { return memory.views()[0].base; }
  std::vector<uint8_t> on_device() const {
    return laid_out(groups, reinterpret_cast<const uint8_t*>(base()), plain_offset, device_offset);
  }

  std::vector<KvShape> groups;
  KvMemory memory;
};

std::vector<uint8_t> bytes_of(Host& host, const PagePool& pool) {
  return download<uint8_t>(host, pool.memory, pool.memory.bytes());
}

// Three rows with two slots, no slot and one slot.
const std::vector<uint32_t> kSlotBegin = {0, 2, 2, 3};
const std::vector<KvSlot> kSlots = {{4, 0}, {6, 7}, {4, 1}};

// Rows with the extremes of a type: overflow, subnormal numbers, groups of zeros.
scalar::Rows rows_with_extremes(size_t width, uint32_t seed) {
  scalar::Rows rows = random_rows(3, width, seed);
  std::fill_n(rows.row(0), 20, 0x1p-101f);
  rows.row(0)[20] = 65520.0f;
  rows.row(0)[21] = -1e30f;
  rows.row(0)[22] = 0x1.8p-25f;
  rows.row(0)[23] = -0x1p-140f;
  return rows;
}

TEST(GpuPages, RowsAreWrittenAsPlainLoopsWriteThem) {
  Barriers barriers;
  for (const DType type : kTypes)
    for (const int group : {0, 1}) {
      const PlainPages plain(type);
      const KvShape& shape = plain.groups[group];
      const int layer = shape.n_layers - 1;
      const auto width = static_cast<size_t>(shape.n_kv_heads * shape.head_dim);
      const scalar::Rows all = rows_with_extremes(2 * width, 1);
      const scalar::LayerPages pages{plain.memory.views()[group], layer, kSlotBegin, kSlots, {}};
      for (uint32_t row = 0; row < all.n; ++row)
        write_row(pages, row, all.row(row), all.row(row) + width);
      barriers.expect(plain.on_device(), [&](Host& host) {
        const PagePool pool(host, plain.groups, kPages);
        host.fill(pool.memory, 0, 0xff, pool.memory.bytes());
        const Buffer begin = upload(host, kSlotBegin), slots = upload(host, kSlots);
        const Rows rows = upload(host, all);
        write_rows(host, pool, group, layer, {begin, slots},
                   {{&rows, 0, width}, {&rows, width, width}});
        return bytes_of(host, pool);
      });
    }
  EXPECT_EQ(barriers.met.size(), 2u);
  EXPECT_EQ(barriers.needed, barriers.met);
}

// Records the number of copies of each launch.
class LaunchesHost : public EmulatedHost {
 public:
  using EmulatedHost::EmulatedHost;
  void launch(Kernel kernel, Groups groups, std::span<const Arg> args) override {
    n_copies.push_back(groups.y);
    EmulatedHost::launch(kernel, groups, args);
  }
  std::vector<uint32_t> n_copies;
};

// Copies of a launch have no order: none reads or writes a page that another one writes.
TEST(GpuPages, CopiesAreCarriedOutInOrder) {
  const std::vector<PageCopy> copies = {{0, 1, 5}, {2, 3, 8}, {1, 4, 3}, {5, 1, 2},
                                        {6, 6, 4}, {4, 5, 0}, {1, 0, 7}, {2, 6, 1}};
  for (const DType type : kTypes) {
    const PlainPages plain(type);
    uint8_t* const bytes = reinterpret_cast<uint8_t*>(plain.base());
    for (size_t i = 0; i < kPages * page_bytes(plain.groups); ++i)
      bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
    const std::vector<uint8_t> before = plain.on_device();
    for (const KvView& view : plain.memory.views()) scalar::copy_positions(view, copies);
    LaunchesHost host({.order = ThreadOrder::kShuffled});
    PagePool pool(host, plain.groups, kPages);
    host.write(pool.memory, 0, before.data(), before.size());
    copy_pages(host, pool, copies);
    EXPECT_TRUE(same_bits(bytes_of(host, pool), plain.on_device())) << dtype_name(type);
    EXPECT_EQ(host.n_copies, (std::vector<uint32_t>{2, 2, 1, 1, 1, 1, 2, 2}));  // two groups
  }
}

TEST(GpuPages, FreshPagesArePoisoned) {
  const std::vector<PageCopy> copies = {{0, 1, 5}, {2, 3, 8}};
  const std::vector<KvSlot> slots = {{4, 0}, {5, 1}, {2, 0}};
  const PlainPages plain(DType::kF16);
  std::memset(plain.base(), 0, kPages * page_bytes(plain.groups));
  for (const KvView& view : plain.memory.views()) poison_pages(view, copies, slots);
  EmulatedHost host;
  const PagePool pool(host, plain.groups, kPages);
  host.fill(pool.memory, 0, 0, pool.memory.bytes());
  poison(host, pool, copies, slots);
  EXPECT_TRUE(same_bits(bytes_of(host, pool), plain.on_device()));
}

TEST(GpuPages, APoolMayHaveNoGroups) {
  EmulatedHost host;
  PagePool pool(host, {}, 0);
  copy_pages(host, pool, {});
  poison(host, pool, {}, {});
  EXPECT_TRUE(pool.memory.empty());
}

}  // namespace
}  // namespace pando::exec::gpu
