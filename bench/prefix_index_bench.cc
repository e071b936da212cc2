// Index construction of RadixMLP (its table 5): tokens a second on one thread, over batches that
// take turns, so that neither tokens nor branches are known from the call before.
#include <benchmark/benchmark.h>

#include <random>

#include "plan/prefix_index.h"

namespace pando {
namespace {

struct Batch {
  std::vector<Token> ids;
  std::vector<uint32_t> positions, cu_seq_lens = {0};

  void add(const std::vector<Token>& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) positions.push_back(static_cast<uint32_t>(i));
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    cu_seq_lens.push_back(static_cast<uint32_t>(ids.size()));
  }
};

constexpr int kBatches = 16;

template <class Make>
void run(benchmark::State& state, const Make& make) {
  std::mt19937 rng(1);
  std::vector<Batch> batches;
  for (int i = 0; i < kBatches; ++i) batches.push_back(make(rng));
  PrefixIndexer indexer;
  size_t turn = 0, n_tokens = 0, n_rows = 0;
  for (auto _ : state) {
    const Batch& batch = batches[turn++ % kBatches];
    n_rows = indexer.build(batch.ids, batch.positions, batch.cu_seq_lens).gather.size();
    n_tokens += batch.ids.size();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<int64_t>(n_tokens));
  state.counters["rows/token"] =
      static_cast<double>(n_rows) / static_cast<double>(batches[0].ids.size());
}

// Sequences of `len` tokens that share a beginning.
void BM_SharedPrefix(benchmark::State& state) {
  const auto n = state.range(0), len = state.range(1), percent = state.range(2);
  run(state, [&](std::mt19937& rng) {
    Batch batch;
    std::vector<Token> tokens(len);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i == 0 ? 0 : len * percent / 100; j < len; ++j)
        tokens[j] = static_cast<Token>(rng() % 150'000);
      batch.add(tokens);
    }
    return batch;
  });
}
BENCHMARK(BM_SharedPrefix)
    ->ArgsProduct({{32}, {512}, {0, 25, 50, 75, 100}})
    ->Args({2048, 512, 25})
    ->Args({32, 2048, 25})
    ->Args({1, 512, 0});

// Every sequence leaves an earlier one after a few tokens: runs of about `run_len`.
void BM_Bushy(benchmark::State& state) {
  const auto run_len = state.range(0);
  run(state, [&](std::mt19937& rng) {
    Batch batch;
    std::vector<Token> tokens;
    for (int i = 0; i < 512; ++i) {
      tokens.clear();
      for (int branch = 0; branch < 32 / run_len; ++branch) {
        const auto which = static_cast<Token>(rng() % 3);  // of three children at every branch
        for (int64_t j = 0; j < run_len; ++j)
          tokens.push_back(which * 1000 + static_cast<Token>(j));
      }
      batch.add(tokens);
    }
    return batch;
  });
}
BENCHMARK(BM_Bushy)->Arg(4)->Arg(8);

}  // namespace
}  // namespace pando

BENCHMARK_MAIN();
