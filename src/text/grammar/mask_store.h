// Token masks of the states of grammars, kept for all grammars together.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "text/grammar/limits.h"
#include "text/grammar/vocabulary.h"

namespace pando::grammar {

// Tokens from one state, independent of the caller of its rule.
struct StateMask {
  bool is_walked = false;      // so cheap that it is walked each time
  std::vector<uint64_t> bits;  // tokens that stay in the rule, or reach its end
  ByteTrie rests;              // rests behind the rule's end, of tokens that continue there
};

// Keeps two generations: when the younger one has half of the bytes, the older one is dropped.
// Masks in use move to the younger one. Any thread.
class MaskStore {
 public:
  struct Key {
    uint64_t grammar;
    uint32_t state;
    bool operator==(const Key&) const = default;
  };
  // The grammar of keys that all grammars share.
  static constexpr uint64_t kOfAll = 0;

  explicit MaskStore(VocabularyPtr vocabulary, size_t most_bytes = kMostMaskBytes)
      : vocabulary_(std::move(vocabulary)), most_bytes_(most_bytes) {}

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  uint64_t new_grammar();
  std::shared_ptr<const StateMask> find(Key key);  // null if there is none
  void add(Key key, std::shared_ptr<const StateMask> mask);
  size_t n_bytes();  // that are kept

 private:
  struct KeyHash {
    size_t operator()(const Key& key) const {
      const uint64_t hash = (key.grammar << 32 ^ key.state) * 0x9E3779B97F4A7C15u;
      return hash ^ hash >> 32;
    }
  };
  struct Generation {
    std::unordered_map<Key, std::shared_ptr<const StateMask>, KeyHash> masks;
    size_t n_bytes = 0;
  };
  void add_locked(Key key, std::shared_ptr<const StateMask> mask);

  const VocabularyPtr vocabulary_;
  const size_t most_bytes_;
  std::mutex mutex_;
  uint64_t n_grammars_ = 0;
  Generation young_, old_;
};

using MaskStorePtr = std::shared_ptr<MaskStore>;

}  // namespace pando::grammar
