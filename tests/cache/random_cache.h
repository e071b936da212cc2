// Random use of a small KvCache, with everything checked after each operation.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "cache/kv_cache.h"
#include "cache/page_memory.h"
#include "choices.h"

namespace pando {

struct RandomCacheOptions {
  uint32_t seed = 1;
  int page_len = 4;
  size_t n_pages = 16;
  int alphabet = 2;
  int n_keys = 2;           // isolation keys; 0: one of its own for every sequence
  size_t n_sequences = 10;  // at most, at a time
  uint32_t n_parts = 1;     // of the pages
  uint32_t pages_each = 0;  // of a path in one part
  size_t depth = 1;         // steps in flight at most

  size_t longest() const {  // tokens of a path
    const size_t each = n_pages / n_parts;
    const size_t n_blocks = pages_each == 0 ? 0 : each / pages_each;
    return page_len *
           (n_parts == 1 ? n_pages : n_blocks * pages_each * n_parts + each % pages_each);
  }
};

// Counts of events, so that a test knows that they occurred.
struct RandomCacheCounts {
  int refused = 0, copies = 0, fan_outs = 0, aborts = 0, steps = 0, alone = 0, compacted = 0;
  int several_aborted = 0;   // steps in flight, at once
  int locked_by_extend = 0;  // nodes that could have been evicted before
  int with_public = 0;       // paths that begin with public tokens
};

class RandomCache {
 public:
  struct Sequence {
    uint64_t key;
    uint32_t n_public;
    Node* tip;
    bool locked = false;
  };

  explicit RandomCache(const RandomCacheOptions& options)
      : RandomCache(options, Choices(options.seed)) {}
  RandomCache(const RandomCacheOptions& options, Choices choices)
      : options_(options),
        choices_(choices),
        pool_(options.n_pages, options.n_parts),
        cache_(pool_, options.page_len, /*n_slots=*/0, {}, options.pages_each),
        memory_(options.n_pages, options.page_len) {}
  virtual ~RandomCache() = default;

  void run(int n_ops) {
    for (int op = 0; op < n_ops; ++op) {
      step();
      if (::testing::Test::HasFatalFailure()) FAIL() << "after operation " << op;
    }
    EXPECT_GT(counts_.steps, 0);
    EXPECT_GT(counts_.aborts, 0);
  }

  // Until the choices end.
  void run() {
    while (!choices_.done()) step();
  }

  const RandomCacheCounts& counts() const { return counts_; }
  const KvCache& cache() const { return cache_; }

 protected:
  // Runs an operation of the cache that needs memory, and one that must not allocate.
  using Operation = std::function<void()>;
  virtual void allocating(const Operation& operation) { operation(); }
  virtual void without_memory(const Operation& operation) { operation(); }

  // Carries out the copies and rows of the step that was put together.
  virtual void execute() {
    memory_.carry_out(cache_.copies());
    memory_.write_rows_of(cache_);
  }

  size_t below(size_t n) { return choices_.below(n); }
  const std::vector<Sequence>& sequences() const { return sequences_; }
  PageMemory& memory() { return memory_; }

 private:
  Sequence& any() { return sequences_[below(sequences_.size())]; }
  void step() {
    act();
    check();
  }
  uint32_t page_len() const { return static_cast<uint32_t>(options_.page_len); }

  void act() {
    const size_t choice = below(40);
    if (sequences_.empty() || (choice < 8 && sequences_.size() < options_.n_sequences))
      return acquire();
    if (choice < 11) return release(below(sequences_.size()), /*drop=*/false);
    if (choice < 12) return release(below(sequences_.size()), /*drop=*/true);
    if (choice < 18) return lock(any());
    if (choice < 24) return extend(any());
    const size_t n_in_flight = cache_.tree().n_in_flight();
    if (n_in_flight == options_.depth || (n_in_flight > 0 && choice < 28)) return finish();
    if (choice < 35) {
      for (size_t n = 1 + below(4); n > 0; --n) reserve_some(any());
      return;
    }
    if (choice < 38) return start();
    if (n_in_flight > 0) return abort_step();
    if (cache_.issued().empty()) choice < 39 ? compact(any().tip) : run_alone(any());
  }

  void acquire() {
    std::vector<Token> tokens;
    uint64_t key = options_.n_keys > 0 ? below(options_.n_keys) : next_key_++;
    size_t n_public = 0;  // with one key this is as though there were another
    if (options_.n_keys > 0 && below(4) == 0) n_public = below(3 * page_len());
    if (!sequences_.empty() && below(4) > 0) {  // some part of a path that is there already
      const Sequence& other = any();
      if (options_.n_keys > 0 && n_public == 0) {
        key = other.key;
        n_public = other.n_public;
      }
      for (const Node* node : path_to(other.tip))
        tokens.insert(tokens.end(), node->tokens.begin(), node->tokens.end());
      tokens.resize(below(tokens.size() + 1));
    }
    const size_t longest = options_.longest();
    const size_t n_new = below(3 * page_len()) + tokens.empty();
    while (tokens.size() < longest && below(n_new + 1) > 0) tokens.push_back(token());
    if (tokens.empty()) tokens.push_back(token());
    n_public = std::min(n_public, tokens.size() - 1);
    counts_.with_public += n_public > 0;
    Sequence& made = sequences_.emplace_back();
    made = {key, static_cast<uint32_t>(n_public), nullptr};
    allocating([&] { made.tip = cache_.acquire(key, tokens, made.n_public); });
  }
  Token token() { return static_cast<Token>(below(options_.alphabet)); }

  void release(size_t index, bool drop) {
    std::swap(sequences_[index], sequences_.back());
    const Sequence sequence = sequences_.back();
    sequences_.pop_back();
    without_memory([&] {
      if (sequence.locked) cache_.unlock(sequence.tip);
      drop ? cache_.release_and_drop(sequence.tip) : cache_.release(sequence.tip);
    });
  }

  void lock(Sequence& sequence) {
    without_memory(
        [&] { sequence.locked ? cache_.unlock(sequence.tip) : cache_.lock(sequence.tip); });
    sequence.locked = !sequence.locked;
  }

  void extend(Sequence& sequence) {
    if (!sequence.locked || sequence.tip->end() >= options_.longest()) return;
    const Token next = token();
    const auto found = sequence.tip->children.find({next, sequence.tip->owner});
    counts_.locked_by_extend +=
        found != sequence.tip->children.end() && found->second->pages.evictable;
    allocating([&] { sequence.tip = cache_.extend(sequence.tip, next); });
  }

  std::vector<Extent> next_extents(Node* tip, uint32_t n_rows) const {
    std::vector<Extent> extents;
    for (Node* node : path_to(tip))
      if (const uint32_t n = std::min(n_rows, node->size() - node->n_issued); n > 0) {
        extents.push_back({node, n});
        n_rows -= n;
        if (n < node->size() - node->n_issued) break;
      }
    return extents;
  }

  void reserve_some(Sequence& sequence) {
    if (!sequence.locked) lock(sequence);
    const uint32_t n_rows =
        1 + static_cast<uint32_t>(below(2) == 0 ? below(3) : below(4 * page_len()));
    reserve(next_extents(sequence.tip, n_rows));
  }

  bool reserve(const std::vector<Extent>& extents) {
    struct Before {
      const Node* node;
      std::vector<PageId> ids;
      uint32_t n_issued, n_committed;
    };
    std::vector<Before> locked;
    for (const Node* node : cache_.tree().nodes())
      if (node->n_locks > 0 || node->n_issued > node->n_committed)
        locked.push_back({node, node->pages.ids, node->n_issued, node->n_committed});
    const size_t n_copies = cache_.copies().size(), n_fan_outs = cache_.fan_outs().size();
    const size_t n_issued = cache_.issued().size();

    bool reserved = false;
    allocating([&] { reserved = cache_.reserve(extents); });
    for (const Before& before : locked) {  // nothing that is locked or in flight ever loses a page
      const Node& now = *before.node;
      EXPECT_GE(now.pages.ids.size(), before.ids.size());
      EXPECT_TRUE(std::equal(before.ids.begin(), before.ids.end(), now.pages.ids.begin()));
      EXPECT_EQ(now.n_committed, before.n_committed);
      if (reserved) continue;
      EXPECT_EQ(now.pages.ids.size(), before.ids.size());
      EXPECT_EQ(now.n_issued, before.n_issued);
    }
    if (!reserved) {
      EXPECT_EQ(cache_.copies().size(), n_copies);
      EXPECT_EQ(cache_.fan_outs().size(), n_fan_outs);
      EXPECT_EQ(cache_.issued().size(), n_issued);
      ++counts_.refused;
    }
    return reserved;
  }

  void start() {
    if (cache_.issued().empty()) return;
    counts_.copies += static_cast<int>(cache_.copies().size());
    counts_.fan_outs += static_cast<int>(cache_.fan_outs().size());
    ++counts_.steps;
    execute();
    without_memory([&] { cache_.submit(); });
  }

  void finish() {
    if (below(5) == 0) {
      ++counts_.aborts;
      counts_.several_aborted += cache_.tree().n_in_flight() > 1;
      return without_memory([&] { cache_.abort_all(); });
    }
    without_memory([&] { cache_.commit(); });
  }

  void abort_step() {
    without_memory([&] { cache_.abort(); });
  }

  void compact(Node* tip) {
    const size_t n_free = pool_.n_free();
    without_memory([&] { cache_.compact(tip); });
    counts_.compacted += pool_.n_free() > n_free;
    EXPECT_GE(pool_.n_free(), n_free);
  }

  // A path that runs alone gets all its pages, however its nodes were made before.
  void run_alone(Sequence& sequence) {
    for (Sequence& other : sequences_)
      if (other.locked) lock(other);
    lock(sequence);
    const std::vector<Extent> extents = next_extents(sequence.tip, sequence.tip->end());
    if (extents.empty()) return;
    if (!reserve(extents)) {
      compact(sequence.tip);
      ASSERT_TRUE(reserve(extents))
          << sequence.tip->end() << " tokens in " << pool_.n_pages() << " pages";
    }
    ++counts_.alone;
    start();
    cache_.commit();
    EXPECT_EQ(page_table_of(sequence.tip, page_len()).size(),
              (sequence.tip->end() - 1) / page_len() + 1);
  }

  void check() {
    ASSERT_NO_THROW(cache_.check_invariants());
    memory_.check(cache_);
    if (options_.n_parts == 1) return;
    for (const Sequence& sequence : sequences_) {
      const std::vector<PageId> pages = page_table_of(sequence.tip, page_len());
      for (size_t i = 1; i < pages.size(); ++i)
        ASSERT_EQ(
            pool_.part_of(pages[i]),
            (pool_.part_of(pages[i - 1]) + (i % options_.pages_each == 0)) % options_.n_parts);
    }
  }

  RandomCacheOptions options_;
  Choices choices_;
  PagePool pool_;
  KvCache cache_;
  PageMemory memory_;
  std::vector<Sequence> sequences_;
  uint64_t next_key_ = 0;
  RandomCacheCounts counts_;
};

}  // namespace pando
