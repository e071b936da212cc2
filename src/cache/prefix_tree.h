// All live and cached sequences as one radix tree over tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/mix.h"
#include "cache/node_pages.h"
#include "cache/places.h"
#include "pando/values/token.h"

namespace pando {

// Owner of nodes that all isolation keys share; no key.
constexpr uint64_t kPublicOwner = ~uint64_t{0};

// A child of a node: its first token and its owner.
struct ChildKey {
  Token token;
  uint64_t owner;
  bool operator==(const ChildKey&) const = default;
};
struct ChildKeyHash {
  size_t operator()(const ChildKey& key) const {
    return static_cast<size_t>(mix64(mix64(key.owner) ^ static_cast<uint32_t>(key.token)));
  }
};

// A run of tokens shared by every path through it. The position of tokens[i] is start + i.
struct Node {
  Node* parent = nullptr;  // null for a root
  uint32_t start = 0;      // depth of the first token
  std::vector<Token> tokens;
  uint32_t n_issued = 0;     // leading tokens that some step computes, or has computed
  uint32_t n_submitted = 0;  // of these, by steps that were submitted
  uint32_t n_committed = 0;  // of these, by steps that are over: keys and values are in pages
  uint32_t n_computed = 0;   // maximum of n_committed so far: evicted tokens stay counted
  uint32_t n_pins = 0;       // sequences whose path runs through here
  uint32_t n_locks = 0;      // running ones among them
  uint64_t last_used =
      0;               // when a path through here was last acquired, locked, unlocked or released
  uint64_t id = 0;     // unique, in order of creation; not of roots
  uint32_t part = 0;   // in which its paths begin (PathParts)
  uint64_t owner = 0;  // the isolation key, or kPublicOwner; below a public node any, else the same
  std::unordered_map<ChildKey, std::unique_ptr<Node>, ChildKeyHash> children;
  NodePages pages;          // kept by KvCache
  Place* places = nullptr;  // kept by Places: the places behind its tokens, by position

  uint32_t size() const { return static_cast<uint32_t>(tokens.size()); }
  uint32_t end() const { return start + size(); }
  bool is_root() const { return parent == nullptr; }
};

// Division of the positions of paths over parts of the memory. A path begins in some part, and goes
// on in the next one after each block.
struct PathParts {
  uint32_t n_parts = 1;
  uint32_t block_len = UINT32_MAX;  // positions

  // The part that has a position of a path that begins in part `first`.
  uint32_t part_of(uint32_t first, uint32_t position) const {
    return (first + position / block_len) % n_parts;
  }
};

// One step computes the tokens of a node up to number `end`, from where the step before it ends.
// `end` is known once the step is submitted.
struct Issued {
  Node* node;
  uint32_t end;
};

// Tree of tokens with pins and locks; knows no layout and no model. One thread.
//
// A sequence is a path from a root that ends exactly where its tip node ends. Pins keep the tokens
// of a path, locks its keys and values as well. Only committed tokens outlive the last pin. Splits
// may happen at any time, also while tokens are issued: the lower part stays the same Node, so tips
// held by others stay valid. Paths that begin in different parts share no node.
//
// One step is being put together: `issue` adds to it. Submitted steps are in flight and are
// committed in the order of submission. The step being put together treats their rows as committed.
//
// Only acquire, extend and make_room allocate. If memory runs out they throw std::bad_alloc, and
// have changed nothing, except that nodes may be split.
class PrefixTree {
 public:
  // Called after a split: `upper` is new, with room for the pages of `lower`, the old node with its
  // remaining tokens. Must not throw.
  using SplitListener = std::function<void(Node& upper, Node& lower)>;
  using Visitor = std::function<void(Node&)>;
  explicit PrefixTree(SplitListener on_split, const PathParts& parts = {})
      : on_split_(std::move(on_split)),
        parts_(parts),
        roots_(parts.n_parts),
        n_pinned_tokens_(parts.n_parts, 0) {}
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // The tip of `tokens` (not empty) under one isolation key, inserted if it is new, and pinned. The
  // first n_public tokens, fewer than all, are shared with public tokens of any key. part: where
  // the path begins.
  Node* acquire(uint64_t isolation_key, std::span<const Token> tokens, uint32_t n_public = 0,
                uint32_t part = 0);
  // Number of leading tokens that `acquire` would find in the tree.
  uint32_t n_known(uint64_t isolation_key, std::span<const Token> tokens, uint32_t n_public,
                   uint32_t part) const;
  // The tip of the pinned and locked path to `tip` plus one token; pin and lock move along.
  Node* extend(Node* tip, Token token);
  // Takes one pin off the path. Forgets tokens without a pin and without a page.
  void release(Node* tip);

  void lock(Node* tip);
  void unlock(Node* tip);

  // For n calls of `issue`, and the next one of `submit`.
  void make_room(size_t n);
  // Marks the next n tokens of a node as computed by the step that is being put together.
  void issue(Node* node, uint32_t n);
  // The nodes of these tokens, each once.
  const std::vector<Issued>& issued() const { return issued_; }
  // Number of tokens in issued() that were committed before and then forgotten.
  uint64_t n_issued_again() const;
  // This step is in flight from now on.
  void submit();
  size_t n_in_flight() const { return in_flight_.size(); }
  // The step that was submitted first is over. `on_commit` sees each of its nodes afterwards.
  void commit(const Visitor& on_commit = [](Node&) {});
  // Takes back tokens that are issued and not submitted; abort_all: tokens in flight, too. Calls
  // `on_abort` for all nodes that lost tokens, the deepest first, then removes nodes without a pin,
  // committed tokens or children.
  void abort(const Visitor& on_abort = [](Node&) {});
  void abort_all(const Visitor& on_abort = [](Node&) {});

  // Keeps only the first n_kept tokens of a node as committed (its pages went).
  void forget_after(Node* node, uint32_t n_kept);
  // Forgets tokens without a pin and without a page, from `node` upwards; `node` may be gone
  // afterwards.
  void prune(Node* node);

  size_t n_nodes() const { return n_nodes_; }
  const PathParts& parts() const { return parts_; }
  // Tokens of all pinned nodes; those of one part.
  size_t n_pinned_tokens() const;
  size_t n_pinned_tokens(uint32_t part) const { return n_pinned_tokens_[part]; }
  // Every node but the roots, parents first; for tests.
  std::vector<const Node*> nodes() const;
  // Throws BugError where a count or a link is wrong; for tests.
  void check_invariants() const;

 private:
  Node* root(uint64_t owner, uint32_t part);
  Node* add_child(Node* parent, std::span<const Token> tokens, uint64_t owner);
  Node* step_down(Node* node, std::span<const Token> tokens, uint64_t owner);
  Node* split(Node* node, uint32_t n_upper);
  void make_room_to_split(Node* node);
  void split_issued(Node* upper, Node* lower, uint32_t begin);
  void take_back(std::vector<Issued>& step, const Visitor& on_abort);
  void prune_all(std::vector<Issued>& step);
  void touch(Node* tip);
  void count_pinned(const Node* node, uint32_t from, bool pinned);

  SplitListener on_split_;
  PathParts parts_;
  // [n_parts] by owner
  std::vector<std::unordered_map<uint64_t, std::unique_ptr<Node>>> roots_;
  std::vector<Issued> issued_;                  // by the step that is being put together
  std::vector<std::vector<Issued>> in_flight_;  // by those in flight, the oldest first
  size_t n_nodes_ = 0;
  std::vector<size_t> n_pinned_tokens_;  // [n_parts]
  uint64_t next_id_ = 0;
  uint64_t clock_ = 0;
};

// The nodes of a path, root excluded, top first.
std::vector<Node*> path_to(Node* tip);

}  // namespace pando
