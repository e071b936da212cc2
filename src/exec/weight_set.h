// Weights by their use.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "base/check.h"
#include "contract/tensor_source.h"

namespace pando::exec {

// Values and stacks of matrices by role. Values: a vector of weights. Stack: a vector of matrices,
// each with bytes(). Any thread may read.
template <class Values, class Stack>
class WeightSet {
 public:
  // Empty if the role has none.
  const Values& values(model::Role role) const { return of_role(values_, role); }
  const Stack& stack(model::Role role) const { return of_role(stacks_, role); }
  // The matrix of a stack that has only one.
  const auto& matrix(model::Role role) const {
    const Stack& all = stack(role);
    PANDO_CHECK(all.size() == 1);
    return all.front();
  }

  const std::map<model::Role, Values>& all_values() const { return values_; }
  const std::map<model::Role, Stack>& all_stacks() const { return stacks_; }
  void drop_stacks() { stacks_.clear(); }

  void set(model::Role role, Values values) { values_[role] = std::move(values); }
  void set(model::Role role, Stack stack) { stacks_[role] = std::move(stack); }

  // Bytes of all matrices.
  size_t bytes() const {
    size_t sum = 0;
    for (const auto& [role, stack] : stacks_)
      for (const auto& matrix : stack) sum += matrix.bytes();
    return sum;
  }

 private:
  template <class T>
  static const T& of_role(const std::map<model::Role, T>& all, model::Role role) {
    static const T none;
    const auto found = all.find(role);
    return found == all.end() ? none : found->second;
  }

  std::map<model::Role, Values> values_;
  std::map<model::Role, Stack> stacks_;
};

}  // namespace pando::exec
