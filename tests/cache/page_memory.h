// Page memory without a model: each position holds the fingerprint of the path that ends there, so
// that a test can check the contents of a path's pages.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "base/mix.h"
#include "cache/kv_cache.h"

namespace pando {

// Fingerprint of a whole path from its root, owners included. No path has zero.
using Fingerprint = uint64_t;

// The fingerprint of a path that goes on by one token.
inline Fingerprint goes_on(Fingerprint above, Token token) {
  uint64_t x = (above ^ (static_cast<uint64_t>(token) + 1)) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
  return (x ^ (x >> 32)) | 1;
}

// Fingerprints by position, for the path from the root to the end of `node`.
inline std::vector<Fingerprint> fingerprints_of(const Node* node) {
  std::vector<const Node*> path;
  for (; !node->is_root(); node = node->parent) path.push_back(node);
  Fingerprint last = 0x5eed;
  std::vector<Fingerprint> all;
  for (size_t i = path.size(); i-- > 0;)
    for (const Token token : path[i]->tokens)
      all.push_back(last = goes_on(last ^ mix64(path[i]->owner), token));
  return all;
}

// Pages by page index, for the path from the root to the end of `node`, as far as pages exist.
inline std::vector<PageId> page_table_of(const Node* node, uint32_t page_len) {
  std::vector<const Node*> path;
  for (; !node->is_root(); node = node->parent) path.push_back(node);
  std::vector<PageId> table;
  for (size_t i = path.size(); i-- > 0;) {
    const std::vector<PageId>& ids = path[i]->pages.ids;
    if (ids.empty()) break;
    table.resize(path[i]->start / page_len);
    table.insert(table.end(), ids.begin(), ids.end());
  }
  return table;
}

class PageMemory {
 public:
  PageMemory(size_t n_pages, uint32_t page_len)
      : page_len_(page_len), held_(n_pages * page_len, Fingerprint{0}) {}

  Fingerprint& at(PageId page, uint32_t offset) { return held_.at(page * page_len_ + offset); }
  Fingerprint at(PageId page, uint32_t offset) const { return held_.at(page * page_len_ + offset); }

  void carry_out(const std::vector<PageCopy>& copies) {
    for (const PageCopy& copy : copies) {
      ASSERT_LE(copy.n_positions, page_len_);
      ASSERT_NE(copy.from, copy.to);
      for (uint32_t i = 0; i < copy.n_positions; ++i) at(copy.to, i) = at(copy.from, i);
    }
  }

  // The step's rows as KvCache describes them, node by node and fan-out by fan-out.
  void write_rows_of(const KvCache& cache) {
    for (const Issued& issued : cache.issued()) {
      const Node* node = issued.node;
      const std::vector<Fingerprint> path = fingerprints_of(node);
      for (uint32_t pos = node->start + node->n_submitted; pos < node->start + node->n_issued;
           ++pos)
        at(node->pages.ids.at(pos / page_len_ - node->start / page_len_), pos % page_len_) =
            path[pos];
      for (const FanOut& out : cache.fan_outs()) {
        const Node* up = out.below;
        while (!up->is_root() && up != node) up = up->parent;
        if (up != node || out.below == node) continue;
        for (uint32_t i = node->n_submitted; i < node->n_issued; ++i)
          if (const uint32_t pos = node->start + i; pos >= out.pos_begin && pos < out.pos_end)
            at(out.page, pos - out.pos_begin) = path[pos];
      }
    }
  }

  // Every position of every path that was submitted lies where the path's page table says. Steps
  // are carried out as they are submitted.
  void check(const KvCache& cache) const {
    for (const Node* node : cache.tree().nodes()) {
      if (node->n_submitted == 0) continue;
      const std::vector<Fingerprint> path = fingerprints_of(node);
      const std::vector<PageId> table = page_table_of(node, page_len_);
      // Pages before the node's first one are its ancestors' and checked there.
      for (uint32_t pos = node->start / page_len_ * page_len_;
           pos < node->start + node->n_submitted; ++pos)
        ASSERT_EQ(at(table.at(pos / page_len_), pos % page_len_), path[pos])
            << "position " << pos << " of a node at [" << node->start << ", " << node->end() << ")";
    }
  }

 private:
  uint32_t page_len_;
  std::vector<Fingerprint> held_;  // [n_pages, page_len]
};

}  // namespace pando
