// Finds stop strings in text that arrives piece by piece.
#pragma once

#include <string>
#include <vector>

namespace pando {

// Holds back text that may still turn out to begin a stop string.
class StopMatcher {
 public:
  explicit StopMatcher(const std::vector<std::string>& stops) : stops_(&stops) {}

  // Takes new text and returns the text that is safe to show. After a match `stopped()` is true;
  // the stop string and the text behind it are dropped. may_stop false: no stop string that ends in
  // this text counts, now or later.
  std::string push(const std::string& text, bool may_stop = true);
  // Returns the text that was held back, at the end of an answer.
  std::string finish();
  bool stopped() const { return match_ != nullptr; }
  // The stop string that was found; only after a match.
  const std::string& match() const { return *match_; }

 private:
  const std::vector<std::string>* stops_;  // the request's
  std::string held_;
  size_t n_passed_ = 0;                 // of held_: no stop string that ends in these bytes counts
  const std::string* match_ = nullptr;  // of stops_
};

}  // namespace pando
