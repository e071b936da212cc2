// A step over a random prefix tree through `attention`, held against the reference bit by bit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/kernel/attention.h"
#include "kernel/attention_reference.h"
#include "kernel/isas.h"
#include "kernel/spread_rows.h"

namespace pando::kernel {

struct Row {
  uint32_t position;
  std::vector<PageId> pages;  // up to the position's own
};

enum class Grouping { kMaximal, kRandom, kSingle };

// A step over a random prefix tree. Memory that holds no key or value is NaN.
class Step {
 public:
  Step(const KvShape& shape, int group, int n_pages, uint32_t seed)
      : shape_(shape),
        group_(group),
        random_(seed),
        memory_(n_pages * shape.page_bytes(), std::byte{0xff}) {}

  int window() const { return window_; }
  void set_window(int window) { window_ = window; }                        // 0: none
  void set_cap(float cap) { cap_ = cap; }                                  // of scores; 0: none
  void set_sinks(std::vector<float> sinks) { sinks_ = std::move(sinks); }  // [n_heads], base e
  const KvShape& shape() const { return shape_; }
  const std::vector<Row>& rows() const { return rows_; }
  int n_heads() const { return shape_.n_kv_heads * group_; }
  int uniform(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // Appends a segment of n tokens to the path `pages` of n_before tokens; its last n_rows tokens
  // are rows of the step.
  void extend(std::vector<PageId>& pages, int n_before, int n, int n_rows) {
    pages.resize((n_before + shape_.page_len - 1) / shape_.page_len);
    if (n_before % shape_.page_len !=
        0) {  // a branch has its own copy of the page it leaves half way
      const PageId old = pages.back();
      pages.back() = n_used_pages_++;
      for (int j = 0; j < n_before % shape_.page_len; ++j) copy(old, pages.back(), j);
    }
    for (int p = n_before; p < n_before + n; ++p) {
      if (p % shape_.page_len == 0) pages.push_back(n_used_pages_++);
      fill(pages.back(), p % shape_.page_len);
      if (p < n_before + n - n_rows) continue;
      rows_.push_back({static_cast<uint32_t>(p), pages});
    }
  }

  void grow(std::vector<PageId> pages, int n_before, int most, int depth) {
    const int n = uniform(1, most);
    extend(pages, n_before, n, uniform(depth == 0 ? 1 : 0, n));
    const int n_children = depth == 0 ? 0 : uniform(1, 3);
    for (int i = 0; i < n_children; ++i) grow(pages, n_before + n, most, depth - 1);
  }

  void make_queries() {
    q_.resize(rows_.size() * n_heads() * shape_.head_dim);
    for (float& x : q_) x = std::normal_distribution<float>()(random_) * 2;
  }

  std::vector<float> run(const Kernels& kernels, ThreadPool& pool, Grouping grouping) {
    return run(grouping,
               [&](const AttentionArgs& args) { attention(kernels, pool, args, scratch_); });
  }

  // Does the same with every n_parts-th block of spans_each spans in one part; joins the states of
  // the blocks.
  std::vector<float> run_parts(const Kernels& kernels, ThreadPool& pool, uint32_t n_parts,
                               uint32_t spans_each) {
    return run(Grouping::kMaximal, [&](const AttentionArgs& args) {
      const size_t n_rows = rows_.size();
      const uint32_t block_len = spans_each * shape_.span_len;
      const uint32_t n_blocks = *std::ranges::max_element(args.positions) / block_len + 1;
      std::vector<float> states(n_blocks * n_rows * n_heads() * state_len(shape_.head_dim), NAN);
      std::vector<uint8_t> here;
      AttentionBlocks blocks{.spans_each = spans_each, .here = {}, .states = states.data()};
      for (uint32_t part = 0; part < n_parts; ++part) {
        std::vector<AttentionTask> tasks;
        here.assign(n_blocks * n_rows, 0);
        for (const AttentionTask& task : args.tasks) {
          const uint32_t block = task.tile * shape_.tile_len / block_len;
          if (block % n_parts != part) continue;
          tasks.push_back(task);
          for (uint32_t row = task.row_begin; row < task.row_end; ++row)
            here[block * n_rows + row] = 1;
        }
        AttentionArgs own = args;
        own.tasks = tasks;
        own.out = nullptr;
        blocks.here = here;
        attend_blocks(kernels, pool, own, blocks, scratch_);
      }
      for (uint32_t row = 0; row < n_rows; ++row)
        finish_blocks(kernels, args, blocks, row,
                      args.out + static_cast<size_t>(row) * n_heads() * shape_.head_dim);
    });
  }

  std::vector<float> reference() {
    std::vector<float> out;
    for (size_t i = 0; i < q_.size(); i += shape_.head_dim) {
      const Row& row = rows_[i / shape_.head_dim / n_heads()];
      const int query_head = i / shape_.head_dim % n_heads(), head = query_head / group_;
      const float* const sink = sinks_.empty() ? nullptr : &sinks_[query_head];
      const float in_base_2 = sink == nullptr ? 0.0f : base_2(*sink);
      const float* const score = sink == nullptr ? nullptr : &in_base_2;
      const auto key = [&](int j, int d) {
        return load_key(row.pages[j / shape_.page_len], head, j % shape_.page_len, d);
      };
      const auto value = [&](int j, int d) {
        return load_value(row.pages[j / shape_.page_len], head, j % shape_.page_len, d);
      };
      const int position = static_cast<int>(row.position);
      const int from = window_ == 0 ? 0 : std::max(0, position - window_ + 1);
      const std::vector<float> one =
          is_int8() ? in_integers(row, head, &q_[i], from, score)
                    : attention_in_floats(shape_, scale(), base_2_cap(), &q_[i], from, position,
                                          key, value, score);
      out.insert(out.end(), one.begin(), one.end());
      worst_ = std::max(worst_, distance(one, &q_[i], from, position, key, value, sink));
    }
    return out;
  }
  // Largest relative error (L2) of the reference against a softmax in double precision.
  double worst() const { return worst_; }

  // All channels of one position of one page become `x`, or of int8 the scales.
  void overwrite(PageId page, int offset, float x) {
    for (int head = 0; head < shape_.n_kv_heads; ++head) {
      if (is_int8())
        for (std::byte* chunk : {keys(page, head), values(page, head)}) scale_at(chunk, offset) = x;
      for (int d = 0; d < shape_.head_dim && !is_int8(); ++d) {
        store(page, shape_.key_offset(kLayer, head), d * shape_.page_len + offset, x);
        store(page, shape_.value_offset(kLayer, head), offset * shape_.head_dim + d, x);
      }
    }
  }

  // int8 only: sets all keys to one integer and all values to another, in every channel.
  void make_all(int key, int value) {
    for (PageId page = 0; page < n_used_pages_; ++page)
      for (int head = 0; head < shape_.n_kv_heads; ++head)
        for (int offset = 0; offset < shape_.page_len; ++offset) {
          for (std::byte* chunk : {keys(page, head), values(page, head)})
            scale_at(chunk, offset) = 1.0f / 128;
          for (int d = 0; d < shape_.head_dim; ++d) {
            *key_byte(keys(page, head), offset, d) = static_cast<std::byte>(key + 128);
            *value_byte(values(page, head), offset, d) = static_cast<std::byte>(value);
          }
        }
  }

 private:
  static constexpr int kLayer = 1;

  template <class Attend>
  std::vector<float> run(Grouping grouping, const Attend& attend) {
    std::vector<AttentionTask> tasks;
    std::vector<PageId> task_pages;
    make_tasks(grouping, tasks, task_pages);
    std::vector<uint32_t> positions;
    for (const Row& row : rows_) positions.push_back(row.position);
    std::vector<float> out(q_.size(), NAN);
    std::vector<float> sinks;
    for (const float sink : sinks_) sinks.push_back(base_2(sink));
    const std::vector<float> q = spread_rows(q_, rows_.size());
    attend(AttentionArgs{
        .kv = {memory_.data(), shape_},
        .layer = kLayer,
        .n_heads = n_heads(),
        .scale = scale(),
        .cap = base_2_cap(),
        .window = window_,
        .sinks = sinks.empty() ? nullptr : sinks.data(),
        .positions = positions,
        .tasks = tasks,
        .task_pages = task_pages,
        .q = q.data(),
        .q_stride = static_cast<int64_t>(q.size() / std::max(rows_.size(), size_t{1})),
        .out = out.data()});
    return out;
  }
  float scale() const {
    return static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(shape_.head_dim)));
  }
  static float base_2(float score) { return static_cast<float>(1.4426950408889634 * score); }
  float base_2_cap() const { return base_2(cap_); }
  std::byte* element(PageId page, size_t offset, int i) {
    return memory_.data() + page * shape_.page_bytes() + offset + i * dtype_size(shape_.type);
  }
  float load(PageId page, size_t offset, int i) {
    uint16_t half;
    float full;
    std::memcpy(&half, element(page, offset, i), 2);
    if (shape_.type == DType::kF16) return f16_to_f32(half);
    if (shape_.type == DType::kBF16) return bf16_to_f32(half);
    std::memcpy(&full, element(page, offset, i), 4);
    return full;
  }
  void store(PageId page, size_t offset, int i, float x) {
    const uint16_t half = shape_.type == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
    const bool full = shape_.type == DType::kF32;
    std::memcpy(element(page, offset, i), full ? static_cast<const void*>(&x) : &half,
                dtype_size(shape_.type));
  }
  void fill(PageId page, int offset) {
    std::normal_distribution<float> normal;
    for (int head = 0; head < shape_.n_kv_heads; ++head) {
      if (is_int8())
        for (std::byte* chunk : {keys(page, head), values(page, head)})
          scale_at(chunk, offset) = static_cast<float>(uniform(10, 40)) / 1024;
      for (int d = 0; d < shape_.head_dim; ++d) {
        if (is_int8()) {
          *key_byte(keys(page, head), offset, d) = static_cast<std::byte>(uniform(1, 255));
          *value_byte(values(page, head), offset, d) = static_cast<std::byte>(uniform(-127, 127));
          continue;
        }
        store(page, shape_.key_offset(kLayer, head), d * shape_.page_len + offset, normal(random_));
        store(page, shape_.value_offset(kLayer, head), offset * shape_.head_dim + d,
              normal(random_));
      }
    }
  }
  void copy(PageId from, PageId to, int offset) {
    for (int head = 0; head < shape_.n_kv_heads; ++head) {
      if (is_int8()) {
        scale_at(keys(to, head), offset) = scale_at(keys(from, head), offset);
        scale_at(values(to, head), offset) = scale_at(values(from, head), offset);
      }
      for (int d = 0; d < shape_.head_dim; ++d) {
        if (is_int8()) {
          *key_byte(keys(to, head), offset, d) = *key_byte(keys(from, head), offset, d);
          *value_byte(values(to, head), offset, d) = *value_byte(values(from, head), offset, d);
          continue;
        }
        const int k = d * shape_.page_len + offset, v = offset * shape_.head_dim + d;
        const size_t keys = shape_.key_offset(kLayer, head),
                     values = shape_.value_offset(kLayer, head);
        store(to, keys, k, load(from, keys, k));
        store(to, values, v, load(from, values, v));
      }
    }
  }

  // True if keys and values are int8, as exec/cpu/kernel/kv_layout.h lays them out.
  bool is_int8() const { return shape_.type == DType::kI8; }
  std::byte* keys(PageId page, int head) {
    return memory_.data() + page * shape_.page_bytes() + shape_.key_offset(kLayer, head);
  }
  std::byte* values(PageId page, int head) {
    return memory_.data() + page * shape_.page_bytes() + shape_.value_offset(kLayer, head);
  }
  std::byte* key_byte(std::byte* chunk, int offset, int d) const {
    return chunk + d / 4 * 4 * shape_.page_len + 4 * offset + d % 4;
  }
  std::byte* value_byte(std::byte* chunk, int offset, int d) const {
    const int dim = (shape_.head_dim + 15) / 16 * 16;
    return chunk + offset / 4 * 4 * dim + 4 * d + offset % 4;
  }
  float& scale_at(std::byte* chunk, int offset) const {
    return reinterpret_cast<float*>(chunk +
                                    int8_element_bytes(shape_.page_len, shape_.head_dim))[offset];
  }
  int key_integer(PageId page, int head, int offset, int d) {
    return static_cast<uint8_t>(*key_byte(keys(page, head), offset, d)) - 128;
  }
  int value_integer(PageId page, int head, int offset, int d) {
    return static_cast<int8_t>(*value_byte(values(page, head), offset, d));
  }
  float load_key(PageId page, int head, int offset, int d) {
    if (is_int8())
      return static_cast<float>(key_integer(page, head, offset, d)) *
             scale_at(keys(page, head), offset);
    return load(page, shape_.key_offset(kLayer, head), d * shape_.page_len + offset);
  }
  float load_value(PageId page, int head, int offset, int d) {
    if (is_int8())
      return static_cast<float>(value_integer(page, head, offset, d)) *
             scale_at(values(page, head), offset);
    return load(page, shape_.value_offset(kLayer, head), offset * shape_.head_dim + d);
  }
  std::vector<float> in_integers(const Row& row, int head, const float* q, int from,
                                 const float* sink) {
    const int n = shape_.page_len;
    return attention_in_integers(
        shape_, scale(), base_2_cap(), q, from, static_cast<int>(row.position),
        [&](int j, int d) { return key_integer(row.pages[j / n], head, j % n, d); },
        [&](int j) { return scale_at(keys(row.pages[j / n], head), j % n); },
        [&](int j, int d) { return value_integer(row.pages[j / n], head, j % n, d); },
        [&](int j) { return scale_at(values(row.pages[j / n], head), j % n); }, sink);
  }

  void make_tasks(Grouping grouping, std::vector<AttentionTask>& tasks,
                  std::vector<PageId>& pages) {
    const size_t per_tile = shape_.pages_per_tile();
    bool any = true;
    for (uint32_t tile = 0; any; ++tile) {
      any = false;
      std::vector<PageId> run;  // pages of the task that the previous row belongs to
      for (uint32_t r = 0; r < rows_.size(); ++r) {
        const std::vector<PageId>& all = rows_[r].pages;
        if (all.size() <= tile * per_tile) {
          run.clear();
          continue;
        }
        any = true;
        const std::vector<PageId> own(all.begin() + tile * per_tile,
                                      all.begin() + std::min(all.size(), (tile + 1) * per_tile));
        const size_t n_common = std::min(own.size(), run.size());
        bool joins = !run.empty() && std::equal(own.begin(), own.begin() + n_common, run.begin());
        if (grouping == Grouping::kSingle || (grouping == Grouping::kRandom && uniform(0, 2) == 0))
          joins = false;
        if (!joins) {
          tasks.push_back({tile, r, r, static_cast<uint32_t>(pages.size()), 0});
          run.clear();
        }
        pages.insert(pages.end(), own.begin() + std::min(own.size(), run.size()), own.end());
        if (own.size() > run.size()) run = own;
        tasks.back().row_end = r + 1;
        tasks.back().n_pages = static_cast<uint32_t>(run.size());
      }
    }
  }

  template <class Key, class Value>
  double distance(const std::vector<float>& out, const float* q, int from, int position,
                  const Key& key, const Value& value, const float* sink) const {
    std::vector<double> s(position + 1, 0.0), exact(out.size(), 0.0);
    double z = 0, error = 0, norm = 0;
    for (int j = from; j <= position; ++j)
      for (size_t d = 0; d < out.size(); ++d) s[j] += double{q[d]} * key(j, d);
    const double max = *std::max_element(s.begin() + from, s.end());
    const double root = std::sqrt(static_cast<double>(out.size()));
    const auto capped = [&](double x) { return cap_ == 0 ? x : cap_ * std::tanh(x / cap_); };
    if (sink != nullptr) z = std::exp(*sink - capped(max / root));
    for (int j = from; j <= position; ++j) {
      const double w = std::exp(capped(s[j] / root) - capped(max / root));
      z += w;
      for (size_t d = 0; d < out.size(); ++d) exact[d] += w * value(j, d);
    }
    for (size_t d = 0; d < out.size(); ++d) {
      error += std::pow(out[d] - exact[d] / z, 2);
      norm += std::pow(exact[d] / z, 2);
    }
    return std::sqrt(error / norm);
  }

  KvShape shape_;
  int group_;
  int window_ = 0;
  float cap_ = 0;
  std::vector<float> sinks_;
  std::mt19937 random_;
  std::vector<std::byte> memory_;
  PageId n_used_pages_ = 0;
  std::vector<Row> rows_;
  std::vector<float> q_;
  AttentionScratch scratch_;
  double worst_ = 0;
};

inline constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kI8};

inline KvShape tiny(DType type, int n_kv_heads, int head_dim, int page_len = 4, int tile_len = 8,
                    int span_len = 16) {
  return {.type = type,
          .n_layers = 2,
          .n_kv_heads = n_kv_heads,
          .head_dim = head_dim,
          .page_len = page_len,
          .tile_len = tile_len,
          .span_len = span_len};
}

// Index of the first difference, or -1.
inline int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) return static_cast<int64_t>(i);
  return -1;
}

// Every instruction set, grouping and number of threads gives the reference's bits.
inline void expect_exact(Step& step) {
  step.make_queries();
  const std::vector<float> expected = step.reference();
  EXPECT_LT(step.worst(), step.shape().type == DType::kI8 ? 0.1 : 1e-5);
  static ThreadPool one(1), two(2), five(5);  // five: more threads than work, so that spans are cut
  const std::pair<ThreadPool*, Grouping> ways[] = {{&one, Grouping::kMaximal},
                                                   {&one, Grouping::kSingle},
                                                   {&two, Grouping::kRandom},
                                                   {&five, Grouping::kMaximal},
                                                   {&five, Grouping::kRandom}};
  for (const Kernels* kernels : all_kernels())
    for (const auto& [pool, grouping] : ways)
      EXPECT_EQ(first_difference(step.run(*kernels, *pool, grouping), expected), -1)
          << kernels->name << ", threads " << pool->n_threads() << ", grouping "
          << static_cast<int>(grouping) << ", " << dtype_name(step.shape().type) << ", head_dim "
          << step.shape().head_dim << ", rows " << step.rows().size() << ", window "
          << step.window();
}

}  // namespace pando::kernel
