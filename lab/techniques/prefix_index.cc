#include "lab/techniques/prefix_index.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/check.h"

namespace pando::lab {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr uint32_t kRoot = UINT32_MAX - 1;  // the run above all sequences

template <class T>
uint32_t equal_values(const T* a, const T* b, uint32_t n) {
  constexpr uint32_t kBlock = 64;
  uint32_t i = 0;
  while (i + kBlock <= n && std::memcmp(a + i, b + i, kBlock * sizeof(T)) == 0) i += kBlock;
  while (i < n && a[i] == b[i]) ++i;
  return i;
}

}  // namespace

const PrefixIndex& PrefixIndexer::build(std::span<const Token> ids,
                                        std::span<const uint32_t> positions,
                                        std::span<const uint32_t> cu_seq_lens) {
  PANDO_CHECK(ids.size() == positions.size() && ids.size() < kRoot);
  PANDO_CHECK(!cu_seq_lens.empty() && cu_seq_lens.front() == 0 && cu_seq_lens.back() == ids.size());
  PANDO_CHECK(std::ranges::is_sorted(cu_seq_lens));
  ids_ = ids;
  positions_ = positions;
  const size_t n_sequences = cu_seq_lens.size() - 1;
  runs_.clear();
  // A sequence adds a run at most, and cuts one: two entries, in a table at most half full.
  slots_.assign(std::bit_ceil(4 * n_sequences + 1), {kNone, kNone});
  index_.gather.clear();
  index_.scatter.resize(ids.size());
  for (size_t i = 0; i < n_sequences; ++i)
    if (cu_seq_lens[i] < cu_seq_lens[i + 1]) insert(cu_seq_lens[i], cu_seq_lens[i + 1]);
  return index_;
}

void PrefixIndexer::insert(uint32_t begin, uint32_t end) {
  uint32_t parent = kRoot;
  while (begin < end) {
    Slot& at = slot(parent, begin);
    if (at.child == kNone) return add_run(at, parent, begin, end);
    const Run run = runs_[at.child];
    const uint32_t n =
        1 + common_prefix(run.begin + 1, begin + 1, std::min(run.len, end - begin) - 1);
    std::iota(index_.scatter.begin() + begin, index_.scatter.begin() + begin + n, run.row);
    begin += n;
    if (begin == end) return;
    if (n < run.len) split(at, n);
    parent = at.child;
  }
}

uint32_t PrefixIndexer::common_prefix(uint32_t a, uint32_t b, uint32_t n) const {
  n = equal_values(ids_.data() + a, ids_.data() + b, n);
  return equal_values(positions_.data() + a, positions_.data() + b, n);
}

// Finds the child of `parent` that begins like the token at index `token`, or its place.
PrefixIndexer::Slot& PrefixIndexer::slot(uint32_t parent, uint32_t token) {
  const uint64_t key = (uint64_t{positions_[token]} << 32) ^ static_cast<uint32_t>(ids_[token]);
  uint64_t hash = (key ^ uint64_t{parent} * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  // The highest bits, which all of the key reach.
  for (size_t i = hash >> (64 - std::countr_zero(slots_.size()));; ++i) {
    Slot& slot = slots_[i & (slots_.size() - 1)];
    if (slot.child == kNone) return slot;
    const uint32_t first = runs_[slot.child].begin;
    if (slot.parent == parent && ids_[first] == ids_[token] &&
        positions_[first] == positions_[token])
      return slot;
  }
}

// Cuts a run after its first len tokens. The lower part stays the same run, so that the children
// stay where they are; the upper one takes its place in the hash.
void PrefixIndexer::split(Slot& found, uint32_t len) {
  const uint32_t lower = found.child, upper = static_cast<uint32_t>(runs_.size());
  Run& run = runs_[lower];
  const Run above{run.begin, len, run.row};
  run = {run.begin + len, run.len - len, run.row + len};
  runs_.push_back(above);
  found.child = upper;
  slot(upper, above.begin + len) = {upper, lower};
}

void PrefixIndexer::add_run(Slot& at, uint32_t parent, uint32_t begin, uint32_t end) {
  const uint32_t row = static_cast<uint32_t>(index_.gather.size());
  at = {parent, static_cast<uint32_t>(runs_.size())};
  runs_.push_back({begin, end - begin, row});
  index_.gather.resize(row + end - begin);
  std::iota(index_.gather.begin() + row, index_.gather.end(), begin);
  std::iota(index_.scatter.begin() + begin, index_.scatter.begin() + end, row);
}

PrefixIndex build_prefix_index(std::span<const Token> ids, std::span<const uint32_t> positions,
                               std::span<const uint32_t> cu_seq_lens) {
  PrefixIndexer indexer;
  return indexer.build(ids, positions, cu_seq_lens);
}

}  // namespace pando::lab
