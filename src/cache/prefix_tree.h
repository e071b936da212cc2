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
#include "pando/token.h"

namespace pando {

// The owner of what all isolation keys share; no key.
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
  uint32_t n_issued = 0;     // leading tokens that a step under way computes, or computed before
  uint32_t n_committed = 0;  // leading tokens whose keys and values are in pages
  uint32_t n_computed = 0;   // the most that n_committed ever was: what is evicted stays counted
  uint32_t n_pins = 0;       // sequences whose path runs through here
  uint32_t n_locks = 0;      // those of them that are running
  uint64_t last_used =
      0;               // when a path through here was last acquired, locked, unlocked or released
  uint64_t id = 0;     // unique, in order of creation; not of roots
  uint64_t owner = 0;  // the isolation key, or kPublicOwner; below a public node any, else the same
  std::unordered_map<ChildKey, std::unique_ptr<Node>, ChildKeyHash> children;
  NodePages pages;          // kept by KvCache
  Place* places = nullptr;  // kept by Places: those behind its tokens, by position

  uint32_t size() const { return static_cast<uint32_t>(tokens.size()); }
  uint32_t end() const { return start + size(); }
  bool is_root() const { return parent == nullptr; }
};

// Knows tokens and who needs them; no layout, no model. One thread.
//
// A sequence is a path from a root that ends exactly where its tip node ends. Pins keep the tokens
// of a path, locks its keys and values as well. Only what is committed outlives the last pin.
// Splits may happen at any time, also while tokens are issued: the lower part stays the same Node,
// so tips held by others stay valid.
//
// acquire, extend and make_room throw std::bad_alloc where memory runs out, and have then changed
// nothing but where nodes are split; nothing else allocates.
class PrefixTree {
 public:
  // Called after a split: `upper` is new, with room for the pages of `lower`, which is the old node
  // with what is left of it. Must not throw.
  using SplitListener = std::function<void(Node& upper, Node& lower)>;
  using Visitor = std::function<void(Node&)>;
  explicit PrefixTree(SplitListener on_split) : on_split_(std::move(on_split)) {}
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // The tip of `tokens` (not empty) under one isolation key, inserted where it is new, and pinned.
  // The first n_public of them, fewer than all, are shared with what any key acquires as public.
  Node* acquire(uint64_t isolation_key, std::span<const Token> tokens, uint32_t n_public = 0);
  // The tip of the pinned and locked path to `tip` plus one token; pin and lock move along.
  Node* extend(Node* tip, Token token);
  // Takes one pin off the path. Tokens that nobody pins and no page backs are forgotten.
  void release(Node* tip);

  void lock(Node* tip);
  void unlock(Node* tip);

  // For n calls of `issue`.
  void make_room(size_t n);
  // Marks the next n tokens of a node as computed by the step under way.
  void issue(Node* node, uint32_t n);
  // Nodes with tokens issued and not committed.
  const std::vector<Node*>& issued() const { return issued_; }
  // Of these tokens, those that were committed before and then forgotten.
  uint64_t n_issued_again() const;
  // `on_commit` sees each of them afterwards.
  void commit_issued(const Visitor& on_commit = [](Node&) {});
  // Nodes that nobody pins and that have nothing committed are gone afterwards. Before that
  // `on_abort` sees all that had tokens issued, the deepest first.
  void abort_issued(const Visitor& on_abort = [](Node&) {});

  // Keeps only the first n_kept tokens of a node as committed (its pages went).
  void forget_after(Node* node, uint32_t n_kept);
  // Forgets what nobody pins and no page backs, from `node` upwards; `node` may be gone afterwards.
  void prune(Node* node);

  size_t n_nodes() const { return n_nodes_; }
  // Tokens of all nodes that somebody pins.
  size_t n_pinned_tokens() const { return n_pinned_tokens_; }
  // Every node but the roots, parents first; for tests.
  std::vector<const Node*> nodes() const;
  // Throws BugError where a count or a link is wrong; for tests.
  void check_invariants() const;

 private:
  Node* root(uint64_t owner);
  Node* add_child(Node* parent, std::span<const Token> tokens, uint64_t owner);
  Node* step_down(Node* node, std::span<const Token> tokens, uint64_t owner);
  Node* split(Node* node, uint32_t n_upper);
  void touch(Node* tip);

  SplitListener on_split_;
  std::unordered_map<uint64_t, std::unique_ptr<Node>> roots_;
  std::vector<Node*> issued_;
  size_t n_nodes_ = 0;
  size_t n_pinned_tokens_ = 0;
  uint64_t next_id_ = 0;
  uint64_t clock_ = 0;
};

// The nodes of a path, root excluded, top first.
std::vector<Node*> path_to(Node* tip);

}  // namespace pando
