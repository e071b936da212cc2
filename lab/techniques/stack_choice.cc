#include "lab/techniques/stack_choice.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "exec/cpu/kernel/row_chunks.h"

namespace pando::lab {
namespace {

// Work for the headers and for all passes of answers, pads included.
struct Work {
  double rows = 0;
  double cells = 0;  // cells met, over all rows
};

uint64_t rounded_up(uint64_t n, uint32_t unit) { return (n + unit - 1) / unit * unit; }

// The work of one batch. It assumes that all answers end together.
class BatchWork {
 public:
  BatchWork(std::span<const ContextSize> contexts, uint32_t n_contexts, uint32_t instruction_len,
            const RowCosts& costs)
      : instruction_len_(instruction_len), costs_(costs) {
    StackBatch batch(instruction_len, n_contexts);
    for (uint32_t i = 0; i < contexts.size(); ++i) batch.add(i, contexts[i]);
    widest_ = batch.widest();
    header_chunk_ = costs.chunk(batch.stacks().size() * widest_.cells);
    answer_chunk_ = costs.chunk(batch.stacks().size() * widest_.questions);
    for (const ContextSize& stack : batch.stacks()) {
      const auto own = contexts.first(std::min<size_t>(n_contexts, contexts.size()));
      contexts = contexts.subspan(own.size());
      const uint64_t n_pads = widest_.cells - stack.cells;
      add_header(own, n_pads);
      add_answers(own, n_pads);
    }
  }

  const Work& work() const { return work_; }

 private:
  // A row sees the instruction and its own context; pads see pads.
  void add_header(std::span<const ContextSize> contexts, uint64_t n_pads) {
    uint64_t begin = 0, end = n_pads;  // rows of the context that a chunk's first row is in
    size_t next = 0;
    for (uint64_t row = 0; row < widest_.cells; row += header_chunk_) {
      while (row >= end) begin = end, end += contexts[next++].cells;
      const uint64_t row_end = std::min(row + header_chunk_, widest_.cells);
      add(row_end - row, row_end - begin, 1);
    }
  }

  // Counts a pass in the middle, and takes it for all passes.
  void add_answers(std::span<const ContextSize> contexts, uint64_t n_pads) {
    const uint64_t n_passes = std::max<uint64_t>(widest_.answer, 1) - 1;
    const uint64_t n_rows = widest_.questions;
    const uint64_t n_chunks = (n_rows + answer_chunk_ - 1) / answer_chunk_;
    size_t first = 0;    // context of a chunk's first row
    uint64_t begin = 0;  // first row of this context
    for (uint64_t i = 0; i < n_chunks; ++i) {
      const uint64_t row = i * n_rows / n_chunks, row_end = (i + 1) * n_rows / n_chunks;
      while (first < contexts.size() && begin + contexts[first].questions <= row)
        begin += contexts[first++].questions;
      // Earlier answers of these rows are adjacent, and share tiles with those of other rows.
      uint64_t n_cells = n_passes / 2 * std::min<uint64_t>(n_rows, row_end - row + costs_.tile - 1);
      uint64_t end = begin;
      for (size_t c = first; c < contexts.size() && end < row_end; ++c) {
        n_cells += contexts[c].cells;
        end += contexts[c].questions;
      }
      if (end < row_end) n_cells += n_pads;
      add(row_end - row, n_cells, static_cast<double>(n_passes));
    }
  }

  void add(uint64_t n_rows, uint64_t n_cells, double n_times) {
    const auto rows = static_cast<double>(n_rows) * n_times;
    work_.rows += rows;
    work_.cells += rows * static_cast<double>(rounded_up(instruction_len_ + n_cells, costs_.tile));
  }

  uint32_t instruction_len_;
  const RowCosts& costs_;
  ContextSize widest_;
  uint64_t header_chunk_, answer_chunk_;
  Work work_;
};

// The number of contexts that the first batch holds.
uint32_t contexts_of_batch(std::span<const ContextSize> contexts, uint32_t n_contexts,
                           uint32_t instruction_len, const BatchLimits& limits) {
  StackBatch batch(instruction_len, n_contexts);
  uint32_t n = 0;
  for (; n < contexts.size(); ++n) {
    batch.add(n, contexts[n]);
    if (n > 0 && !limits.hold(batch)) break;
  }
  return n;
}

// The work for all contexts, in as many batches as they need.
Work work_of(std::span<const ContextSize> contexts, uint32_t n_contexts, uint32_t instruction_len,
             const BatchLimits& limits, const RowCosts& costs) {
  Work all;
  while (!contexts.empty()) {
    const uint32_t n = contexts_of_batch(contexts, n_contexts, instruction_len, limits);
    const Work work = BatchWork(contexts.first(n), n_contexts, instruction_len, costs).work();
    all.rows += work.rows;
    all.cells += work.cells;
    contexts = contexts.subspan(n);
  }
  return all;
}

}  // namespace

uint64_t RowCosts::chunk(uint64_t n_rows) const {
  const auto n_shares =
      static_cast<uint64_t>(n_threads == 1 ? 1 : kernel::kItemsPerThread * n_threads);
  return std::clamp<uint64_t>(n_rows * static_cast<uint64_t>(n_kv_heads) / n_shares,
                              std::max(1, kernel::kFewestQueriesEach / group),
                              kernel::most_chunk_rows(group));
}

bool BatchLimits::hold(const StackBatch& batch) const {
  const bool few = n_stacks > 0 ? batch.stacks().size() <= n_stacks : batch.n_rows() <= n_rows;
  return few && batch.n_pages(page_len) <= n_pages;
}

uint32_t contexts_of_stack(std::span<const ContextSize> contexts, uint32_t instruction_len,
                           const BatchLimits& limits, const RowCosts& costs) {
  // Time of a multiply-add of attention relative to one of a matrix. Attention reads keys in small
  // pieces and has a softmax. The ratio is 2 on Intel with AVX-512, and depends on the machine.
  static constexpr std::array kTimes = {1.5, 2.0, 3.0};
  struct Choice {
    uint32_t n_contexts;
    std::array<double, kTimes.size()> time;
  };
  std::vector<Choice> choices;
  std::array<double, kTimes.size()> least;
  least.fill(std::numeric_limits<double>::infinity());
  const auto n = static_cast<uint32_t>(contexts.size());
  const uint32_t most = contexts_of_batch(contexts, n, instruction_len, limits);
  for (uint32_t n_contexts = 1; n_contexts <= n; ++n_contexts) {
    if (n_contexts > most) n_contexts = n;  // a stack of more would fill a batch
    const Work work = work_of(contexts, n_contexts, instruction_len, limits, costs);
    Choice choice{n_contexts, {}};
    for (size_t i = 0; i < kTimes.size(); ++i) {
      choice.time[i] = work.rows * costs.cells + work.cells * kTimes[i];
      least[i] = std::min(least[i], choice.time[i]);
    }
    choices.push_back(choice);
  }
  // The choice that is never far from the best.
  const auto worst = [&](const Choice& choice) {
    double times = 0;
    for (size_t i = 0; i < kTimes.size(); ++i) times = std::max(times, choice.time[i] / least[i]);
    return times;
  };
  return std::ranges::min_element(choices, {}, worst)->n_contexts;
}

}  // namespace pando::lab
