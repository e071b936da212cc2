// Passages that stand in several contexts, and what their order costs.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "pando/model.h"

namespace pando {

class Passages {
 public:
  explicit Passages(const Model& model) : model_(model) {}

  void add(const std::string& context);

  // That stand in more than one context.
  uint64_t n_repeated() const;
  // Tokens that would not be computed if the most frequent passages stood first in every context.
  uint64_t saved_by_order() const;

 private:
  struct Passage {
    uint64_t n_contexts = 0;
    uint64_t n_tokens = 0;
  };
  uint64_t distinct_tokens(const std::vector<std::vector<uint32_t>>& contexts) const;

  const Model& model_;
  std::unordered_map<uint64_t, uint32_t> ids_;  // by hash of the text
  std::vector<Passage> passages_;
  std::vector<std::vector<uint32_t>> contexts_;  // ids of their passages, in order
};

}  // namespace pando
