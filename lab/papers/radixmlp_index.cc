// RadixMLP's tables 5 and 6: what its maps and its copies of rows cost.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "base/aligned_buffer.h"
#include "bench/cpu/kernel_rates.h"
#include "bench/timing.h"
#include "lab/kernel/select_rows.h"
#include "lab/papers/radixmlp.h"
#include "lab/techniques/prefix_index.h"

namespace pando::lab {
namespace {

// A ragged batch.
struct Batch {
  std::vector<Token> ids;
  std::vector<uint32_t> positions, cu_seq_lens = {0};

  void add(const std::vector<Token>& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) positions.push_back(static_cast<uint32_t>(i));
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    cu_seq_lens.push_back(static_cast<uint32_t>(ids.size()));
  }
};

// n sequences of `len` tokens of which the first `percent` are the same.
Batch shared_prefix(std::mt19937& random, int n, int len, int percent) {
  Batch batch;
  std::vector<Token> tokens(static_cast<size_t>(len));
  const auto n_shared = static_cast<size_t>(len * percent / 100);
  for (int i = 0; i < n; ++i) {
    for (size_t j = i == 0 ? 0 : n_shared; j < tokens.size(); ++j)
      tokens[j] = static_cast<Token>(random() % 150'000);
    batch.add(tokens);
  }
  return batch;
}

// 512 sequences of 32 tokens, each of which leaves an earlier one after a few: runs of run_len.
Batch bushy(std::mt19937& random, int run_len) {
  Batch batch;
  std::vector<Token> tokens;
  for (int i = 0; i < 512; ++i) {
    tokens.clear();
    for (int branch = 0; branch < 32 / run_len; ++branch) {
      const auto which = static_cast<Token>(random() % 3);  // of three children at every branch
      for (int j = 0; j < run_len; ++j) tokens.push_back(which * 1000 + static_cast<Token>(j));
    }
    batch.add(tokens);
  }
  return batch;
}

struct Row {
  std::string name;
  Batch (*make)(std::mt19937& random, int n, int len, int percent);
  int n, len, percent;
  double paper;  // million tokens a second
};

Batch make_bushy(std::mt19937& random, int run_len, int, int) { return bushy(random, run_len); }

}  // namespace

void run_radixmlp_table_5(Harness& harness) {
  std::vector<Row> rows;
  const auto add = [&](int n, int len, int percent, double paper) {
    rows.push_back({fmt::format("{} x {}, {}% shared", n, len, percent), shared_prefix, n, len,
                    percent, paper});
  };
  for (const auto& [n, paper] :
       {std::pair{4, 46.1}, {8, 26.8}, {16, 26.7}, {64, 28.4}, {256, 28.0}})
    add(n, 512, 25, paper);
  if (!harness.quick()) add(2048, 512, 25, 17.3);
  for (const auto& [len, paper] : {std::pair{128, 28.1}, {256, 27.8}, {1024, 27.1}, {2048, 28.7}})
    add(32, len, 25, paper);
  for (const auto& [percent, paper] :
       {std::pair{0, 22.0}, {25, 25.2}, {50, 36.3}, {75, 56.3}, {100, 127.4}})
    add(32, 512, percent, paper);
  add(1, 512, 0, 1800);
  for (const int run_len : {4, 8})
    rows.push_back(
        {fmt::format("bushy, runs of {}", run_len), make_bushy, run_len, 0, 0, kNotMeasured});

  // Batches take turns, so that neither tokens nor branches are known from the call before.
  constexpr size_t kBatches = 16;
  Table table{
      .title = "RadixMLP table 5: construction of the index maps, one thread",
      .columns = {"sequences", "rows / token", "us", "million tokens/s", "by processor time",
                  "paper: million tokens/s"},
      .notes = {"The paper: one thread of an Intel server, its own crate. The same work, so "
                "the rates can be compared as far as the machines can."}};
  for (const Row& row : rows) {
    std::mt19937 random(1);
    std::vector<Batch> batches;
    for (size_t i = 0; i < kBatches; ++i)
      batches.push_back(row.make(random, row.n, row.len, row.percent));
    PrefixIndexer indexer;
    size_t turn = 0, n_rows = 0;
    const CallTime time = time_calls(harness.choose(0.01, 0.3, 1.0), [&] {
      const Batch& batch = batches[turn++ % kBatches];
      n_rows = indexer.build(batch.ids, batch.positions, batch.cu_seq_lens).gather.size();
    });
    const auto n_tokens = static_cast<double>(batches[0].ids.size());
    table.add({row.name, number(static_cast<double>(n_rows) / n_tokens), number(1e6 * time.wall),
               number(1e-6 * n_tokens / time.wall), number(1e-6 * n_tokens / time.processor),
               number(row.paper)});
  }
  harness.show(table, {.columns = {"million tokens/s"}});
}

void run_radixmlp_table_6(Harness& harness) {
  struct Shape {
    int rows, width, out;
    double native_us, paper_us;
  };
  // Smallest first. Of three dimensions the latter two are one row.
  std::vector<Shape> shapes = {
      {100, 128, 200, 16.436, 12.645},        {10, 100 * 128, 200, 33.675, 16.217},
      {16000, 1024, 12000, 340.41, 46.25},    {16000, 1024, 70000, 1980, 204.54},
      {2000, 64 * 256, 10000, 3737, 432.668}, {100000, 2048, 500000, 45636, 2828}};
  shapes.resize(harness.choose<size_t>(1, 5, 6));
  const double bandwidth = read_bandwidth(harness);
  ThreadPool pool(harness.threads());
  Table table{
      .title =
          fmt::format("RadixMLP table 6: copies of rows of f32, {} threads", harness.threads()),
      .columns = {"rows x width", "rows out", "value by value, us", "ours, us", "speed-up",
                  "GB/s read and written", "plain reads, GB/s", "paper: native, us",
                  "paper: theirs, us", "paper: speed-up"},
      .notes = {"The paper: an H100 and 1-D kernels of Candle 0.9.1 beside theirs; only its last "
                "column is a ratio of like things. Value by value: an index is looked up for every "
                "value, on all threads. Rows of 12,800 and 16,384 values are the paper's shapes "
                "[10, 100, 128] and [2000, 64, 256]."}};
  for (const Shape& shape : shapes) {
    const auto width = static_cast<size_t>(shape.width);
    const AlignedBuffer from(static_cast<size_t>(shape.rows) * width * sizeof(float));
    const AlignedBuffer to(static_cast<size_t>(shape.out) * width * sizeof(float));
    std::fill_n(from.as<float>(), static_cast<size_t>(shape.rows) * width, 1.0f);
    std::minstd_rand random(1);
    std::vector<uint32_t> index(static_cast<size_t>(shape.out));
    for (uint32_t& i : index) i = static_cast<uint32_t>(random() % shape.rows);
    const auto one_by_one = [&] {
      constexpr int64_t kPiece = 1 << 14;
      const auto n = static_cast<int64_t>(index.size() * width);
      pool.parallel_for((n + kPiece - 1) / kPiece, [&](int64_t item, int) {
        for (int64_t i = item * kPiece; i < std::min(n, (item + 1) * kPiece); ++i) {
          const auto at = static_cast<size_t>(i);
          to.as<float>()[at] = from.as<float>()[index[at / width] * width + at % width];
        }
      });
    };
    const auto times = times_in_turn(harness.choose(0.02, 1.0, 5.0),
                                     {one_by_one, [&] {
                                        kernel::select_rows(pool, index, from.as<float>(), width,
                                                            width, to.as<float>());
                                      }});
    const double ours = median(times[1]);
    table.add({fmt::format("{} x {}", shape.rows, shape.width), std::to_string(shape.out),
               number(1e6 * median(times[0])), number(1e6 * ours),
               number(times_faster(times[1], times[0])),
               number(2e-9 * static_cast<double>(to.size()) / ours), number(1e-9 * bandwidth),
               number(shape.native_us), number(shape.paper_us),
               number(shape.native_us / shape.paper_us)});
  }
  harness.show(table, {.columns = {"speed-up"}});
}

}  // namespace pando::lab
