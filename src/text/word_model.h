// Turns one word into tokens.
#pragma once

#include <string_view>
#include <vector>

#include "pando/values/token.h"

namespace pando {

// Immutable once built; any thread.
class WordModel {
 public:
  virtual ~WordModel() = default;
  // Appends the tokens of `word`, which is UTF-8.
  virtual void encode(std::string_view word, std::vector<Token>* tokens) const = 0;
};

}  // namespace pando
