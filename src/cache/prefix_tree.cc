#include "cache/prefix_tree.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/fault.h"

namespace pando {
namespace {

uint32_t common_prefix(std::span<const Token> a, std::span<const Token> b) {
  const size_t n = std::min(a.size(), b.size());
  return static_cast<uint32_t>(std::mismatch(a.begin(), a.begin() + n, b.begin()).first -
                               a.begin());
}

// Tokens of a path that belong to one owner.
struct Piece {
  std::span<const Token> tokens;
  uint64_t owner;
};

// The next tokens of a path behind position `pos`: public ones up to n_public.
Piece next_piece(std::span<const Token> tokens, uint32_t pos, uint32_t n_public, uint64_t key) {
  if (pos < n_public) return {tokens.first(n_public - pos), kPublicOwner};
  return {tokens, key};
}

// For n more entries.
template <class T>
void add_room(std::vector<T>& entries, size_t n) {
  const size_t n_all = entries.size() + n;
  if (n_all > entries.capacity()) entries.reserve(std::max(n_all, 2 * entries.capacity()));
}

}  // namespace

PrefixTree::~PrefixTree() {
  // Nodes go one by one, leaves first: a chain may be far deeper than the stack.
  for (auto& of_part : roots_)
    for (auto& [owner, root] : of_part) {
      Node* node = root.get();
      for (;;) {
        while (!node->children.empty()) node = node->children.begin()->second.get();
        if (node->is_root()) break;
        node = node->parent;
        node->children.erase(node->children.begin());
      }
    }
}

Node* PrefixTree::root(uint64_t owner, uint32_t part) {
  auto& of_part = roots_[part];
  if (const auto found = of_part.find(owner); found != of_part.end()) return found->second.get();
  auto root = std::make_unique<Node>();
  root->owner = owner;
  root->part = part;
  return of_part.emplace(owner, std::move(root)).first->second.get();
}

Node* PrefixTree::add_child(Node* parent, std::span<const Token> tokens, uint64_t owner) {
  auto child = std::make_unique<Node>();
  child->parent = parent;
  child->start = parent->end();
  child->tokens.assign(tokens.begin(), tokens.end());
  child->id = next_id_++;
  child->owner = owner;
  child->part = parent->part;
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

Node* PrefixTree::acquire(uint64_t isolation_key, std::span<const Token> tokens, uint32_t n_public,
                          uint32_t part) {
  PANDO_CHECK(isolation_key != kPublicOwner && n_public < tokens.size());
  Node* node = root(n_public > 0 ? kPublicOwner : isolation_key, part);
  try {
    while (!tokens.empty()) {
      const Piece next = next_piece(tokens, node->end(), n_public, isolation_key);
      node = step_down(node, next.tokens, next.owner);
      tokens = tokens.subspan(node->size());
    }
  } catch (...) {
    prune(node);
    throw;
  }
  for (Node* up = node; !up->is_root(); up = up->parent)
    if (up->n_pins++ == 0) count_pinned(up, up->start, true);
  touch(node);
  return node;
}

uint32_t PrefixTree::n_known(uint64_t isolation_key, std::span<const Token> tokens,
                             uint32_t n_public, uint32_t part) const {
  const auto found = roots_[part].find(n_public > 0 ? kPublicOwner : isolation_key);
  if (found == roots_[part].end()) return 0;
  const Node* node = found->second.get();
  while (!tokens.empty()) {
    const Piece next = next_piece(tokens, node->end(), n_public, isolation_key);
    const auto child = node->children.find({next.tokens[0], next.owner});
    if (child == node->children.end()) break;
    const uint32_t n = common_prefix(child->second->tokens, next.tokens);
    if (n < child->second->size()) return node->end() + n;
    node = child->second.get();
    tokens = tokens.subspan(n);
  }
  return node->end();
}

size_t PrefixTree::n_pinned_tokens() const {
  return std::accumulate(n_pinned_tokens_.begin(), n_pinned_tokens_.end(), size_t{0});
}

// Counts the tokens of the node from a position on, in the parts that have them.
void PrefixTree::count_pinned(const Node* node, uint32_t from, bool pinned) {
  for (uint32_t pos = from; pos < node->end();) {
    const uint32_t left = parts_.block_len - pos % parts_.block_len;
    const uint32_t n = std::min(left, node->end() - pos);
    size_t& n_pinned = n_pinned_tokens_[parts_.part_of(node->part, pos)];
    n_pinned = pinned ? n_pinned + n : n_pinned - n;
    pos += n;
  }
}

Node* PrefixTree::extend(Node* tip, Token token) {
  const bool private_leaf = tip->n_pins == 1 && tip->children.empty();
  if (private_leaf) {
    tip->tokens.push_back(token);
    count_pinned(tip, tip->end() - 1, true);
    return tip;
  }
  Node* next = step_down(tip, {&token, 1}, tip->owner);
  if (next->n_pins++ == 0) count_pinned(next, next->start, true);
  ++next->n_locks;
  return next;
}

void PrefixTree::release(Node* tip) {
  touch(tip);
  for (Node* node = tip; !node->is_root(); node = node->parent) {
    PANDO_CHECK(node->n_pins > 0);
    if (--node->n_pins == 0) count_pinned(node, node->start, false);
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
  // Allocations come first: if one throws, nothing has changed.
  auto owned = std::make_unique<Node>();
  Node* upper = owned.get();
  upper->parent = node->parent;
  upper->start = node->start;
  upper->tokens.assign(node->tokens.begin(), node->tokens.begin() + n_upper);
  upper->n_issued = std::min(node->n_issued, n_upper);
  upper->n_submitted = std::min(node->n_submitted, n_upper);
  upper->n_committed = std::min(node->n_committed, n_upper);
  upper->n_computed = std::min(node->n_computed, n_upper);
  upper->n_pins = node->n_pins;
  upper->n_locks = node->n_locks;
  upper->last_used = node->last_used;
  upper->owner = node->owner;
  upper->part = node->part;
  upper->pages.make_room(node->pages.ids.size());
  std::unique_ptr<Node>& place_below = upper->children[{node->tokens[n_upper], node->owner}];
  make_room_to_split(node);
  upper->id = next_id_++;
  ++n_nodes_;

  if (node->n_issued > node->n_submitted)
    std::ranges::find(issued_, node, &Issued::node)->end = node->n_issued;
  if (node->n_issued > node->n_committed) split_issued(upper, node, node->n_committed);
  node->tokens.erase(node->tokens.begin(), node->tokens.begin() + n_upper);
  node->start += n_upper + (fault_on(Fault::kPositionAfterSplit) ? 1 : 0);
  node->n_issued -= upper->n_issued;
  node->n_submitted -= upper->n_submitted;
  node->n_committed -= upper->n_committed;
  node->n_computed -= upper->n_computed;
  if (fault_on(Fault::kCommitTooMuch) && upper->n_committed > 0 && node->n_issued < node->size())
    node->n_committed = node->n_submitted = ++node->n_issued;
  node->n_computed = std::max(node->n_computed, node->n_committed);

  std::unique_ptr<Node>& place =
      upper->parent->children.find({upper->tokens[0], node->owner})->second;
  node->parent = upper;
  place_below = std::move(place);
  place = std::move(owned);
  on_split_(*upper, *node);
  return upper;
}

// The node will have two parts in each step that computes some of it.
void PrefixTree::make_room_to_split(Node* node) {
  if (node->n_issued == node->n_committed) return;
  add_room(issued_, 1);
  for (std::vector<Issued>& step : in_flight_) add_room(step, 1);
}

// Before a node is cut, which will be `lower`. Its tokens from number `begin` on are not committed.
void PrefixTree::split_issued(Node* upper, Node* lower, uint32_t begin) {
  const uint32_t n_upper = upper->size();
  const auto split_step = [&](std::vector<Issued>& step) {
    const auto found = std::ranges::find(step, lower, &Issued::node);
    if (found == step.end()) return;
    const uint32_t end = found->end;
    if (end <= n_upper) {
      found->node = upper;
    } else {
      found->end = end - n_upper;
      if (begin < n_upper && !fault_on(Fault::kSplitLosesFlight)) step.push_back({upper, n_upper});
    }
    begin = end;
  };
  for (std::vector<Issued>& step : in_flight_) split_step(step);
  split_step(issued_);
}

void PrefixTree::make_room(size_t n) {
  add_room(issued_, n);
  add_room(in_flight_, 1);
}

void PrefixTree::issue(Node* node, uint32_t n) {
  PANDO_CHECK(n > 0 && node->n_issued + n <= node->size());
  if (node->n_issued == node->n_submitted) issued_.push_back({node, 0});
  node->n_issued += n;
}

uint64_t PrefixTree::n_issued_again() const {
  uint64_t n = 0;
  for (const auto& [node, end] : issued_)
    n += std::clamp(node->n_computed, node->n_submitted, node->n_issued) - node->n_submitted;
  return n;
}

void PrefixTree::submit() {
  for (Issued& issued : issued_) issued.end = issued.node->n_submitted = issued.node->n_issued;
  in_flight_.emplace_back().swap(issued_);
}

void PrefixTree::commit(const Visitor& on_commit) {
  PANDO_CHECK(!in_flight_.empty());
  std::vector<Issued> step = std::move(in_flight_.front());
  in_flight_.erase(in_flight_.begin());
  for (const Issued& issued : step) {
    issued.node->n_committed = issued.end;
    issued.node->n_computed = std::max(issued.node->n_computed, issued.end);
    on_commit(*issued.node);
  }
  step.clear();
  if (issued_.empty()) issued_.swap(step);  // `step` may have more room
}

void PrefixTree::abort(const Visitor& on_abort) {
  for (const Issued& issued : issued_) issued.node->n_issued = issued.node->n_submitted;
  take_back(issued_, on_abort);
  prune_all(issued_);
}

void PrefixTree::abort_all(const Visitor& on_abort) {
  abort(on_abort);
  // A node stays in the list of the first step that has it.
  const auto is_known = [](const Issued& issued) {
    Node* node = issued.node;
    if (node->n_submitted == node->n_committed) return true;
    node->n_submitted = node->n_committed;
    if (!fault_on(Fault::kAbortLeavesIssue)) node->n_issued = node->n_committed;
    return false;
  };
  for (std::vector<Issued>& step : in_flight_) std::erase_if(step, is_known);
  // Deeper nodes are in the same step or in a later one.
  for (size_t i = in_flight_.size(); i-- > 0;) take_back(in_flight_[i], on_abort);
  for (std::vector<Issued>& step : in_flight_) prune_all(step);
  in_flight_.clear();
}

void PrefixTree::take_back(std::vector<Issued>& step, const Visitor& on_abort) {
  std::ranges::sort(step, std::greater(), [](const Issued& issued) { return issued.node->start; });
  for (const Issued& issued : step) on_abort(*issued.node);
}

// Forgetting a node may reach upwards, so the upper nodes come first.
void PrefixTree::prune_all(std::vector<Issued>& step) {
  for (; !step.empty(); step.pop_back()) prune(step.back().node);
}

void PrefixTree::forget_after(Node* node, uint32_t n_kept) {
  PANDO_CHECK(n_kept <= node->n_committed && node->n_issued == node->n_committed);
  node->n_committed = node->n_submitted = node->n_issued = n_kept;
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
  if (node->is_root() && node->children.empty()) roots_[node->part].erase(node->owner);
}

std::vector<const Node*> PrefixTree::nodes() const {
  std::vector<const Node*> all;
  for (const auto& of_part : roots_)
    for (const auto& [owner, root] : of_part) all.push_back(root.get());
  const size_t n_roots = all.size();
  for (size_t i = 0; i < all.size(); ++i)
    for (const auto& [key, child] : all[i]->children) all.push_back(child.get());
  all.erase(all.begin(), all.begin() + n_roots);
  return all;
}

void PrefixTree::check_invariants() const {
  std::unordered_map<const Node*, uint32_t> ends;  // of nodes in flight
  for (const std::vector<Issued>& step : in_flight_)
    for (const Issued& issued : step) {
      uint32_t& end = ends.try_emplace(issued.node, issued.node->n_committed).first->second;
      PANDO_CHECK(issued.end > end);
      end = issued.end;
    }
  size_t n = 0, n_pinned = 0, n_issued = 0;
  for (const Node* node : nodes()) {
    ++n;
    const auto found = ends.find(node);
    PANDO_CHECK(node->n_submitted == (found == ends.end() ? node->n_committed : found->second));
    n_issued += node->n_issued > node->n_submitted;
    if (node->n_pins > 0) n_pinned += node->size();
    PANDO_CHECK(node->parent->owner == kPublicOwner || node->owner == node->parent->owner);
    PANDO_CHECK(node->part == node->parent->part);
    PANDO_CHECK(node->size() > 0);
    PANDO_CHECK(node->start == node->parent->end());
    PANDO_CHECK(node->parent->children.at({node->tokens[0], node->owner}).get() == node);
    PANDO_CHECK(node->n_committed <= node->n_submitted && node->n_submitted <= node->n_issued);
    PANDO_CHECK(node->n_issued <= node->size());
    PANDO_CHECK(node->n_committed <= node->n_computed && node->n_computed <= node->size());
    PANDO_CHECK(node->n_locks <= node->n_pins);
    PANDO_CHECK(node->parent->is_root() || node->n_pins <= node->parent->n_pins);
    PANDO_CHECK(node->parent->is_root() || node->n_issued == 0 ||
                node->parent->n_issued == node->parent->size());
    PANDO_CHECK(node->n_submitted == 0 || node->parent->n_submitted == node->parent->size());
    PANDO_CHECK(node->n_committed == 0 || node->parent->n_committed == node->parent->size());
    PANDO_CHECK(node->n_pins > 0 || node->n_issued == node->size());
  }
  PANDO_CHECK(n == n_nodes_ && n_pinned == n_pinned_tokens() && n_issued == issued_.size());
}

std::vector<Node*> path_to(Node* tip) {
  std::vector<Node*> path;
  for (Node* node = tip; !node->is_root(); node = node->parent) path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace pando
