#include "engine/output_reader.h"

#include <algorithm>
#include <chrono>

namespace pando {

std::vector<std::vector<ReadRow>> OutputReader::read(std::span<const uint32_t> output_of,
                                                     uint32_t n_outputs,
                                                     const std::vector<WantedOutput>& wanted,
                                                     const std::vector<Sequence*>& sequences) {
  logits_.resize(std::max(logits_.size(), std::min(n_outputs, kLogitRows) * vocab_));
  std::vector<size_t> first_of(wanted.size());  // index into output_of
  for (size_t i = 1; i < wanted.size(); ++i)
    first_of[i] = first_of[i - 1] + wanted[i - 1].end - wanted[i - 1].begin;

  std::vector<std::vector<ReadRow>> read(wanted.size());
  for (uint32_t first = 0; first < n_outputs; first += kLogitRows) {
    const uint32_t n = std::min(kLogitRows, n_outputs - first);
    std::vector<Row> rows;  // of this block, whose logits are wanted
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (sequences[i]->done) continue;
      // A path's outputs ascend, so each sequence reads its own in order.
      for (uint32_t position = wanted[i].begin + static_cast<uint32_t>(read[i].size());
           position < wanted[i].end; ++position) {
        const size_t row = output_of[first_of[i] + position - wanted[i].begin] - first;
        if (row >= n) break;
        read[i].emplace_back();
        if (sequences[i]->request->request.pooling == Pooling::kNone) {
          rows.push_back({i, position, row});
          continue;
        }
        const std::span hidden(executor_.hidden(first + static_cast<uint32_t>(row), 1), d_model_);
        sequences[i]->pool(position, hidden);
        read[i].back().logits_hash = sequences[i]->add_to_hash(hidden);
      }
    }
    if (rows.empty()) continue;
    compute_logits(first, n, rows, sequences);
    const auto start = std::chrono::steady_clock::now();
    read_logits(rows, wanted, sequences, read);
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return read;
}

void OutputReader::compute_logits(uint32_t first, uint32_t n, std::vector<Row>& rows,
                                  const std::vector<Sequence*>& sequences) {
  std::vector<bool> is_wanted(n, false);
  for (const Row& row : rows)
    if (observer_ || sequences[row.wanted]->reads_logits(row.position))
      is_wanted[row.of_block] = true;
  std::vector<Token> largest(n);
  if (!executor_.logits_or_largest(first, is_wanted, logits_.data(), largest.data())) return;
  for (Row& row : rows)
    if (!is_wanted[row.of_block]) row.largest = largest[row.of_block];
}

void OutputReader::read_logits(const std::vector<Row>& rows,
                               const std::vector<WantedOutput>& wanted,
                               const std::vector<Sequence*>& sequences,
                               std::vector<std::vector<ReadRow>>& read) {
  const auto logits_of = [&](const Row& row) {
    return std::span<const float>(logits_).subspan(row.of_block * vocab_, vocab_);
  };
  if (observer_)
    for (const Row& row : rows)
      observer_(sequences[row.wanted]->request->id, sequences[row.wanted]->choice, row.position + 1,
                logits_of(row));
  const auto read_of = [&](const Row& row) -> ReadRow& {
    return read[row.wanted][row.position - wanted[row.wanted].begin];
  };
  pool_.parallel_for(static_cast<int64_t>(rows.size()), [&](int64_t k, int) {
    const Row& row = rows[k];
    Sequence& sequence = *sequences[row.wanted];
    read_of(row).next = row.largest ? sequence.read_largest(*row.largest, row.position)
                                    : sequence.read(logits_of(row), row.position);
  });
  for (const Row& row : rows)
    read_of(row).logits_hash = sequences[row.wanted]->add_to_hash(logits_of(row));
}

}  // namespace pando
