// The vocabulary and merges of a tokenizer as its files write them.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/json_file.h"
#include "text/tokenizer.h"

namespace pando {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using TokenOfText = std::unordered_map<std::string, Token, StringHash, std::equal_to<>>;

constexpr Token kMaxToken = (1 << 24) - 1;  // ids above would only waste memory

// The highest id that a vocabulary of `n` entries may have: holes take memory too.
constexpr Token max_token(size_t n) {
  return static_cast<Token>(std::min<size_t>(kMaxToken, 4 * n + 65'535));
}

// Text to id and back. Ids may have holes.
class Vocab {
 public:
  // False if the text or the id is taken.
  bool add(const std::string& text, Token id);
  std::optional<Token> find(std::string_view text) const;
  // The text of an id; empty for a hole.
  const std::string& text(Token id) const { return texts_[id]; }
  bool has(Token id) const { return id >= 0 && id < size() && taken_[id]; }
  int size() const { return static_cast<int>(texts_.size()); }  // highest id + 1
  size_t n_entries() const { return ids_.size(); }              // without holes

 private:
  TokenOfText ids_;
  std::vector<std::string> texts_;
  std::vector<bool> taken_;
};

// `left` followed by `right` becomes `result`; the lowest rank first.
struct Merge {
  Token left;
  Token right;
  Token result;
  uint32_t rank;  // below UINT32_MAX
};

// A text that merging may give.
struct RankedText {
  std::string_view text;
  Token id;
  uint32_t rank;
};
// Every way to put one of `texts` together from two others, with the rank of the result.
// kUnsupported if there are more than most_merges(); `file` is for messages.
Result<std::vector<Merge>> merges_of_results(const std::vector<RankedText>& texts,
                                             const std::string& file);
// Bytes of such a text; the time is their square. Published vocabularies have up to 128 (spaces).
constexpr size_t kLongestMerged = 256;
// Most merges of a vocabulary of `n` texts; published ones have 2 or 3 per text.
constexpr size_t most_merges(size_t n) { return 16 * n + 65'536; }

// An object of text to id.
Result<Vocab> read_vocab(const JsonPlace& place);
// An id of this vocabulary's range.
Result<Token> read_token_id(const JsonPlace& place);

// Merges as "a b" strings or ["a", "b"] pairs.
Result<std::vector<Merge>> read_merges(const JsonPlace& place, const Vocab& vocab);
// Merges as texts "a b", in order; `file` is for messages.
Result<std::vector<Merge>> read_merge_list(const std::vector<std::string_view>& list,
                                           const std::string& file, const Vocab& vocab);
// Merges as lines of "a b", with "#version" lines between; `file` is for messages.
Result<std::vector<Merge>> read_merge_lines(const std::string& text, const std::string& file,
                                            const Vocab& vocab);

}  // namespace pando
