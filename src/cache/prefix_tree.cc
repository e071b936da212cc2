#include "cache/prefix_tree.h"

#include <algorithm>

#include "base/check.h"
#include "base/fault.h"

namespace pando {
namespace {

uint32_t common_prefix(std::span<const Token> a, std::span<const Token> b) {
  const size_t n = std::min(a.size(), b.size());
  return static_cast<uint32_t>(std::mismatch(a.begin(), a.begin() + n, b.begin()).first -
                               a.begin());
}

}  // namespace

PrefixTree::~PrefixTree() {
  // Nodes go one by one, leaves first: a chain may be far deeper than the stack.
  for (auto& [owner, root] : roots_) {
    Node* node = root.get();
    for (;;) {
      while (!node->children.empty()) node = node->children.begin()->second.get();
      if (node->is_root()) break;
      node = node->parent;
      node->children.erase(node->children.begin());
    }
  }
}

Node* PrefixTree::root(uint64_t owner) {
  if (const auto found = roots_.find(owner); found != roots_.end()) return found->second.get();
  auto root = std::make_unique<Node>();
  root->owner = owner;
  return roots_.emplace(owner, std::move(root)).first->second.get();
}

Node* PrefixTree::add_child(Node* parent, std::span<const Token> tokens, uint64_t owner) {
  auto child = std::make_unique<Node>();
  child->parent = parent;
  child->start = parent->end();
  child->tokens.assign(tokens.begin(), tokens.end());
  child->id = next_id_++;
  child->owner = owner;
  Node* made =
      parent->children.emplace(ChildKey{tokens[0], owner}, std::move(child)).first->second.get();
  ++n_nodes_;
  return made;
}

// The child of `node` that is a beginning of the tokens, inserted where none shares any.
Node* PrefixTree::step_down(Node* node, std::span<const Token> tokens, uint64_t owner) {
  const auto found = node->children.find({tokens[0], owner});
  if (found == node->children.end()) return add_child(node, tokens, owner);
  Node* child = found->second.get();
  const uint32_t n = common_prefix(child->tokens, tokens);
  return n < child->size() ? split(child, n) : child;
}

Node* PrefixTree::acquire(uint64_t isolation_key, std::span<const Token> tokens,
                          uint32_t n_public) {
  PANDO_CHECK(isolation_key != kPublicOwner && n_public < tokens.size());
  Node* node = root(n_public > 0 ? kPublicOwner : isolation_key);
  try {
    while (!tokens.empty()) {
      const bool is_public = node->end() < n_public;
      const uint64_t owner = is_public ? kPublicOwner : isolation_key;
      const std::span<const Token> next = is_public ? tokens.first(n_public - node->end()) : tokens;
      node = step_down(node, next, owner);
      tokens = tokens.subspan(node->size());
    }
  } catch (...) {
    prune(node);
    throw;
  }
  for (Node* up = node; !up->is_root(); up = up->parent)
    if (up->n_pins++ == 0) n_pinned_tokens_ += up->size();
  touch(node);
  return node;
}

Node* PrefixTree::extend(Node* tip, Token token) {
  const bool private_leaf = tip->n_pins == 1 && tip->children.empty();
  if (private_leaf) {
    tip->tokens.push_back(token);
    ++n_pinned_tokens_;
    return tip;
  }
  Node* next = step_down(tip, {&token, 1}, tip->owner);
  if (next->n_pins++ == 0) n_pinned_tokens_ += next->size();
  ++next->n_locks;
  return next;
}

void PrefixTree::release(Node* tip) {
  touch(tip);
  for (Node* node = tip; !node->is_root(); node = node->parent) {
    PANDO_CHECK(node->n_pins > 0);
    if (--node->n_pins == 0) n_pinned_tokens_ -= node->size();
  }
  prune(tip);
}

void PrefixTree::lock(Node* tip) {
  touch(tip);
  for (Node* node = tip; !node->is_root(); node = node->parent) ++node->n_locks;
}

void PrefixTree::unlock(Node* tip) {
  touch(tip);
  for (Node* node = tip; !node->is_root(); node = node->parent) {
    PANDO_CHECK(node->n_locks > 0);
    --node->n_locks;
  }
}

void PrefixTree::touch(Node* tip) {
  const uint64_t now = ++clock_;
  for (Node* node = tip; !node->is_root(); node = node->parent) node->last_used = now;
}

// Cuts a node after its first n_upper tokens; returns the new upper part.
Node* PrefixTree::split(Node* node, uint32_t n_upper) {
  PANDO_CHECK(n_upper > 0 && n_upper < node->size());
  // What needs memory comes first.
  auto owned = std::make_unique<Node>();
  Node* upper = owned.get();
  upper->parent = node->parent;
  upper->start = node->start;
  upper->tokens.assign(node->tokens.begin(), node->tokens.begin() + n_upper);
  upper->n_issued = std::min(node->n_issued, n_upper);
  upper->n_committed = std::min(node->n_committed, n_upper);
  upper->n_computed = std::min(node->n_computed, n_upper);
  upper->n_pins = node->n_pins;
  upper->n_locks = node->n_locks;
  upper->last_used = node->last_used;
  upper->owner = node->owner;
  upper->pages.make_room(node->pages.ids.size());
  std::unique_ptr<Node>& place_below = upper->children[{node->tokens[n_upper], node->owner}];
  make_room(1);
  upper->id = next_id_++;
  ++n_nodes_;

  const bool in_flight = node->n_issued > node->n_committed;
  node->tokens.erase(node->tokens.begin(), node->tokens.begin() + n_upper);
  node->start += n_upper + (fault_on(Fault::kPositionAfterSplit) ? 1 : 0);
  node->n_issued -= upper->n_issued;
  node->n_committed -= upper->n_committed;
  node->n_computed -= upper->n_computed;
  if (fault_on(Fault::kCommitTooMuch) && upper->n_committed > 0 && node->n_issued < node->size())
    node->n_committed = ++node->n_issued;
  node->n_computed = std::max(node->n_computed, node->n_committed);
  if (in_flight) {
    std::erase(issued_, node);
    for (Node* part : {upper, node})
      if (part->n_issued > part->n_committed) issued_.push_back(part);
  }

  std::unique_ptr<Node>& place =
      upper->parent->children.find({upper->tokens[0], node->owner})->second;
  node->parent = upper;
  place_below = std::move(place);
  place = std::move(owned);
  on_split_(*upper, *node);
  return upper;
}

void PrefixTree::make_room(size_t n) {
  const size_t n_all = issued_.size() + n;
  if (n_all > issued_.capacity()) issued_.reserve(std::max(n_all, 2 * issued_.capacity()));
}

void PrefixTree::issue(Node* node, uint32_t n) {
  PANDO_CHECK(n > 0 && node->n_issued + n <= node->size());
  if (node->n_issued == node->n_committed) issued_.push_back(node);
  node->n_issued += n;
}

uint64_t PrefixTree::n_issued_again() const {
  uint64_t n = 0;
  for (const Node* node : issued_)
    n += std::min(node->n_issued, node->n_computed) - node->n_committed;
  return n;
}

void PrefixTree::commit_issued(const Visitor& on_commit) {
  for (Node* node : issued_) {
    node->n_committed = node->n_issued;
    node->n_computed = std::max(node->n_computed, node->n_committed);
    on_commit(*node);
  }
  issued_.clear();
}

void PrefixTree::abort_issued(const Visitor& on_abort) {
  for (Node* node : issued_) node->n_issued = node->n_committed;
  std::sort(issued_.begin(), issued_.end(), [](Node* a, Node* b) { return a->start > b->start; });
  for (Node* node : issued_) on_abort(*node);
  // Forgetting one may reach upwards, so the upper nodes come first.
  for (; !issued_.empty(); issued_.pop_back()) prune(issued_.back());
}

void PrefixTree::forget_after(Node* node, uint32_t n_kept) {
  PANDO_CHECK(n_kept <= node->n_committed && node->n_issued == node->n_committed);
  node->n_committed = node->n_issued = n_kept;
  prune(node);
}

void PrefixTree::prune(Node* node) {
  while (!node->is_root() && node->n_pins == 0 && node->children.empty()) {
    if (node->n_issued > 0) {
      node->tokens.resize(node->n_issued);
      node->n_computed = std::min(node->n_computed, node->n_issued);
      return;
    }
    Node* parent = node->parent;
    parent->children.erase(parent->children.find({node->tokens[0], node->owner}));
    --n_nodes_;
    node = parent;
  }
  if (node->is_root() && node->children.empty()) roots_.erase(node->owner);
}

std::vector<const Node*> PrefixTree::nodes() const {
  std::vector<const Node*> all;
  for (const auto& [owner, root] : roots_) all.push_back(root.get());
  const size_t n_roots = all.size();
  for (size_t i = 0; i < all.size(); ++i)
    for (const auto& [key, child] : all[i]->children) all.push_back(child.get());
  all.erase(all.begin(), all.begin() + n_roots);
  return all;
}

void PrefixTree::check_invariants() const {
  size_t n = 0, n_pinned = 0;
  for (const Node* node : nodes()) {
    ++n;
    if (node->n_pins > 0) n_pinned += node->size();
    PANDO_CHECK(node->parent->owner == kPublicOwner || node->owner == node->parent->owner);
    PANDO_CHECK(node->size() > 0);
    PANDO_CHECK(node->start == node->parent->end());
    PANDO_CHECK(node->parent->children.at({node->tokens[0], node->owner}).get() == node);
    PANDO_CHECK(node->n_committed <= node->n_issued && node->n_issued <= node->size());
    PANDO_CHECK(node->n_committed <= node->n_computed && node->n_computed <= node->size());
    PANDO_CHECK(node->n_locks <= node->n_pins);
    PANDO_CHECK(node->parent->is_root() || node->n_pins <= node->parent->n_pins);
    PANDO_CHECK(node->parent->is_root() || node->n_issued == 0 ||
                node->parent->n_issued == node->parent->size());
    PANDO_CHECK(node->n_committed == 0 || node->parent->n_committed == node->parent->size());
    PANDO_CHECK(node->n_pins > 0 || node->n_issued == node->size());
  }
  PANDO_CHECK(n == n_nodes_ && n_pinned == n_pinned_tokens_);
}

std::vector<Node*> path_to(Node* tip) {
  std::vector<Node*> path;
  for (Node* node = tip; !node->is_root(); node = node->parent) path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace pando
