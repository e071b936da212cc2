#include "schedule/part_loads.h"

#include <algorithm>

namespace pando {

// Calls use(load, begin, end) for the positions [begin, end) of each block up to `end`, cut to the
// block, with the load of its part.
template <class Use>
void PartLoads::for_blocks(uint32_t first, uint32_t begin, uint32_t end, const Use& use) {
  const uint64_t len = ranks_->block_len;
  for (uint64_t block = begin / len; block * len < end; ++block)
    use(loads_[(first + block) % loads_.size()],
        static_cast<uint32_t>(std::max<uint64_t>(begin, block * len)),
        static_cast<uint32_t>(std::min<uint64_t>(end, (block + 1) * len)));
}

void PartLoads::add_rows(uint32_t first, uint32_t begin, uint32_t n) {
  if (loads_.empty() || n == 0) return;
  const uint32_t end = begin + n;
  for_blocks(first, 0, end, [&](Load& load, uint32_t block_begin, uint32_t block_end) {
    const uint32_t from = std::max(begin, block_begin), to = std::max(from, block_end);
    const double n_inside = to - from, n_behind = end - to;
    load.keys += keys_seen(from - block_begin, n_inside) + n_behind * (block_end - block_begin);
  });
  const uint32_t n_blocks = (end - 1) / ranks_->block_len + 1;
  if (n_blocks == 1) loads_[first].rows += n;
  moved_ += static_cast<double>(n) * (std::min(n_blocks, ranks_->n_parts) - 1);
}

void PartLoads::add_reads(uint32_t first, uint32_t begin, uint32_t n) {
  if (loads_.empty()) return;
  for_blocks(first, begin, begin + n,
             [&](Load& load, uint32_t from, uint32_t to) { load.reads += to - from; });
}

PartLoads& PartLoads::operator+=(const PartLoads& other) {
  for (size_t part = 0; part < loads_.size(); ++part) {
    loads_[part].keys += other.loads_[part].keys;
    loads_[part].reads += other.loads_[part].reads;
    loads_[part].rows += other.loads_[part].rows;
  }
  moved_ += other.moved_;
  return *this;
}

StepFeatures PartLoads::of_busiest(StepFeatures sums) const {
  if (loads_.empty()) return sums;
  Load most;
  for (const Load& load : loads_) {
    most.keys = std::max(most.keys, load.keys);
    most.reads = std::max(most.reads, load.reads);
    most.rows = std::max(most.rows, load.rows);
  }
  sums.keys = most.keys;
  sums.reads = most.reads;
  sums.moved = moved_;
  // Rows go to other parts if one would compute many more than its share.
  const auto n_at_work =
      std::clamp(static_cast<uint32_t>(sums.rows) / ranks_->part_rows, 1u, ranks_->n_parts);
  const double n_even = sums.rows / n_at_work;
  if (most.rows > 1.25 * n_even) sums.moved += most.rows - n_even;
  return sums;
}

StepFeatures chunk_features(const RankShape& ranks, uint32_t begin, uint32_t n) {
  PartLoads loads(ranks);
  loads.add_rows(0, begin, n);
  loads.add_reads(0, 0, begin);
  return loads.of_busiest({.rows = static_cast<double>(n),
                           .keys = keys_seen(begin, n),
                           .reads = static_cast<double>(begin)});
}

}  // namespace pando
