// A comparison is what --compare finds between two runs over one input.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "pando/batch.h"

namespace pando::cli {

class Comparison {
 public:
  // `exact`: both runs keep every bit of the arithmetic.
  Comparison(BatchTask task, bool exact) : task_(task), exact_(exact) {}

  // Adds an answer of run 0 or 1.
  void add(int run, const BatchAnswer& answer);
  // Answers that both runs have, not alike.
  size_t n_different() const;
  // Answers that one of them lacks.
  size_t n_alone() const;
  // A line for people.
  std::string text() const;

 private:
  uint64_t bits_of(const Completion& completion) const;
  size_t n_shared() const;  // answers that both runs have

  BatchTask task_;
  bool exact_;
  std::array<std::map<AnswerKey, uint64_t>, 2> runs_;
};

}  // namespace pando::cli
