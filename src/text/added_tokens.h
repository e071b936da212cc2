// Tokens that are written out in the text, such as <|im_start|>: found before anything else.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "text/normalizer.h"
#include "text/tokenizer.h"

namespace pando {

struct AddedToken {
  Token id = -1;
  std::string content;          // not empty
  bool special = false;         // no part of the text that is shown
  bool single_word = false;     // only where no letter, mark or digit touches it
  bool lstrip = false;          // takes the spaces before it
  bool rstrip = false;          // takes the spaces after it
  bool normalized = false;      // looked for in normalised text
  bool is_normal_form = false;  // the content is normalised already
};

// Finds the longest added token at each place, from the left. Among several with the same content,
// the first special one counts, else the first. Immutable; any thread.
class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Part {
    std::string_view text;
    const AddedToken* token;  // null: ordinary text
  };
  // Calls `part` in order for each token found and each text between.
  void split(std::string_view text, FunctionRef<void(const Part&)> part) const;

 private:
  // The longest token that `text` begins with, or null.
  const AddedToken* match(std::string_view text) const;

  std::vector<AddedToken> tokens_;
  std::bitset<256> begins_;                  // first bytes
  std::unordered_map<uint64_t, int> nodes_;  // trie: node << 8 | byte -> node
  std::vector<int> ends_;                    // by node: the token that ends there, or -1
};

}  // namespace pando
