// --show: the first answers, which are printed at the end.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

#include "cli/report.h"
#include "pando/batch.h"

namespace pando::cli {

// The first n to come, or, where order is wanted, the first n of the input.
class FirstAnswers {
 public:
  FirstAnswers(int n, bool ordered) : n_(static_cast<size_t>(n)), ordered_(ordered) {}

  void add(const BatchAnswer& answer) {
    const AnswerKey place = ordered_ ? answer.key : AnswerKey{.line = ++n_seen_};
    if (n_ == 0 || (texts_.size() == n_ && texts_.rbegin()->first < place)) return;
    texts_[place] = fmt::format("[{}] {}\n    -> {}", answer.id, answer.question,
                                quoted(answer.completion.text));
    if (texts_.size() > n_) texts_.erase(std::prev(texts_.end()));
  }
  const std::map<AnswerKey, std::string>& texts() const { return texts_; }

 private:
  size_t n_;
  bool ordered_;
  uint64_t n_seen_ = 0;
  std::map<AnswerKey, std::string> texts_;
};

}  // namespace pando::cli
