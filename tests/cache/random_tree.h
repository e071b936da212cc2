// Random operations on the prefix tree against a naive model: a map from whole prefixes to facts
// about them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "cache/prefix_tree.h"
#include "choices.h"

namespace pando {

// The naive model: every prefix of every path by itself. A prefix is a string: two characters for
// each token, its owner and itself.
class RandomTree {
 public:
  RandomTree(Choices choices, int alphabet, int n_keys)
      : choices_(choices), alphabet_(alphabet), n_keys_(n_keys) {}

  void run(int n_ops) {
    for (int op = 0; op < n_ops; ++op) {
      step();
      if (::testing::Test::HasFatalFailure()) FAIL() << "after operation " << op;
    }
    EXPECT_GT(n_splits_in_flight_, n_ops / 2000);
    EXPECT_GT(n_several_aborted_, n_ops / 2000);
    EXPECT_GT(n_forgotten_, n_ops / 2000);
    if (n_keys_ > 1) {
      EXPECT_GT(n_public_, n_ops / 200);
    }
  }

  // Until the choices end.
  void run() {
    while (!choices_.done()) step();
  }

 private:
  struct Known {
    uint32_t n_pins = 0;
    uint32_t n_locks = 0;
    uint64_t step = 0;  // that issued it; 0: none
  };
  using Model = std::unordered_map<std::string, Known>;

  static constexpr char kPublic = '*';

  struct Sequence {
    std::string path;  // as in Model
    char key;
    Node* tip;
    bool locked = false;
  };

  void step() {
    act();
    check();
  }

  int below(size_t n) { return static_cast<int>(choices_.below(n)); }
  char token() { return static_cast<char>('a' + below(alphabet_)); }
  Sequence& any() { return sequences_[below(sequences_.size())]; }

  void act() {
    if (model_.size() > 60 && below(2) == 0) return forget();
    const int choice = below(20);
    if (sequences_.empty() || (choice < 5 && sequences_.size() < 12)) return acquire();
    if (choice < 7) return extend(any());
    if (choice < 10) return release(below(sequences_.size()));
    if (choice < 12) return lock(any());
    if (choice < 16) return issue(any());
    if (choice < 17) return submit();
    if (choice < 18) return commit();
    if (choice < 19 && below(2) == 0) return abort();
    forget();
  }

  void acquire() {
    char key = static_cast<char>('0' + below(n_keys_));
    std::vector<Token> tokens;
    size_t n_public = n_keys_ > 1 && below(3) == 0 ? below(5) : 0;
    if (!sequences_.empty() && below(3) > 0) {  // some part of a path that is there already
      const Sequence& other = any();
      if (n_public == 0) key = other.key;
      for (size_t i = 1; i < other.path.size(); i += 2) {
        tokens.push_back(other.path[i]);
        if (n_public == 0 && other.path[i - 1] == kPublic) ++n_public;
      }
      tokens.resize(below(tokens.size() + 1));
    }
    const int n_new = below(tokens.empty() ? 8 : 4) + tokens.empty();
    for (int i = 0; i < n_new; ++i) tokens.push_back(token());
    n_public = std::min(n_public, tokens.size() - 1);
    std::string path;
    for (size_t i = 0; i < tokens.size(); ++i)
      path += {i < n_public ? kPublic : key, static_cast<char>(tokens[i])};
    for_prefixes(path, [](Known& known) { ++known.n_pins; });
    n_public_ += n_public > 0;
    sequences_.push_back({path, key, tree_.acquire(key, tokens, static_cast<uint32_t>(n_public))});
  }

  void extend(Sequence& sequence) {
    if (!sequence.locked || sequence.path.size() > 32) return;
    const char next = token();
    sequence.tip = tree_.extend(sequence.tip, next);
    sequence.path += {sequence.key, next};
    Known& known = model_[sequence.path];
    ++known.n_pins;
    ++known.n_locks;
  }

  void release(int index) {
    std::swap(sequences_[index], sequences_.back());
    Sequence sequence = sequences_.back();
    sequences_.pop_back();
    if (sequence.locked) lock(sequence);
    tree_.release(sequence.tip);
    for_prefixes(sequence.path, [](Known& known) { --known.n_pins; });
    forget_unneeded();
  }

  void lock(Sequence& sequence) {
    const int change = sequence.locked ? -1 : 1;
    for_prefixes(sequence.path, [&](Known& known) { known.n_locks += change; });
    sequence.locked ? tree_.unlock(sequence.tip) : tree_.lock(sequence.tip);
    sequence.locked = !sequence.locked;
  }

  void issue(const Sequence& sequence) {
    for (Node* node : path_to(sequence.tip)) {
      const uint32_t n_open = node->size() - node->n_issued;
      if (n_open == 0) continue;
      const uint32_t n = 1 + below(n_open);
      const size_t from = node->start + node->n_issued;
      for (uint32_t i = 0; i < n; ++i)
        model_.at(sequence.path.substr(0, 2 * (from + i + 1))).step = n_submitted_ + 1;
      tree_.issue(node, n);
      if (n < n_open || below(2) == 0) return;
    }
  }

  void submit() {
    if (n_submitted_ == n_committed_ + 4) return;
    ++n_submitted_;
    tree_.submit();
  }

  void commit() {
    if (n_submitted_ == n_committed_) return;
    ++n_committed_;
    tree_.commit();
  }

  void abort() {
    const bool all = below(2) == 0;
    n_several_aborted_ += all && n_submitted_ > n_committed_ + 1;
    if (all) n_submitted_ = n_committed_;
    for (auto& [path, known] : model_)
      if (known.step > n_submitted_) known.step = 0;
    all ? tree_.abort_all() : tree_.abort();
    forget_unneeded();
  }

  void forget() {
    std::vector<std::pair<Node*, std::string>> found;
    for (const auto& [node, path] : paths()) {
      const bool below_empty = std::ranges::all_of(
          node->children, [](const auto& child) { return child.second->n_issued == 0; });
      if (node->n_committed > 0 && node->n_issued == node->n_committed && below_empty)
        found.emplace_back(const_cast<Node*>(node), path);
    }
    if (found.empty()) return;
    std::ranges::sort(found, {}, [](const auto& entry) { return entry.second; });
    const auto& [node, path] = found[below(found.size())];
    const uint32_t n_kept = below(node->n_committed);
    for (size_t n = node->start + n_kept + 1; n <= node->end(); ++n) {
      model_.at(path.substr(0, 2 * n)).step = 0;
    }
    tree_.forget_after(node, n_kept);
    forget_unneeded();
    ++n_forgotten_;
  }

  template <class Function>
  void for_prefixes(const std::string& path, Function&& function) {
    for (size_t size = 2; size <= path.size(); size += 2) function(model_[path.substr(0, size)]);
  }
  void forget_unneeded() {
    std::erase_if(model_, [](const auto& entry) {
      return entry.second.n_pins == 0 && entry.second.step == 0;
    });
  }

  static void append_to(std::string& path, const Node& node) {
    const bool is_public = node.owner == kPublicOwner;
    for (const Token token : node.tokens)
      path += {is_public ? kPublic : static_cast<char>(node.owner), static_cast<char>(token)};
  }

  // Every node with its whole path.
  std::vector<std::pair<const Node*, std::string>> paths() const {
    std::unordered_map<const Node*, std::string> path_of;
    std::vector<std::pair<const Node*, std::string>> all;
    for (const Node* node : tree_.nodes()) {
      const Node* parent = node->parent;
      std::string path = parent->is_root() ? std::string() : path_of.at(parent);
      append_to(path, *node);
      path_of[node] = path;
      all.emplace_back(node, std::move(path));
    }
    return all;
  }

  void check() {
    ASSERT_NO_THROW(tree_.check_invariants());
    size_t n_tokens = 0;
    std::unordered_set<const Node*> issued;
    for (const auto& [node, path] : paths()) {
      ASSERT_EQ(2 * node->end(), path.size());
      if (node->n_issued > node->n_submitted) issued.insert(node);
      for (uint32_t i = 0; i < node->size(); ++i, ++n_tokens) {
        const auto found = model_.find(path.substr(0, 2 * (node->start + i + 1)));
        ASSERT_NE(found, model_.end()) << path;
        const Known& known = found->second;
        ASSERT_EQ(node->n_pins, known.n_pins) << path;
        ASSERT_EQ(node->n_locks, known.n_locks) << path;
        const auto is_of = [&](uint64_t last) { return known.step > 0 && known.step <= last; };
        ASSERT_EQ(i < node->n_issued, is_of(n_submitted_ + 1)) << path;
        ASSERT_EQ(i < node->n_submitted, is_of(n_submitted_)) << path;
        ASSERT_EQ(i < node->n_committed, is_of(n_committed_)) << path;
      }
    }
    ASSERT_EQ(n_tokens, model_.size());
    ASSERT_EQ(tree_.n_in_flight(), n_submitted_ - n_committed_);
    ASSERT_EQ(tree_.issued().size(), issued.size());
    for (const Issued& one : tree_.issued()) ASSERT_TRUE(issued.contains(one.node));
    for (const Sequence& sequence : sequences_) {
      std::string path;
      for (const Node* node : path_to(sequence.tip)) append_to(path, *node);
      ASSERT_EQ(path, sequence.path);
    }
  }

  Choices choices_;
  int alphabet_;
  int n_keys_;
  uint64_t n_submitted_ = 0, n_committed_ = 0;  // steps
  int n_splits_in_flight_ = 0;
  int n_several_aborted_ = 0;  // steps in flight, at once
  int n_forgotten_ = 0;
  int n_public_ = 0;  // paths that begin with public tokens
  PrefixTree tree_{[this](Node& upper, Node& lower) {
    n_splits_in_flight_ +=
        upper.n_submitted + lower.n_submitted > upper.n_committed + lower.n_committed;
  }};
  Model model_;
  std::vector<Sequence> sequences_;
};

}  // namespace pando
