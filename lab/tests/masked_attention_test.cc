#include "lab/kernel/masked_attention.h"

#include "base/fp_state.h"
#include "kernel/spread_rows.h"
#include "kernel/stored_keys.h"

namespace pando::kernel {
namespace {

struct MaskedCase {
  KvShape shape;
  int n_heads;
  int window;
  int threads;
};

// Stacks with random masks: rows that see nothing, tiles that none of a stack's rows sees.
void run_case(const MaskedCase& c, std::mt19937& rng) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
  ThreadPool pool(c.threads);
  AttentionScratch scratch;
  const uint32_t page_len = c.shape.page_len, tile_len = c.shape.tile_len;
  AttentionArgs args{.layer = 0, .n_heads = c.n_heads, .scale = 0.2f, .window = c.window};
  std::vector<MaskedStack> stacks;
  std::vector<PageId> pages;
  std::vector<uint64_t> masks;
  std::vector<uint32_t> row_positions, cell_positions;
  std::vector<uint32_t> hidden_tiles;  // bits, of each stack: nobody sees them; up to three tiles
  uint32_t n_rows = 0;
  for (uint32_t n = 1 + below(3); n > 0; --n) {
    const uint32_t n_stack_rows = 1 + below(110), n_cells = 1 + below(3 * tile_len);
    stacks.push_back({n_rows, n_rows + n_stack_rows, n_cells, static_cast<uint32_t>(pages.size()),
                      static_cast<uint32_t>(masks.size()),
                      static_cast<uint32_t>(cell_positions.size())});
    n_rows += n_stack_rows;
    for (uint32_t i = 0; i < (n_cells + page_len - 1) / page_len; ++i) pages.push_back(0);
    for (uint32_t i = 0; i < n_cells; ++i) cell_positions.push_back(below(20));
    hidden_tiles.push_back(below(8));
    for (uint32_t row = 0; row < n_stack_rows; ++row) {
      row_positions.push_back(below(20));
      const bool all = below(4) == 0, none = below(40) == 0;
      for (uint32_t first = 0; first < n_cells; first += tile_len) {
        const uint32_t n_held = std::min(tile_len, n_cells - first);
        const uint64_t held = n_held == 64 ? ~uint64_t{0} : (uint64_t{1} << n_held) - 1;
        const uint64_t random = below(3) == 0 ? 0 : uint64_t{rng()} << 32 | rng();
        const bool hidden = (hidden_tiles.back() >> first / tile_len & 1) != 0;
        masks.push_back(none || hidden ? 0 : held & (all ? ~uint64_t{0} : random));
      }
    }
  }
  for (size_t i = 0; i < pages.size(); ++i) pages[i] = static_cast<PageId>(pages.size() - 1 - i);
  StoredKeys stored(c.shape, pages.size());
  const size_t kv_dim = static_cast<size_t>(c.shape.n_kv_heads) * c.shape.head_dim;
  const auto slot_of = [&](const MaskedStack& stack, uint32_t cell) {
    return KvSlot{pages[stack.first_page + cell / page_len], cell % page_len};
  };
  // Cells that nobody sees stay NaN, which a sum with weights of 0 would not survive: it is
  // skipped.
  for (size_t i = 0; i < stacks.size(); ++i)
    for (uint32_t cell = 0; cell < stacks[i].n_cells; ++cell)
      if ((hidden_tiles[i] >> cell / tile_len & 1) == 0)
        stored.write(pool, random_floats(rng, kv_dim), random_floats(rng, kv_dim),
                     slot_of(stacks[i], cell));
  const size_t q_dim = static_cast<size_t>(c.n_heads) * c.shape.head_dim;
  const std::vector<float> q = random_floats(rng, n_rows * q_dim);
  const std::vector<float> spread = spread_rows(q, n_rows);
  std::vector<float> out(q.size(), NAN);
  args.kv = stored.view();
  args.positions = row_positions;
  args.q = spread.data();
  args.q_stride = static_cast<int64_t>(spread.size() / n_rows);
  args.out = out.data();
  const MaskedArgs masked{
      .stacks = stacks, .pages = pages, .masks = masks, .cell_positions = cell_positions};
  std::vector<std::vector<float>> outs;  // by instruction set
  for (const Kernels* kernels : all_kernels()) {
    std::ranges::fill(out, NAN);
    masked_attention(*kernels, pool, args, masked, scratch);
    outs.push_back(out);
  }
  for (const MaskedStack& stack : stacks)
    for (uint32_t row = stack.row_begin; row < stack.row_end; ++row) {
      std::vector<KvSlot> seen;
      const uint32_t n_tiles = (stack.n_cells + tile_len - 1) / tile_len;
      for (uint32_t cell = 0; cell < stack.n_cells; ++cell) {
        const uint64_t bits =
            masks[stack.first_mask + (row - stack.row_begin) * n_tiles + cell / tile_len];
        const int behind = static_cast<int>(row_positions[row]) -
                           static_cast<int>(cell_positions[stack.first_cell + cell]);
        if ((bits >> cell % tile_len & 1) != 0 && (c.window == 0 || behind < c.window))
          seen.push_back(slot_of(stack, cell));
      }
      for (int head = 0; head < c.n_heads; ++head) {
        const size_t at = row * q_dim + head * c.shape.head_dim;
        const std::vector<double> expected =
            stored.attend(q.data() + at, args.scale, head / (c.n_heads / c.shape.n_kv_heads), seen);
        for (const std::vector<float>& found : outs)
          ASSERT_NO_FATAL_FAILURE(
              expect_near(expected, found.data() + at, "row " + std::to_string(row)));
      }
    }
}

KvShape shape_of(DType type, int n_kv_heads, int head_dim, int page_len, int tile_len) {
  return {.type = type,
          .n_layers = 1,
          .n_kv_heads = n_kv_heads,
          .head_dim = head_dim,
          .page_len = page_len,
          .tile_len = tile_len,
          .span_len = 2 * tile_len};
}

TEST(MaskedAttention, RandomMasksAgainstDoubles) {
  const FpStateGuard fp_state;
  std::mt19937 rng(5);
  for (int round = 0; round < 4; ++round) {
    run_case({shape_of(DType::kF32, 2, 20, 4, 8), 4, 0, 1}, rng);
    run_case({shape_of(DType::kF16, 1, 32, 32, 64), 3, 0, 2}, rng);
    run_case({shape_of(DType::kBF16, 2, 72, 16, 64), 2, 7, 1}, rng);
  }
}

TEST(MaskedAttention, NoRows) {
  ThreadPool pool(1);
  AttentionScratch scratch;
  masked_attention(best_kernels(), pool,
                   {.kv = {nullptr, shape_of(DType::kF32, 1, 4, 4, 8)}, .n_heads = 1}, {}, scratch);
}

}  // namespace
}  // namespace pando::kernel
