#include "lab/kernel/level_attention.h"

#include "base/fp_state.h"
#include "kernel/spread_rows.h"
#include "kernel/stored_keys.h"

namespace pando::kernel {
namespace {

using LevelLens = std::vector<std::vector<uint32_t>>;  // by level, by group

struct LevelCase {
  KvShape shape;
  int n_heads;
  int window = 0;
  int threads = 1;
  bool prefill = false;  // rows at every position, not at the last one only
};

// One sequence for each length of the last level. Each level above divides the sequences evenly
// among its lengths. The rows of a sequence are at the end of its path, or at every position.
void run_case(const LevelLens& lens, const LevelCase& c, std::mt19937& rng) {
  ThreadPool pool(c.threads);
  AttentionScratch scratch;
  const KvShape& shape = c.shape;
  const uint32_t page_len = shape.page_len, tile_len = shape.tile_len;
  const size_t n_sequences = lens.back().size();
  const auto group_of = [&](size_t level, size_t sequence) {
    return sequence * lens[level].size() / n_sequences;
  };

  // Every sequence has pages of its own; what a level shares is stored in each.
  std::vector<std::vector<PageId>> pages(n_sequences);
  PageId n_pages = 0;
  for (size_t s = 0; s < n_sequences; ++s) {
    uint32_t len = 0;
    for (size_t level = 0; level < lens.size(); ++level) len += lens[level][group_of(level, s)];
    for (uint32_t i = 0; i < (len + page_len - 1) / page_len; ++i) pages[s].push_back(n_pages++);
  }
  StoredKeys stored(shape, n_pages);
  const size_t kv_dim = static_cast<size_t>(shape.n_kv_heads) * shape.head_dim;
  const auto slot_of = [&](size_t s, uint32_t pos) {
    return KvSlot{pages[s][pos / page_len], pos % page_len};
  };
  std::vector<uint32_t> begin_of(n_sequences, 0);  // of the level at hand
  std::vector<LevelTask> tasks;
  std::vector<PageId> task_pages;
  std::vector<uint32_t> row_begin(n_sequences + 1, 0), positions;
  std::vector<std::vector<uint32_t>> ends(lens.size(), std::vector<uint32_t>(n_sequences));
  for (size_t level = 0; level < lens.size(); ++level) {
    for (size_t s = 0, n_same; s < n_sequences; s += n_same) {
      const uint32_t len = lens[level][group_of(level, s)];
      for (n_same = 1;
           s + n_same < n_sequences && group_of(level, s + n_same) == group_of(level, s);)
        ++n_same;
      for (uint32_t i = 0; i < len; ++i) {
        const std::vector<float> k = random_floats(rng, kv_dim), v = random_floats(rng, kv_dim);
        for (size_t of = s; of < s + n_same; ++of)
          stored.write(pool, k, v, slot_of(of, begin_of[of] + i));
      }
      for (size_t of = s; of < s + n_same; ++of) ends[level][of] = begin_of[of] + len;
    }
    begin_of = ends[level];
  }
  for (size_t s = 0; s < n_sequences; ++s) {
    const uint32_t end = ends.back()[s];
    for (uint32_t pos = c.prefill ? 0 : end - 1; pos < end; ++pos) positions.push_back(pos);
    row_begin[s + 1] = static_cast<uint32_t>(positions.size());
  }
  uint32_t n_states = 0;
  std::vector<std::vector<uint32_t>> states(positions.size());
  for (size_t level = 0; level < lens.size(); ++level)
    for (size_t s = 0, n_same; s < n_sequences; s += n_same) {
      for (n_same = 1;
           s + n_same < n_sequences && group_of(level, s + n_same) == group_of(level, s);)
        ++n_same;
      const uint32_t begin = level == 0 ? 0 : ends[level - 1][s], end = ends[level][s];
      const uint32_t first = begin / tile_len * (tile_len / page_len), last = (end - 1) / page_len;
      tasks.push_back({row_begin[s], row_begin[s + n_same], begin, end,
                       static_cast<uint32_t>(task_pages.size()), last + 1 - first, n_states});
      task_pages.insert(task_pages.end(), pages[s].begin() + first, pages[s].begin() + last + 1);
      for (uint32_t row = row_begin[s]; row < row_begin[s + n_same]; ++row)
        states[row].push_back(n_states++);
    }
  std::vector<uint32_t> states_begin{0}, all_states;
  for (const auto& of_row : states) {
    all_states.insert(all_states.end(), of_row.begin(), of_row.end());
    states_begin.push_back(static_cast<uint32_t>(all_states.size()));
  }

  const size_t q_dim = static_cast<size_t>(c.n_heads) * shape.head_dim;
  const std::vector<float> q = random_floats(rng, positions.size() * q_dim);
  const std::vector<float> spread = spread_rows(q, positions.size());
  std::vector<float> out(q.size());
  const AttentionArgs args{.kv = stored.view(),
                           .layer = 0,
                           .n_heads = c.n_heads,
                           .scale = 0.13f,
                           .window = c.window,
                           .positions = positions,
                           .q = spread.data(),
                           .q_stride = static_cast<int64_t>(spread.size() / positions.size()),
                           .out = out.data()};
  const LevelArgs levels{
      .tasks = tasks, .pages = task_pages, .states_begin = states_begin, .states = all_states};
  std::vector<std::vector<float>> outs;  // by instruction set
  for (const Kernels* kernels : all_kernels()) {
    std::ranges::fill(out, NAN);
    level_attention(*kernels, pool, args, levels, scratch);
    outs.push_back(out);
  }
  for (size_t s = 0; s < n_sequences; ++s)
    for (uint32_t row = row_begin[s]; row < row_begin[s + 1]; ++row) {
      std::vector<KvSlot> seen;
      for (uint32_t pos = 0; pos <= positions[row]; ++pos)
        if (c.window == 0 || pos + c.window > positions[row]) seen.push_back(slot_of(s, pos));
      for (int head = 0; head<c.n_heads; head += positions[row]> 1000 ? 5 : 1) {
        const size_t at = row * q_dim + head * shape.head_dim;
        const std::vector<double> expected =
            stored.attend(q.data() + at, args.scale, head / (c.n_heads / shape.n_kv_heads), seen);
        for (const std::vector<float>& found : outs)
          ASSERT_NO_FATAL_FAILURE(expect_near(expected, found.data() + at,
                                              "row " + std::to_string(row),
                                              shape.type == DType::kI8 ? 0.03 : 1e-5));
      }
    }
}

KvShape shape_of(DType type, int n_kv_heads, int head_dim, int page_len = 32, int tile_len = 64) {
  return {.type = type,
          .n_layers = 1,
          .n_kv_heads = n_kv_heads,
          .head_dim = head_dim,
          .page_len = page_len,
          .tile_len = tile_len,
          .span_len = 2048};
}

const LevelLens kPublished[] = {
    {{1}, {10}},
    {{3}, {6, 7}},
    {{7, 7}, {9, 10, 11, 4}, {129, 2, 3, 4, 5, 6, 7, 128}},
    {{16384}, {1, 128, 256}},
};

// The checks of Hydragen's own code: 8 query heads of 128 channels, 1 and 8 KV heads.
TEST(LevelAttention, PublishedLevels) {
  const FpStateGuard fp_state;
  std::mt19937 rng(1);
  for (const int n_kv_heads : {1, 8})
    for (const LevelLens& lens : kPublished)
      run_case(lens, {shape_of(DType::kF32, n_kv_heads, 128), 8, 0, 2}, rng);
}

TEST(LevelAttention, EveryTypeAndManyRows) {
  const FpStateGuard fp_state;
  std::mt19937 rng(2);
  const LevelLens lens = {{5}, {13, 9}, {3, 21, 1, 30}};
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    run_case(lens, {shape_of(type, 2, 20, 4, 8), 4, 0, 1, true}, rng);
    run_case(lens, {shape_of(type, 1, 64, 16, 64), 2, 0, 2, true}, rng);
  }
}

// Queries and weights are rounded to integers as well.
TEST(LevelAttention, Int8) {
  const FpStateGuard fp_state;
  std::mt19937 rng(4);
  run_case({{40}, {70, 9}, {3, 21, 1, 30}}, {shape_of(DType::kI8, 2, 64), 4, 0, 2}, rng);
}

TEST(LevelAttention, LevelsThatAWindowHides) {
  const FpStateGuard fp_state;
  std::mt19937 rng(3);
  for (const int window : {1, 4, 17})
    run_case({{5}, {13, 9}, {3, 21, 1, 30}},
             {shape_of(DType::kF32, 2, 32, 4, 8), 4, window, 1, true}, rng);
}

TEST(CombineLse, IsTheSoftmaxOverBothParts) {
  std::vector<float> a{1, 2}, b{3, 5};
  float lse = 1;  // denominators of 2 and 6
  combine_lse(2, a.data(), lse, b.data(), std::log2(6.0f));
  EXPECT_FLOAT_EQ(a[0], (2 * 1 + 6 * 3) / 8.0f);
  EXPECT_FLOAT_EQ(a[1], (2 * 2 + 6 * 5) / 8.0f);
  EXPECT_FLOAT_EQ(lse, 3);
}

TEST(CombineLse, EmptyPartsChangeNothing) {
  std::vector<float> none{NAN, NAN}, part{3, 5};
  float lse = 2;
  combine_lse(2, part.data(), lse, none.data(), -INFINITY);
  EXPECT_EQ(part, (std::vector<float>{3, 5}));
  EXPECT_EQ(lse, 2);
  float empty = -INFINITY;
  combine_lse(2, none.data(), empty, part.data(), lse);
  EXPECT_EQ(none, part);
  EXPECT_EQ(empty, 2);
  float both = -INFINITY;
  combine_lse(2, part.data(), both, none.data(), -INFINITY);
  EXPECT_EQ(both, -INFINITY);
}

}  // namespace
}  // namespace pando::kernel
